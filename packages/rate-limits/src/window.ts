import type { PermitAsk, PermitGrant } from "./permit.ts";

/** What became of one request: a permit, or not; what is left, and when the oldest use stops counting. */
export interface Leave {
  readonly granted: boolean;
  readonly remaining: number;
  readonly freesInMs: number;
}

/** Permits taken ahead of need. */
interface Held {
  left: number;
  readonly size: number;
  readonly aheadAt: bigint;
  readonly usableUntilMs: number;
}

/** A request that waits for an answer of the database. */
export interface Waiting {
  resolve(leave: Leave): void;
  reject(error: unknown): void;
}

/** What this process knows and holds of one subject's limit. Times are of its own clock. */
export interface Window {
  readonly subject: string;
  readonly limit: string;
  quota: number;
  readonly waiting: Waiting[];
  readonly held: Held[];
  /** Not used in time: to be given back. */
  readonly unused: { count: number; aheadAt: bigint }[];
  /** Permits used since the last question. */
  recent: number;
  askedAtMs: number;
  underWay: boolean;
  remaining: number;
  freesAtMs: number;
  /** The database said no, at this quota: until then nobody asks again. */
  full: { untilMs: number; quota: number } | undefined;
}

/** Others may give permits back before the oldest use stops counting: a refusal is not believed for longer. */
const RECHECK_MS = 250;
const GROWTH = 4;

export function newWindow(subject: string, limit: string): Window {
  return {
    subject,
    limit,
    quota: 0,
    waiting: [],
    held: [],
    unused: [],
    recent: 0,
    askedAtMs: -Infinity,
    underWay: false,
    remaining: 0,
    freesAtMs: 0,
    full: undefined,
  };
}

/** Uses a permit that is held, or passes on a refusal that still stands; undefined when the database has to be asked. */
export function leaveNow(window: Window, nowMs: number): Leave | undefined {
  endHeld(window, nowMs);
  const [held] = window.held;
  const freesInMs = Math.max(window.freesAtMs - nowMs, 0);
  if (held) {
    held.left -= 1;
    window.recent += 1;
    return { granted: true, remaining: window.remaining + leftOf(window), freesInMs };
  }
  const { full } = window;
  if (full && nowMs < full.untilMs && window.quota <= full.quota) return { granted: false, remaining: 0, freesInMs };
  return undefined;
}

/** Whether it is time to fetch more in the background: a quarter is left, of the permits or of their time. */
export function isRunningLow(window: Window, nowMs: number, aheadMs: number): boolean {
  const newest = window.held.at(-1);
  if (!newest) return false;
  return leftOf(window) * 4 <= newest.size || newest.usableUntilMs - nowMs <= aheadMs / 4;
}

/**
 * The question for everybody who waits. Ahead of need goes what the pace since the last question would use up in time,
 * growing fourfold a question at most: a subject that comes rarely takes nothing ahead and has nothing to give back.
 */
export function askOf(window: Window, need: number, nowMs: number, aheadMs: number): PermitAsk {
  endHeld(window, nowMs);
  const recent = window.recent + need;
  const pace = recent / Math.max(nowMs - window.askedAtMs, 1);
  window.recent = 0;
  window.askedAtMs = nowMs;
  const { subject, limit, quota } = window;
  const ahead = Math.floor(Math.min(GROWTH * recent, pace * aheadMs));
  return { subject, limit, quota, need, ahead, unused: window.unused.shift() };
}

/** Hands an answer to those who waited for it, in their order. Permits ahead end by the earliest reading of the clocks. */
export function settle(
  window: Window,
  asking: readonly Waiting[],
  grant: PermitGrant,
  clock: { askedAtMs: number; answeredAtMs: number; aheadMs: number },
): void {
  const { granted, ahead, aheadAt, remaining, freesInMs } = grant;
  window.remaining = remaining;
  window.freesAtMs = clock.answeredAtMs + freesInMs;
  if (ahead > 0) {
    window.held.push({ left: ahead, size: ahead, aheadAt, usableUntilMs: clock.askedAtMs + clock.aheadMs });
  }
  const untilMs = clock.answeredAtMs + Math.min(freesInMs, RECHECK_MS);
  window.full = granted < asking.length ? { untilMs, quota: window.quota } : undefined;
  const left = remaining + leftOf(window);
  for (const [place, one] of asking.entries()) {
    const isIn = place < granted;
    one.resolve({ granted: isIn, remaining: isIn ? left + granted - 1 - place : 0, freesInMs });
  }
}

/** Takes out what is used up or may not be used any more. */
export function endHeld(window: Window, nowMs: number): void {
  const { held, unused } = window;
  for (let first = held[0]; first && (first.left === 0 || nowMs >= first.usableUntilMs); first = held[0]) {
    if (first.left > 0) unused.push({ count: first.left, aheadAt: first.aheadAt });
    held.shift();
  }
}

/** Whether forgetting the window loses nothing. */
export function isIdle(window: Window, nowMs: number, aheadMs: number): boolean {
  const { waiting, held, unused, underWay, askedAtMs } = window;
  return waiting.length + held.length + unused.length === 0 && !underWay && nowMs - askedAtMs > aheadMs;
}

function leftOf({ held }: Window): number {
  return held.reduce((sum, { left }) => sum + left, 0);
}
