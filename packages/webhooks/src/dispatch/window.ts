import type { AttemptResult } from "../endpoint/attempt.ts";

/** For an endpoint that this process knows nothing about yet. */
const FIRST_LIMIT = 4;
/** After a recovery: 1, 2, 4 … contract: Retry and suspension */
const SLOW_START_LIMIT = 1;

const TOO_MANY_REQUESTS = 429;

/**
 * How many attempts one endpoint may have under way in this process. Each 2xx raises it by one, which doubles it from
 * round to round; each sign of a receiver that cannot keep up halves it. So whoever hangs soon holds a single slot.
 */
export class Window {
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

  /** Begins again with one when the endpoint has recovered since the last look. */
  seeRecovery(recoveredAt: Date | null): void {
    const at = recoveredAt?.getTime();
    if (at !== undefined && at !== this.#recoveredAt) this.#limit = SLOW_START_LIMIT;
    this.#recoveredAt = at;
  }

  /** Learns from how an attempt went. */
  learn({ outcome, answer, ownFault }: Pick<AttemptResult, "outcome" | "answer" | "ownFault">): void {
    if (outcome === "delivered") this.#limit = Math.min(this.#limit + 1, this.#max);
    else if (outcome === "failed" && !ownFault && isOverload(answer?.status)) {
      this.#limit = Math.max(Math.floor(this.#limit / 2), 1);
    }
  }
}

/** No answer at all, or one that says "not now": an event that is refused for what it says is none of it. */
function isOverload(status: number | undefined): boolean {
  return status === undefined || status >= 500 || status === TOO_MANY_REQUESTS;
}
