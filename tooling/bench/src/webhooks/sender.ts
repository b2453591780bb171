/**
 * One of the two lenders of the comparison. The callback of `prompt` answers at once; the callback of `slow` can be
 * slow.
 */
export type LenderRole = "prompt" | "slow";

/** One of the two systems that deliver events to lenders: the service, or the naive sender on pg-boss. */
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
  /** The commit times of these deliveries' changes, in milliseconds since 1970 with microsecond precision. */
  committedAtMs(deliveryIds: readonly string[]): Promise<Map<string, number>>;
  /** The time when the last acknowledgement was recorded, on the clock of `committedAtMs`. */
  lastAcknowledgedAtMs(): Promise<number>;
  close(): Promise<void>;
}

const POLL_MS = 50;
const NOTHING_WAITS_WITHIN_MS = 120_000;

/** Polls until the condition is true; throws `otherwise` after the time limit. */
export async function pollUntil(isTrue: () => Promise<boolean>, otherwise: string): Promise<void> {
  const deadline = performance.now() + NOTHING_WAITS_WITHIN_MS;
  while (!(await isTrue())) {
    if (performance.now() > deadline) throw new Error(otherwise);
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}
