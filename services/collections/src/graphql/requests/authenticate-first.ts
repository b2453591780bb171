import { failWhileNodeAway, inBatches } from "@collections/database";
import type { Database } from "@collections/entities";
import { type SignedIn, signedInByTokens } from "@collections/field-partners";
import type { GraphQLParams, Plugin } from "graphql-yoga";
import type { App } from "../../app.ts";
import { addressOf } from "../../http/address-of.ts";
import { tooManyFailures } from "../../http/rate-limiter.ts";
import { closeIfUnread } from "../../http/read-body.ts";
import type { Caller, ServerContext } from "../plumbing/caller.ts";
import { openRequests, unauthenticated } from "./open-requests.ts";
import { createOperationLimit, tooManyStrangers } from "./operation-limit.ts";
import type { PersistedOperations } from "./persisted-operations.ts";
import { bodyOf, bodyTooLarge, paramsOf } from "./request-body.ts";

/** The largest body of a request with a valid access token. */
export const MAX_BODY_BYTES = 256 * 1024;
/** The largest body of a request without a valid access token. A sign-in takes less than 2 KiB. */
const MAX_OPEN_BODY_BYTES = 16 * 1024;

/**
 * Access tokens are looked up in shared queries, at most two at a time. So a flood of invalid tokens takes at most two
 * database connections.
 */
const LOOKUPS = { maxItems: 100, maxUnderWay: 2 };

/**
 * Authenticates a request before its body is read, parsed or validated, and sets `caller`. Checks run in this order:
 * access token → the field partner's limit of operations → body. Without a valid token, only operations that need no
 * token are executed, such as a sign-in. Any other request without a valid token is counted for its address, and
 * answered 429 if the address has sent too many.
 */
export function authenticateFirst(
  { bodyMemory: memory, config, database, rateLimiter }: App,
  registered: PersistedOperations | undefined,
): Plugin<object, ServerContext> {
  const lookUp = tokenLookups(database);
  const operationLimit = createOperationLimit(rateLimiter);
  const openParams = openRequests({ sandbox: config.isSandbox, mode: config.persistedOperations, registered });

  /** Returns the caller; undefined without a valid access token. Throws ClientError RATE_LIMITED. */
  async function callerOf({ req }: ServerContext): Promise<Caller | undefined> {
    const accessToken = /^Bearer +(\S+)$/i.exec(req.get("authorization")?.trim() ?? "")?.[1];
    if (accessToken === undefined) return undefined;
    const signedIn = await operationLimit.admit(accessToken, () => lookUp(accessToken));
    return signedIn && { ...signedIn, accessToken };
  }

  async function callersParams(context: ServerContext): Promise<GraphQLParams> {
    const body = await bodyOf(context.req, { memory, limitBytes: MAX_BODY_BYTES });
    if (!body) throw bodyTooLarge(MAX_BODY_BYTES);
    return paramsOf(body);
  }

  async function strangersParams(context: ServerContext): Promise<GraphQLParams> {
    const body = await bodyOf(context.req, { memory, limitBytes: MAX_OPEN_BODY_BYTES });
    try {
      // A caller whose token has just expired may send a larger body. The answer must then name the token as the fault,
      // not the size of the body.
      if (!body) throw unauthenticated();
      return openParams(body);
    } catch (refusal) {
      const admission = await tooManyFailures(rateLimiter, addressOf(context.req));
      throw admission ? tooManyStrangers(admission) : refusal;
    }
  }

  return {
    async onRequestParse({ serverContext, setRequestParser }) {
      serverContext.caller = await callerOf(serverContext);
      // Nearly every operation of a field partner reads rows of all lenders, so it would wait for an unavailable node.
      // Fail at once instead.
      if (serverContext.caller) failWhileNodeAway(database.em());
      const params = await (serverContext.caller ? callersParams(serverContext) : strangersParams(serverContext));
      setRequestParser(() => params);
    },
    onResponse({ serverContext: { req, res } }) {
      closeIfUnread(req, res);
    },
  };
}

function tokenLookups(database: Database): (accessToken: string) => Promise<SignedIn | undefined> {
  return inBatches<string, SignedIn | undefined>({
    async run(accessTokens) {
      const signedIn = await signedInByTokens(database.em(), accessTokens, new Date());
      return accessTokens.map((accessToken) => signedIn.get(accessToken));
    },
    ...LOOKUPS,
  });
}
