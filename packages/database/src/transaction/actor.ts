import { AsyncLocalStorage } from "node:async_hooks";

/**
 * The one who does something: an operator by name, a field partner by id, or the service itself. An audit stores it as
 * this text.
 */
export type Actor = `operator:${string}` | `field_partner:${string}` | "service";

const actors = new AsyncLocalStorage<Actor>();

/**
 * Runs `work`. While it runs, and in everything that it starts, `currentActor` returns `actor`.
 *
 * @example
 * const actor = await actingAs("operator:asha", async () => currentActor()); // operator:asha
 */
export function actingAs<T>(actor: Actor, work: () => T): T {
  return actors.run(actor, work);
}

/**
 * Returns the actor of the running work: the actor of the innermost `actingAs`, or the service outside of `actingAs`.
 *
 * @example
 * const entry = { act: "account.suspended", actor: currentActor() };
 */
export function currentActor(): Actor {
  return actors.getStore() ?? "service";
}
