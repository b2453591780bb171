import type { PermitRequest, PermitGrant } from "./permit.ts";

/** Whether a request gets a permit, how many permits are left, and when the oldest use stops counting. */
export interface PermitResult {
  readonly granted: boolean;
  readonly remaining: number;
  readonly freesInMs: number;
}

/** Permits that were taken before they were needed. */
interface Prefetched {
  left: number;
  readonly size: number;
  readonly aheadAt: bigint;
  readonly usableUntilMs: number;
}

/** A use that waits for the answer of the database. */
export interface Waiting {
  resolve(result: PermitResult): void;
  reject(error: unknown): void;
}

/** The state of one subject's limit in this process. Times are those of the process's clock. */
export interface Window {
  readonly subject: string;
  readonly limit: string;
  quota: number;
  readonly waiting: Waiting[];
  readonly prefetched: Prefetched[];
  /** Prefetched permits that were not used in time and have to be given back. */
  readonly unused: { count: number; aheadAt: bigint }[];
  /** The number of permits used since the last request to the database. */
  recent: number;
  askedAtMs: number;
  underWay: boolean;
  remaining: number;
  freesAtMs: number;
  /** A denial by the database. Until `untilMs` no further request is sent, unless the quota is now above `quota`. */
  full: { untilMs: number; quota: number } | undefined;
}

/** How long a denial is cached. Other processes may give permits back before the oldest use stops counting. */
const RECHECK_MS = 250;
/** The maximum number of permits to prefetch, as a multiple of the permits used since the last request. */
const GROWTH = 4;

export function newWindow(subject: string, limit: string): Window {
  return {
    subject,
    limit,
    quota: 0,
    waiting: [],
    prefetched: [],
    unused: [],
    recent: 0,
    askedAtMs: -Infinity,
    underWay: false,
    remaining: 0,
    freesAtMs: 0,
    full: undefined,
  };
}

/** Uses a prefetched permit, or returns a cached denial. Returns undefined if a request to the database is needed. */
export function resultWithoutRequest(window: Window, nowMs: number): PermitResult | undefined {
  endPrefetched(window, nowMs);
  const [first] = window.prefetched;
  const freesInMs = Math.max(window.freesAtMs - nowMs, 0);
  if (first) {
    first.left -= 1;
    window.recent += 1;
    return { granted: true, remaining: window.remaining + leftOf(window), freesInMs };
  }
  const { full } = window;
  if (full && nowMs < full.untilMs && window.quota <= full.quota) return { granted: false, remaining: 0, freesInMs };
  return undefined;
}

/**
 * Returns whether to prefetch more permits in the background. Returns true if at most a quarter of the newest grant's
 * permits are left, or if at most a quarter of the time is left in which they may be used.
 */
export function isRunningLow(window: Window, nowMs: number, aheadMs: number): boolean {
  const newest = window.prefetched.at(-1);
  if (!newest) return false;
  return leftOf(window) * 4 <= newest.size || newest.usableUntilMs - nowMs <= aheadMs / 4;
}

/**
 * Returns the request to the database for all waiting uses. The request also prefetches as many permits as the subject
 * would use in `aheadMs` at its rate since the last request, but at most four times the number used since then. For a
 * subject with few uses, it therefore prefetches nothing, and there is nothing to give back.
 */
export function requestOf(window: Window, need: number, nowMs: number, aheadMs: number): PermitRequest {
  endPrefetched(window, nowMs);
  const recent = window.recent + need;
  const pace = recent / Math.max(nowMs - window.askedAtMs, 1);
  window.recent = 0;
  window.askedAtMs = nowMs;
  const { subject, limit, quota } = window;
  const ahead = Math.floor(Math.min(GROWTH * recent, pace * aheadMs));
  return { subject, limit, quota, need, ahead, unused: window.unused.shift() };
}

/**
 * Resolves the waiting uses, in their order, with the database's grant. Prefetched permits expire `aheadMs` after the
 * request was sent. So this process uses none of them later than the time at which the database counts them as used.
 */
export function settle(
  window: Window,
  waiting: readonly Waiting[],
  grant: PermitGrant,
  clock: { askedAtMs: number; answeredAtMs: number; aheadMs: number },
): void {
  const { granted, ahead, aheadAt, remaining, freesInMs } = grant;
  window.remaining = remaining;
  window.freesAtMs = clock.answeredAtMs + freesInMs;
  if (ahead > 0) {
    window.prefetched.push({ left: ahead, size: ahead, aheadAt, usableUntilMs: clock.askedAtMs + clock.aheadMs });
  }
  const untilMs = clock.answeredAtMs + Math.min(freesInMs, RECHECK_MS);
  window.full = granted < waiting.length ? { untilMs, quota: window.quota } : undefined;
  const left = remaining + leftOf(window);
  for (const [place, use] of waiting.entries()) {
    const isGranted = place < granted;
    use.resolve({ granted: isGranted, remaining: isGranted ? left + granted - 1 - place : 0, freesInMs });
  }
}

/** Removes prefetched permits that are used up or have expired. Expired permits become `unused`. */
export function endPrefetched(window: Window, nowMs: number): void {
  const { prefetched, unused } = window;
  for (let first = prefetched[0]; first && isOver(first, nowMs); first = prefetched[0]) {
    if (first.left > 0) unused.push({ count: first.left, aheadAt: first.aheadAt });
    prefetched.shift();
  }
}

function isOver({ left, usableUntilMs }: Prefetched, nowMs: number): boolean {
  return left === 0 || nowMs >= usableUntilMs;
}

/**
 * Returns whether the state of a limit in this process can be removed: it has no waiting uses and no permits, and has
 * sent no request for some time.
 */
export function isIdle(window: Window, nowMs: number, aheadMs: number): boolean {
  const { waiting, prefetched, unused, underWay, askedAtMs } = window;
  return waiting.length + prefetched.length + unused.length === 0 && !underWay && nowMs - askedAtMs > aheadMs;
}

function leftOf({ prefetched }: Window): number {
  return prefetched.reduce((sum, { left }) => sum + left, 0);
}
