import type { PermitAsk, PermitGrant } from "./permit.ts";
import { setTimeout as delay } from "node:timers/promises";
import {
  askOf,
  endHeld,
  isIdle,
  isRunningLow,
  type Leave,
  leaveNow,
  newWindow,
  settle,
  type Waiting,
  type Window,
} from "./window.ts";

/** This process's share of every limit that the processes have together. */
export interface Permits {
  /** One permit of `quota` in a window, or a refusal. Throws what asking throws. */
  take(subject: string, limit: string, quota: number): Promise<Leave>;
  /** Gives back what is held. */
  close(): Promise<void>;
}

export interface PermitsOptions {
  /** Takes permits where all processes do: one grant per ask, in their order. */
  take: (asks: PermitAsk[]) => Promise<PermitGrant[]>;
  /** How long permits that were taken ahead of need may be used. */
  aheadMs: number;
  clockMs?: () => number;
}

const ASKS_AT_A_TIME = 64;
/** What cannot be given back by then lapses with its window. */
const CLOSE_WITHIN_MS = 1_000;

/**
 * Takes permits in blocks, so that a busy client's request waits for no round trip: one question at a time is on its way
 * for all clients together, and it takes some ahead for those who are busy. Who has none ahead waits for the question.
 */
export function createPermits(options: PermitsOptions): Permits {
  const { take, aheadMs, clockMs = () => performance.now() } = options;
  const windows = new Map<string, Window>();
  const due = new Set<Window>();
  let asking: Promise<void> | undefined;
  const sweeping = setInterval(sweep, aheadMs).unref();

  function want(window: Window): void {
    if (window.underWay) return;
    due.add(window);
    asking ??= askAll();
  }

  async function askAll(): Promise<void> {
    // What the same turn of the event loop brings is one question.
    await new Promise((resolve) => setImmediate(resolve));
    while (due.size > 0) await ask([...due].slice(0, ASKS_AT_A_TIME));
    asking = undefined;
  }

  async function ask(batch: readonly Window[]): Promise<void> {
    const askedAtMs = clockMs();
    const questions = batch.map((window) => {
      due.delete(window);
      window.underWay = true;
      const waiting = window.waiting.splice(0);
      return { window, waiting, ask: askOf(window, waiting.length, askedAtMs, aheadMs) };
    });
    try {
      const grants = await take(questions.map(({ ask }) => ask));
      const clock = { askedAtMs, answeredAtMs: clockMs(), aheadMs };
      for (const [place, { window, waiting }] of questions.entries()) settle(window, waiting, grants[place]!, clock);
    } catch (error) {
      // What was to be given back may have been: giving it twice would give too much, so it lapses.
      for (const { waiting } of questions) for (const one of waiting) one.reject(error);
    }
    for (const window of batch) {
      window.underWay = false;
      if (window.waiting.length > 0 || window.unused.length > 0) due.add(window);
    }
  }

  function sweep(): void {
    const nowMs = clockMs();
    for (const [name, window] of windows) {
      endHeld(window, nowMs);
      if (window.unused.length > 0) want(window);
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
      const leave = leaveNow(window, nowMs);
      if (leave) {
        if (isRunningLow(window, nowMs, aheadMs)) want(window);
        return leave;
      }
      return new Promise<Leave>((resolve, reject) => {
        window.waiting.push({ resolve, reject } satisfies Waiting);
        want(window);
      });
    },
    async close() {
      clearInterval(sweeping);
      for (const window of windows.values()) {
        endHeld(window, Infinity);
        window.recent = 0;
        if (window.unused.length > 0) want(window);
      }
      await Promise.race([asking, delay(CLOSE_WITHIN_MS, undefined, { ref: false })]);
    },
  };
}
