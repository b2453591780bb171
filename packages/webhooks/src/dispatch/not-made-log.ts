import type { Log } from "./log.ts";

const LOG_EVERY_MS = 60_000;

/**
 * Logs the attempts of one endpoint that could not be made, for example because its signing key cannot be used. The first
 * one is logged at once. After that there is at most one line a minute, with the number of attempts since the line before.
 */
export class NotMadeLog {
  readonly #log: Log;
  #attempts = 0;
  #loggedAt = -Infinity;

  constructor(log: Log) {
    this.#log = log;
  }

  /** Notes an attempt that could not be made. `now` is in milliseconds of a monotonic clock. */
  add(facts: object, now: number): void {
    this.#attempts += 1;
    if (now - this.#loggedAt < LOG_EVERY_MS) return;
    this.#log.error({ ...facts, attempts: this.#attempts }, "webhook attempt not made");
    this.#attempts = 0;
    this.#loggedAt = now;
  }
}
