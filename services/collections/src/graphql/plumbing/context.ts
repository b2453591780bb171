import type { FieldPartner } from "@collections/field-partners";
import type { App } from "../../app.ts";
import type { Caller } from "./caller.ts";
import type { WatchedCases } from "./watched-cases.ts";
import type { WatchedLinks } from "./watched-links.ts";
import { createReads, type Reads } from "./reads.ts";
import type { SubscriptionSlots } from "./subscription-slots.ts";

/** The state that all resolvers of one operation share. */
export interface Context {
  readonly app: App;
  readonly requestId: string;
  /** The signed-in field partner; undefined without a valid access token. */
  readonly fieldPartner: FieldPartner | undefined;
  /** The session that the token belongs to. */
  readonly sessionId: string | undefined;
  /** The address of the client, behind the trusted proxies. */
  readonly address: string;
  /**
   * Checks again whether the access token is valid. Subscriptions need this, because the token may become invalid while
   * they last.
   */
  readonly isStillSignedIn: () => Promise<boolean>;
  /** Aborted when this process stops. Subscriptions end, and clients subscribe again at another process. */
  readonly closing: AbortSignal;
  /** Reads the payment links that the subscriptions of this process watch. */
  readonly watchedLinks: WatchedLinks;
  /** Passes the changes of cases to the subscriptions of this process. */
  readonly watchedCases: WatchedCases;
  /** Limits the number of subscriptions. Each subscription takes a slot. */
  readonly subscriptionSlots: SubscriptionSlots;
  /** The loaders and the rows that they have cached. Replaced after each change. */
  reads: Reads;
}

export interface ContextParts {
  readonly app: App;
  readonly requestId: string;
  readonly caller: Caller | undefined;
  readonly address: string;
  readonly closing: AbortSignal;
  readonly watchedLinks: WatchedLinks;
  readonly watchedCases: WatchedCases;
  readonly subscriptionSlots: SubscriptionSlots;
}

/** Creates the context of one operation. */
export function createContext({ caller, ...parts }: ContextParts): Context {
  const { app, watchedLinks } = parts;
  const fieldPartner = caller?.fieldPartner;
  return {
    ...parts,
    fieldPartner,
    sessionId: caller?.sessionId,
    isStillSignedIn: async () => caller !== undefined && (await watchedLinks.signedIn(caller.accessToken)),
    reads: createReads(app.database, fieldPartner?.id),
  };
}

/** Replaces the loaders, so that the next resolver reads the current rows. */
export function resetReads(context: Context): void {
  context.reads = createReads(context.app.database, context.fieldPartner?.id);
}

/** Returns the signed-in field partner. The schema authorizes each request before a resolver can call this. */
export function viewer({ fieldPartner }: Context): FieldPartner {
  if (!fieldPartner)
    throw new Error("A field that needs a field partner was resolved without one: its type lacks the scope signedIn.");
  return fieldPartner;
}
