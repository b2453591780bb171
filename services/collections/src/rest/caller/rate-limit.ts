import type { LenderProfile } from "@collections/lenders";
import type { LimitedEndpoint } from "../../settings/rate-limits.ts";
import { type Admission, type RateLimiter, tooManyFailures, WINDOW_S } from "../../http/rate-limiter.ts";
import { Problem } from "../../http/problem.ts";

/** Who is limited: a key, by its lender's overrides where there are any. */
export interface Caller {
  readonly keyId: string;
  /**
   * The address of a request that names the key and proves nothing. It counts for the key and the address together, so
   * that a stranger who knows the key's id does not use up the limit of its owner.
   */
  readonly unprovenFrom?: string;
  readonly lender: Pick<LenderProfile, "rateLimits">;
}

/**
 * Takes one request from the limit of its key and answers with the headers that say what is left; none where limits are
 * off. @throws Problem RATE_LIMITED
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
  const detail = `This key may send ${quota} requests a minute here${unprovenFrom === undefined ? "" : " from your address"}; go on in ${waitS} s.`;
  throw new Problem("RATE_LIMITED", detail, {}, { ...retryAfter(admission), ...headers });
}

/** Counts a failed authentication of an address. @throws Problem RATE_LIMITED when there were too many */
export async function countFailure(rateLimiter: RateLimiter, address: string): Promise<void> {
  const admission = await tooManyFailures(rateLimiter, address);
  if (!admission) return;
  const detail = `More than ${admission.quota} requests a minute from this address had no right signature; right ones still pass.`;
  throw new Problem("RATE_LIMITED", detail, {}, retryAfter(admission));
}

function retryAfter({ waitS }: Admission): Record<string, string> {
  return { "Retry-After": String(waitS) };
}
