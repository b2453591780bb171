import { type FieldPartner, signedInByToken } from "@collections/field-partners";
import type { App } from "../app.ts";
import type { LinkLooks } from "./link-looks.ts";
import type { OperationLimit } from "./operation-limit.ts";
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
  readonly authorization: string | undefined;
  readonly address: string;
  readonly closing: AbortSignal;
  readonly operationLimit: OperationLimit;
  readonly linkLooks: LinkLooks;
  readonly watchPlaces: WatchPlaces;
}

/** The context of one operation, with whoever its token belongs to. Throws ClientError RATE_LIMITED. */
export async function createContext(parts: ContextParts): Promise<Context> {
  const { app, requestId, authorization, address, closing, operationLimit, linkLooks, watchPlaces } = parts;
  const accessToken = /^Bearer +(\S+)$/i.exec(authorization?.trim() ?? "")?.[1];
  const lookUp = async () =>
    accessToken === undefined ? undefined : signedInByToken(app.database.em(), accessToken, new Date());
  const signedIn = accessToken === undefined ? undefined : await operationLimit.admit(accessToken, lookUp);
  const { fieldPartner, sessionId } = signedIn ?? {};
  return {
    app,
    requestId,
    fieldPartner,
    sessionId,
    address,
    isStillSignedIn: async () => accessToken !== undefined && (await linkLooks.signedIn(accessToken)),
    closing,
    linkLooks,
    watchPlaces,
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
