import type { SignedIn } from "@collections/field-partners";
import { createHash } from "node:crypto";
import { createLRUCache } from "graphql-yoga";
import type { Admission, RateLimiter } from "../../http/rate-limiter.ts";
import { ClientError } from "../plumbing/client-error.ts";

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

function tooManyOperations({ quota, waitS }: Admission): ClientError {
  const message = `You may ask for ${quota} operations a minute; go on in ${waitS} s.`;
  return new ClientError("RATE_LIMITED", message, { retryAfterS: waitS });
}

/**
 * The refusal of requests without a valid token, once there were too many from an address. The code stays
 * UNAUTHENTICATED: a phone whose token has expired renews it, which is allowed, instead of waiting for strangers.
 */
export function tooManyStrangers({ quota, waitS }: Admission): ClientError {
  const message =
    `More than ${quota} operations a minute from this network had no right token. Those with one still pass, and so do ` +
    "refreshSession and signing in.";
  return new ClientError("UNAUTHENTICATED", message, { retryAfterS: waitS });
}
