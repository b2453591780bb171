import type { LenderProfile } from "@collections/lenders";
import type { LimitedEndpoint } from "../../settings/rate-limits.ts";
import { type Admission, type RateLimiter, tooManyFailures, WINDOW_S } from "../../http/rate-limiter.ts";
import { Problem } from "../../http/problem.ts";

/** The caller whose requests are counted: an API key, with the limits of its lender. */
export interface Caller {
  readonly keyId: string;
  /**
   * The address of a request that names an API key without a signature. Such a request counts for the key and the
   * address together. So a stranger who knows the key id does not use up the limit of the lender.
   */
  readonly unprovenFrom?: string;
  readonly lender: Pick<LenderProfile, "rateLimits">;
}

/**
 * Counts one request for its API key. Returns the headers with the remaining requests, or no headers if limits are off.
 * @throws Problem RATE_LIMITED
 */
export async function admitCaller(
  rateLimiter: RateLimiter,
  { keyId, unprovenFrom, lender }: Caller,
  endpoint: LimitedEndpoint,
): Promise<Record<string, string>> {
  const subject = unprovenFrom === undefined ? keyId : `${keyId} ${unprovenFrom}`;
  const admission = await rateLimiter.admit(endpoint, subject, lender.rateLimits[endpoint]);
  if (!admission) return {};
  const { granted, quota, remaining, waitS } = admission;
  const headers = {
    "RateLimit-Policy": `"${endpoint}";q=${quota};w=${WINDOW_S}`,
    RateLimit: `"${endpoint}";r=${remaining};t=${waitS}`,
  };
  if (granted) return headers;
  const detail = `This key may send ${quota} requests a minute here${unprovenFrom === undefined ? "" : " from your address"}; wait ${waitS} s.`;
  throw new Problem("RATE_LIMITED", detail, {}, { ...retryAfter(admission), ...headers });
}

/**
 * Counts a failed authentication of an address.
 * @throws Problem RATE_LIMITED if the address has too many
 */
export async function countFailure(rateLimiter: RateLimiter, address: string): Promise<void> {
  const admission = await tooManyFailures(rateLimiter, address);
  if (!admission) return;
  const detail = `More than ${admission.quota} requests a minute from this address had no valid signature; signed requests are still answered.`;
  throw new Problem("RATE_LIMITED", detail, {}, retryAfter(admission));
}

function retryAfter({ waitS }: Admission): Record<string, string> {
  return { "Retry-After": String(waitS) };
}
