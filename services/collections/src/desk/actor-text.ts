import { type Actor, publicId } from "@collections/database";

/** Returns an actor as `--json` shows it: with the public id of a field partner. */
export function shownActor(actor: Actor | null): string | null {
  const id = actor?.match(/^field_partner:(.+)$/)?.[1];
  return id === undefined ? actor : `field_partner:${publicId("fp", id)}`;
}

/** Returns an actor for a table: the name of an operator alone, and an empty text if no actor was recorded. */
export function actorText(actor: string | null): string {
  return (actor ?? "").replace(/^(operator|field_partner):/, "");
}
