import { takePermits } from "@collections/rate-limits";
import type { Context } from "../plumbing/context.ts";
import { refusedError } from "../plumbing/user-error.ts";

const WINDOW_MS = 60_000;
const RULES = { windowMs: WINDOW_MS, aheadMs: 0, timeoutMs: 2_000 };

/**
 * Counts a request for a code, or an attempt to enter a code, over all processes. `device` identifies a device that was
 * signed in before. Such a device has its own limit; without `device`, the request counts for its address. Throws
 * RateLimitedError.
 */
export async function admitSignIn({ app, address }: Context, device: string | undefined): Promise<void> {
  const { rateLimits } = app.config;
  if (rateLimits === "off") return;
  if (device !== undefined) {
    // Many devices share an address. Requests of other devices at the same address do not count for a known device.
    const admission = await app.rateLimiter.admit("known-device", device);
    if (admission?.granted !== false) return;
    throw tooOften(admission.waitS * 1_000, "This device has sent too many requests.");
  }
  const quota = rateLimits["sign-in"];
  const ask = { subject: address, limit: "sign-in", quota, need: 1, ahead: 0, unused: undefined };
  const [grant] = await takePermits(app.database.em(), [ask], RULES);
  if (grant!.granted === 1) return;
  throw tooOften(grant!.freesInMs, "Too many people sign in from your network at the moment.");
}

/** Returns the error for a request that is allowed again after `waitMs`. */
export function tooOften(waitMs: number, message: string): Error {
  const retryAfterS = Math.max(1, Math.ceil(waitMs / 1_000));
  return refusedError({ code: "RATE_LIMITED", message: `${message} Wait ${retryAfterS} s.`, retryAfterS });
}

/**
 * Returns the error for an idempotency key that was used with another input. Sign-in mutations do not use `once`, which
 * reports this conflict in other mutations.
 */
export function keyConflict(): Error {
  const message = "This idempotencyKey was used with another input; make a new key for a new request.";
  return refusedError({ code: "IDEMPOTENCY_CONFLICT", message });
}
