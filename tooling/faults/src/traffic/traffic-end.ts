import { setTimeout as pause } from "node:timers/promises";
import type { Model } from "./model.ts";

/** So long after the end an answer is still asked for. */
const PATIENCE_MS = 20_000;
/** More than what is asked for then takes: each request gives up by itself. */
const LAST_REQUEST_MS = 20_000;

/** The traffic has ended, and what was asked for has no answer: the service has not recovered. */
export class UnansweredError extends Error {
  readonly code = "UNANSWERED";

  constructor(what: string) {
    super(`${what} had no answer when the traffic ended, and got none.`);
    this.name = "UnansweredError";
  }
}

/** How a traffic ends, whatever the service does: a part that has not ended as it should is told as odd. */
export class TrafficEnd {
  readonly #model: Pick<Model, "odd">;
  readonly #patienceMs: number;
  readonly #parts: Promise<void>[] = [];
  #endedAt = Number.POSITIVE_INFINITY;

  constructor(model: Pick<Model, "odd">, patienceMs: number = PATIENCE_MS) {
    this.#model = model;
    this.#patienceMs = patienceMs;
  }

  /** From now on nothing new is begun. */
  readonly isOver = (): boolean => performance.now() >= this.#endedAt;

  /** Whoever still waits for an answer throws UnansweredError in place of asking once more. */
  readonly isTooLate = (): boolean => performance.now() >= this.#endedAt + this.#patienceMs;

  /** One of those that go on until the end. */
  join(part: Promise<void>): void {
    this.#parts.push(part.catch((error: unknown) => this.#model.odd(String(error))));
  }

  /** Ends the traffic; resolves when all parts have ended, or when they should have. */
  async stop(): Promise<void> {
    this.#endedAt = performance.now();
    const withinMs = this.#patienceMs + LAST_REQUEST_MS;
    const hasEnded = Promise.all(this.#parts).then(() => true);
    const deadline = new AbortController();
    const isLate = pause(withinMs, false, { signal: deadline.signal }).catch(() => false);
    const inTime = await Promise.race([hasEnded, isLate]);
    deadline.abort();
    if (!inTime) this.#model.odd(`the traffic goes on ${Math.round(withinMs / 1_000)} s after its end`);
  }
}
