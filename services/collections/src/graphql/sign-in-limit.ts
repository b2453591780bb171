import { takePermits } from "@collections/lenders";
import type { Context } from "./context.ts";
import { refusedError } from "./user-error.ts";

const WINDOW_MS = 60_000;
const RULES = { windowMs: WINDOW_MS, aheadMs: 0, timeoutMs: 2_000 };

/**
 * Takes one question about a code from the limit of the address that it comes from, over all processes. Nobody is known
 * yet who could have a limit of their own. Throws RateLimitedError.
 */
export async function admitSignIn({ app, address }: Context): Promise<void> {
  const { rateLimits } = app.config;
  if (rateLimits === "off") return;
  const quota = rateLimits["sign-in"];
  const ask = { subject: address, limit: "sign-in", quota, need: 1, ahead: 0, unused: undefined };
  const [grant] = await takePermits(app.database.em(), [ask], RULES);
  if (grant!.granted === 1) return;
  throw tooOften(grant!.freesInMs, "Too many people sign in from your network at this moment.");
}

/** The refusal of something that may be done again after a while. */
export function tooOften(waitMs: number, message: string): Error {
  const retryAfterS = Math.max(1, Math.ceil(waitMs / 1_000));
  return refusedError({ code: "RATE_LIMITED", message: `${message} Wait ${retryAfterS} s.`, retryAfterS });
}

/** The refusal of a key that was used for something else; these mutations keep their results in rows of their own. */
export function keyConflict(): Error {
  const message = "This idempotencyKey was used with another input; make a new key for a new request.";
  return refusedError({ code: "IDEMPOTENCY_CONFLICT", message });
}
