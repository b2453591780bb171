import type { FieldPartner } from "@collections/field-partners";
import type { App } from "../../app.ts";
import type { Caller } from "./caller.ts";
import type { LinkLooks } from "./link-looks.ts";
import { createReads, type Reads } from "./reads.ts";
import type { WatchPlaces } from "./watch-places.ts";

/** What every resolver of one operation shares. */
export interface Context {
  readonly app: App;
  readonly requestId: string;
  /** Who is signed in; undefined without a token, or with one that does not count. */
  readonly fieldPartner: FieldPartner | undefined;
  /** The session that the token belongs to. */
  readonly sessionId: string | undefined;
  /** Where the request comes from, behind the trusted proxies. */
  readonly address: string;
  /** Looks again whether the token still counts: a subscription outlives many changes. */
  readonly isStillSignedIn: () => Promise<boolean>;
  /** Aborted when this process stops taking part: what is watched ends, and the client asks elsewhere. */
  readonly closing: AbortSignal;
  /** What all who watch look at. */
  readonly linkLooks: LinkLooks;
  /** Who watches something takes a place. */
  readonly watchPlaces: WatchPlaces;
  /** What has been read; made anew after each change. */
  reads: Reads;
}

export interface ContextParts {
  readonly app: App;
  readonly requestId: string;
  readonly caller: Caller | undefined;
  readonly address: string;
  readonly closing: AbortSignal;
  readonly linkLooks: LinkLooks;
  readonly watchPlaces: WatchPlaces;
}

/** The context of one operation. */
export function createContext({ caller, ...parts }: ContextParts): Context {
  const { app, linkLooks } = parts;
  const fieldPartner = caller?.fieldPartner;
  return {
    ...parts,
    fieldPartner,
    sessionId: caller?.sessionId,
    isStillSignedIn: async () => caller !== undefined && (await linkLooks.signedIn(caller.accessToken)),
    reads: createReads(app.database, fieldPartner?.id),
  };
}

/** Forgets what was read: the next resolver sees what has changed since. */
export function readAnew(context: Context): void {
  context.reads = createReads(context.app.database, context.fieldPartner?.id);
}

/** Who is signed in: the schema lets nobody else this far. */
export function viewer({ fieldPartner }: Context): FieldPartner {
  if (!fieldPartner) throw new Error("A field that needs a field partner is open to everybody.");
  return fieldPartner;
}
