import type { AttemptResult } from "../endpoint/attempt.ts";

/** The limit for an endpoint that this process has not sent anything to. */
const FIRST_LIMIT = 4;
/** The limit after a recovery. It then doubles: 1, 2, 4 … contract: Retry and suspension */
const SLOW_START_LIMIT = 1;

const TOO_MANY_REQUESTS = 429;

/**
 * The number of attempts that this process may have under way to one endpoint. Each 2xx answer raises the limit by one,
 * so the limit doubles with each round of answers. Each sign of overload halves the limit, so an endpoint that hangs
 * soon holds only one slot.
 */
export class ConcurrencyLimit {
  readonly #max: number;
  #limit: number;
  #recoveredAt: number | undefined;

  constructor(max: number) {
    this.#max = max;
    this.#limit = Math.min(FIRST_LIMIT, max);
  }

  get limit(): number {
    return this.#limit;
  }

  /** Resets the limit to one if the endpoint has recovered from a suspension since the last lease. */
  seeRecovery(recoveredAt: Date | null): void {
    const at = recoveredAt?.getTime();
    if (at !== undefined && at !== this.#recoveredAt) this.#limit = SLOW_START_LIMIT;
    this.#recoveredAt = at;
  }

  /** Raises or lowers the limit by the result of an attempt. */
  learn({ outcome, answer, ownFault }: Pick<AttemptResult, "outcome" | "answer" | "ownFault">): void {
    if (outcome === "delivered") this.#limit = Math.min(this.#limit + 1, this.#max);
    else if (outcome === "failed" && !ownFault && isOverload(answer?.status)) {
      this.#limit = Math.max(Math.floor(this.#limit / 2), 1);
    }
  }
}

/** No answer, 5xx and 429 are signs of overload. Any other status is about the event and not about the load. */
function isOverload(status: number | undefined): boolean {
  return status === undefined || status >= 500 || status === TOO_MANY_REQUESTS;
}
