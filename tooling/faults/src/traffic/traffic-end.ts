import { setTimeout as pause } from "node:timers/promises";
import type { Model } from "./model.ts";

/** How long open requests are still repeated after the end of the traffic. */
const PATIENCE_MS = 20_000;
/** The time limit of each request of the traffic. */
export const ANSWERED_WITHIN_MS = 15_000;
/** How long the last repeat of each request may take. It is longer than the time limit of a request. */
const LAST_REQUEST_MS = 20_000;

/** The traffic has ended, but a request never got an answer: the service has not recovered. */
export class UnansweredError extends Error {
  readonly code = "UNANSWERED";

  constructor(what: string) {
    super(`${what} had no answer when the traffic ended, and got none afterwards.`);
    this.name = "UnansweredError";
  }
}

/**
 * Ends the requests of all clients, even if the service does not recover. A client that fails or does not end is
 * reported as a violation.
 */
export class TrafficEnd {
  readonly #model: Pick<Model, "odd">;
  readonly #patienceMs: number;
  readonly #parts: Promise<void>[] = [];
  #endedAt = Number.POSITIVE_INFINITY;

  constructor(model: Pick<Model, "odd">, patienceMs: number = PATIENCE_MS) {
    this.#model = model;
    this.#patienceMs = patienceMs;
  }

  /** Whether the traffic has ended, so that clients must not start new requests. */
  readonly isOver = (): boolean => performance.now() >= this.#endedAt;

  /** Returns true when clients must give up: they throw UnansweredError instead of repeating a request. */
  readonly isTooLate = (): boolean => performance.now() >= this.#endedAt + this.#patienceMs;

  /** Adds a client, which must end by itself when `isOver` is true. */
  join(part: Promise<void>): void {
    this.#parts.push(part.catch((error: unknown) => this.#model.odd(String(error))));
  }

  /** Tells all clients to end; resolves when they have ended, or after a time limit. */
  async stop(): Promise<void> {
    this.#endedAt = performance.now();
    const withinMs = this.#patienceMs + LAST_REQUEST_MS;
    const hasEnded = Promise.all(this.#parts).then(() => true);
    const deadline = new AbortController();
    const isLate = pause(withinMs, false, { signal: deadline.signal }).catch(() => false);
    const inTime = await Promise.race([hasEnded, isLate]);
    deadline.abort();
    if (!inTime) this.#model.odd(`the traffic was still running ${Math.round(withinMs / 1_000)} s after its end`);
  }
}
