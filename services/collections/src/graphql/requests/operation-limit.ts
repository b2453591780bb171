import type { SignedIn } from "@collections/field-partners";
import { createHash } from "node:crypto";
import { createLRUCache } from "graphql-yoga";
import type { Admission, RateLimiter } from "../../http/rate-limiter.ts";
import { ClientError } from "../plumbing/client-error.ts";

/** Limits the operations of a field partner per minute, counted over all phones and all processes. */
export interface OperationLimit {
  /**
   * Counts one operation for the field partner whom `lookUp` finds, and returns what `lookUp` found. Throws ClientError
   * RATE_LIMITED.
   */
  admit(accessToken: string, lookUp: () => Promise<SignedIn | undefined>): Promise<SignedIn | undefined>;
}

const CACHED_OWNERS = 10_000;

/**
 * The owner of a token never changes, so this process caches it. While the token is looked up, the operation is counted
 * for the cached owner, so counting costs no extra wait. Only the first operation with a token is counted after the
 * lookup.
 */
export function createOperationLimit(rateLimiter: RateLimiter): OperationLimit {
  const owners = createLRUCache<string>({ max: CACHED_OWNERS });
  return {
    async admit(accessToken, lookUp) {
      const token = createHash("sha256").update(accessToken).digest("base64");
      const owner = owners.get(token);
      const [signedIn, asked] = await Promise.all([lookUp(), owner && rateLimiter.admit("app", owner)]);
      if (!signedIn) {
        // The session has ended: do not count further operations with this token for the field partner.
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
  const message = `You may send ${quota} operations a minute; try again in ${waitS} s.`;
  return new ClientError("RATE_LIMITED", message, { retryAfterS: waitS });
}

/**
 * Returns the error for a request without a valid token from an address that has sent too many such requests. The code
 * stays UNAUTHENTICATED. A phone whose token has expired then renews the token, which is still allowed, and does not
 * wait.
 */
export function tooManyStrangers({ quota, waitS }: Admission): ClientError {
  const message =
    `More than ${quota} operations a minute from this network had no valid token. Operations with a valid token are still answered, and so are ` +
    "refreshSession and sign-ins.";
  return new ClientError("UNAUTHENTICATED", message, { retryAfterS: waitS });
}
