/** A lender of the comparison: one whose callback answers at once, and one whose callback can be slow. */
export type LenderRole = "prompt" | "slow";

/** One of the two systems that tell lenders of changes: the service, or the naive sender on pg-boss. */
export interface Sender {
  /** Its process that posts. */
  readonly pid: number;
  /** Commits changes of one lender, each in a transaction of its own together with its event. */
  commit(role: LenderRole, count: number, clients: number): Promise<void>;
  /** Until `letGo` the events of the lender wait. */
  hold(role: LenderRole): Promise<void>;
  letGo(role: LenderRole): Promise<void>;
  /** Resolves when each event has been acknowledged, and that is written down. */
  untilNothingWaits(): Promise<void>;
  /** When the changes of these deliveries were committed, in milliseconds since 1970, to the microsecond. */
  committedAtMs(deliveryIds: readonly string[]): Promise<Map<string, number>>;
  /** When the last acknowledgement so far was written down, on the same clock. */
  lastAcknowledgedAtMs(): Promise<number>;
  close(): Promise<void>;
}

const POLL_MS = 50;
const NOTHING_WAITS_WITHIN_MS = 120_000;

/** Asks now and then until the answer is yes. */
export async function pollUntil(isTrue: () => Promise<boolean>, otherwise: string): Promise<void> {
  const deadline = performance.now() + NOTHING_WAITS_WITHIN_MS;
  while (!(await isTrue())) {
    if (performance.now() > deadline) throw new Error(otherwise);
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}
