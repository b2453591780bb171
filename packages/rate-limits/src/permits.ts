import type { PermitRequest, PermitGrant } from "./permit.ts";
import { setTimeout as delay } from "node:timers/promises";
import {
  endPrefetched,
  isIdle,
  isRunningLow,
  newWindow,
  type PermitResult,
  requestOf,
  resultWithoutRequest,
  settle,
  type Waiting,
  type Window,
} from "./window.ts";

/** One process's access to rate limits that all processes share. */
export interface Permits {
  /**
   * Takes one permit, if fewer than `quota` are taken in the window. Throws the error of a failed request to the
   * database.
   */
  take(subject: string, limit: string, quota: number): Promise<PermitResult>;
  /** Gives back prefetched permits. */
  close(): Promise<void>;
}

export interface PermitsOptions {
  /** Takes permits from the database. Returns one grant for each request, in the same order. */
  take: (requests: PermitRequest[]) => Promise<PermitGrant[]>;
  /** How long prefetched permits may be used. */
  aheadMs: number;
  clockMs?: () => number;
}

const REQUESTS_AT_A_TIME = 64;
/** How long `close` waits. Permits that are not given back by then count as used until the end of their window. */
const CLOSE_WITHIN_MS = 1_000;

/**
 * Prefetches permits for busy subjects, so that their uses do not wait for a round trip. Sends one query at a time,
 * which combines the requests of several subjects. A use for which no permit was prefetched waits for a query.
 */
export function createPermits(options: PermitsOptions): Permits {
  const { take, aheadMs, clockMs = () => performance.now() } = options;
  const windows = new Map<string, Window>();
  const due = new Set<Window>();
  let sending: Promise<void> | undefined;
  const sweeping = setInterval(sweep, aheadMs).unref();

  function sendLater(window: Window): void {
    if (window.underWay) return;
    due.add(window);
    sending ??= sendAll();
  }

  async function sendAll(): Promise<void> {
    // Wait, so that all uses of this turn of the event loop share one query.
    await new Promise((resolve) => setImmediate(resolve));
    while (due.size > 0) await sendBatch([...due].slice(0, REQUESTS_AT_A_TIME));
    sending = undefined;
  }

  async function sendBatch(batch: readonly Window[]): Promise<void> {
    const askedAtMs = clockMs();
    const sent = batch.map((window) => {
      due.delete(window);
      window.underWay = true;
      const waiting = window.waiting.splice(0);
      return { window, waiting, request: requestOf(window, waiting.length, askedAtMs, aheadMs) };
    });
    try {
      const grants = await take(sent.map(({ request }) => request));
      const clock = { askedAtMs, answeredAtMs: clockMs(), aheadMs };
      for (const [place, { window, waiting }] of sent.entries()) settle(window, waiting, grants[place]!, clock);
    } catch (error) {
      // The database may have taken unused permits back before the query failed. Giving them back twice would exceed the
      // quota, so they count as used.
      for (const { waiting } of sent) for (const use of waiting) use.reject(error);
    }
    for (const window of batch) {
      window.underWay = false;
      if (window.waiting.length > 0 || window.unused.length > 0) due.add(window);
    }
  }

  function sweep(): void {
    const nowMs = clockMs();
    for (const [name, window] of windows) {
      endPrefetched(window, nowMs);
      if (window.unused.length > 0) sendLater(window);
      else if (!due.has(window) && isIdle(window, nowMs, aheadMs)) windows.delete(name);
    }
  }

  return {
    async take(subject, limit, quota) {
      const name = `${limit} ${subject}`;
      const window = windows.get(name) ?? newWindow(subject, limit);
      windows.set(name, window);
      window.quota = quota;
      const nowMs = clockMs();
      const result = resultWithoutRequest(window, nowMs);
      if (result) {
        if (isRunningLow(window, nowMs, aheadMs)) sendLater(window);
        return result;
      }
      return new Promise<PermitResult>((resolve, reject) => {
        window.waiting.push({ resolve, reject } satisfies Waiting);
        sendLater(window);
      });
    },
    async close() {
      clearInterval(sweeping);
      for (const window of windows.values()) {
        endPrefetched(window, Infinity);
        window.recent = 0;
        if (window.unused.length > 0) sendLater(window);
      }
      await Promise.race([sending, delay(CLOSE_WITHIN_MS, undefined, { ref: false })]);
    },
  };
}
