/**
 * One of the two lenders that receive events in the measurements. The callback of `prompt` answers at once; the
 * callback of `slow` can be slow.
 */
export type LenderRole = "prompt" | "slow";

/**
 * One of the two programs with a database that deliver events to lenders: the service, or the usual solution on
 * pg-boss.
 */
export interface Sender {
  /** The id of the process that posts. */
  readonly pid: number;
  /** Commits changes of one lender, each in a transaction together with its event. */
  commit(role: LenderRole, count: number, clients: number): Promise<void>;
  /** Makes the lender's events wait until `resume`. */
  hold(role: LenderRole): Promise<void>;
  resume(role: LenderRole): Promise<void>;
  /** Resolves when each event has been acknowledged and the acknowledgement is recorded. */
  untilNothingWaits(): Promise<void>;
  /**
   * Returns when the changes of the given deliveries were committed, in milliseconds since 1970 with microsecond
   * precision.
   */
  committedAtMs(deliveryIds: readonly string[]): Promise<Map<string, number>>;
  /** Returns when the last acknowledgement was recorded, by the same clock as `committedAtMs`. */
  lastAcknowledgedAtMs(): Promise<number>;
  close(): Promise<void>;
}

const POLL_MS = 50;
const NOTHING_WAITS_WITHIN_MS = 120_000;

/**
 * Polls until the condition is true. Throws an error with the message `otherwise` if it stays false for two minutes.
 */
export async function pollUntil(isTrue: () => Promise<boolean>, otherwise: string): Promise<void> {
  const deadline = performance.now() + NOTHING_WAITS_WITHIN_MS;
  while (!(await isTrue())) {
    if (performance.now() > deadline) throw new Error(otherwise);
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}
