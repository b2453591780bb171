/**
 * The wait before each attempt, in milliseconds, counted from the failure of the previous attempt. The first wait is 0.
 */
export type Ladder = readonly [0, ...number[]];

/**
 * The default ladder, in the format of `parseLadder`: seven attempts in about 31 hours. contract: Retry and suspension
 *
 * @example
 * const ladder = parseLadder(process.env["WEBHOOK_LADDER"] ?? DEFAULT_LADDER);
 */
export const DEFAULT_LADDER = "0s,30s,2m,10m,1h,6h,24h";

const JITTER = 0.1;
const FIRST_JITTERED_STEP = 2;
const UNIT_MS: Record<string, number> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/**
 * A retry ladder that cannot be read. `step` is the invalid entry, and the message says what to write instead.
 *
 * @example
 * try {
 *   parseLadder("0s,30s,2 minutes");
 * } catch (error) {
 *   if (error instanceof InvalidLadderError) console.error(error.message);
 * }
 */
export class InvalidLadderError extends Error {
  override readonly name = "InvalidLadderError";
  readonly code = "INVALID_LADDER";
  readonly step: string;

  constructor(step: string, remedy: string) {
    super(`The retry ladder's step "${step}" is not valid: ${remedy}`);
    this.step = step;
  }
}

/** The facts of a failed attempt that decide when the next attempt is made. */
export interface FailedAttempt {
  /** Attempts made so far, including this one. */
  readonly attempts: number;
  /** The delay that the receiver asked for, or undefined if it asked for none. */
  readonly retryAfterMs?: number | undefined;
}

/**
 * Reads a ladder such as `0s,30s,2m`. Throws InvalidLadderError. Workers look for due retries twice a second, so a retry
 * starts up to half a second after its time. If its job was lost, it starts up to 25 seconds late.
 *
 * @example
 * parseLadder("0s,30s,2m"); // [0, 30000, 120000]
 */
export function parseLadder(text: string): Ladder {
  const [first, ...later] = text.split(",").map((step) => parseStep(step.trim()));
  if (first !== 0)
    throw new InvalidLadderError(text.split(",")[0] ?? "", "the first attempt does not wait; begin with 0s.");
  return [0, ...later];
}

/**
 * Returns the wait after a failed attempt, in milliseconds, or "park" after the ladder's last step. From the third
 * attempt on, the wait varies by ±10 %, so that deliveries that failed together are not retried together. `random`
 * returns a number in [0, 1). contract: Retry and suspension
 */
export function waitAfter(ladder: Ladder, failed: FailedAttempt, random: () => number): number | "park" {
  const stepMs = ladder[failed.attempts];
  if (stepMs === undefined) return "park";
  const jitter = failed.attempts < FIRST_JITTERED_STEP ? 0 : JITTER * (2 * random() - 1);
  return Math.max(Math.round(stepMs * (1 + jitter)), failed.retryAfterMs ?? 0);
}

function parseStep(step: string): number {
  const [, amount, unit] = /^(\d{1,6})(ms|s|m|h|d)$/.exec(step) ?? [];
  const unitMs = UNIT_MS[unit ?? ""];
  if (amount === undefined || unitMs === undefined) {
    throw new InvalidLadderError(step, "write a whole number and ms, s, m, h or d, for example 30s.");
  }
  return Number(amount) * unitMs;
}
