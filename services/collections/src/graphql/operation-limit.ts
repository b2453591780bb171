import type { SignedIn } from "@collections/field-partners";
import { createHash } from "node:crypto";
import { createLRUCache, isAsyncIterable, type Plugin } from "graphql-yoga";
import { addressOf } from "../rate-limits/address-of.ts";
import { type Admission, type RateLimiter, tooManyFailures } from "../rate-limits/rate-limiter.ts";
import { codeOf } from "./answer-errors.ts";
import { ClientError } from "./client-error.ts";
import type { ServerContext } from "./handler.ts";

/** How many operations a field partner may ask for in a minute, on all their phones and in all processes. */
export interface OperationLimit {
  /** Whom `lookUp` finds by the token, once their limit has let the operation pass. Throws ClientError RATE_LIMITED. */
  admit(accessToken: string, lookUp: () => Promise<SignedIn | undefined>): Promise<SignedIn | undefined>;
}

const REMEMBERED_OWNERS = 10_000;

/**
 * A token has one owner for good, so the owner's limit is asked while the token is looked up, and an operation waits for
 * nothing more than before. Only the first operation with a token in a process asks after that.
 */
export function createOperationLimit(rateLimiter: RateLimiter): OperationLimit {
  const owners = createLRUCache<string>({ max: REMEMBERED_OWNERS });
  return {
    async admit(accessToken, lookUp) {
      const token = createHash("sha256").update(accessToken).digest("base64");
      const owner = owners.get(token);
      const [signedIn, asked] = await Promise.all([lookUp(), owner && rateLimiter.admit("app", owner)]);
      if (!signedIn) {
        // Whoever goes on with a token that has ended uses up nobody's limit.
        owners.delete(token);
        return undefined;
      }
      const { id } = signedIn.fieldPartner;
      owners.set(token, id);
      const admission = asked || (await rateLimiter.admit("app", id));
      if (admission?.granted === false) throw tooManyOperations(admission);
      return signedIn;
    },
  };
}

/** Counts an operation that needed a token and had no right one, by its address; one too many is told to slow down. */
export function countFailures(rateLimiter: RateLimiter): Plugin<object, ServerContext> {
  return {
    async onResultProcess({ result, setResult, serverContext }) {
      if (isAsyncIterable(result) || Array.isArray(result)) return;
      if (!result.errors?.some((error) => codeOf(error) === "UNAUTHENTICATED")) return;
      const admission = await tooManyFailures(rateLimiter, addressOf(serverContext.req));
      if (admission) setResult({ errors: [tooManyStrangers(admission)] });
    },
  };
}

function tooManyOperations({ quota, waitS }: Admission): ClientError {
  const message = `You may ask for ${quota} operations a minute; go on in ${waitS} s.`;
  return new ClientError("RATE_LIMITED", message, { retryAfterS: waitS });
}

/** Still UNAUTHENTICATED: a phone whose token has expired renews it, which passes, instead of waiting for strangers. */
function tooManyStrangers({ quota, waitS }: Admission): ClientError {
  const message =
    `More than ${quota} operations a minute from this network had no right token. Those with one still pass, and so do ` +
    "refreshSession and signing in.";
  return new ClientError("UNAUTHENTICATED", message, { retryAfterS: waitS });
}
