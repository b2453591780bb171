/** Identifies an event and its loan. */
export interface EventKey {
  readonly eventId: string;
  readonly sourceLoanNumber: string;
}

/** A loan that this transaction has locked. */
export interface LockedLoan<Tx> {
  readonly tx: Tx;
  /** The last applied sequence of the loan; 0 if there is none. */
  readonly sequence: number;
  /** Whether this event was recorded before. */
  readonly isDuplicate: boolean;
  /** Records the event, and sets the loan's sequence. Call it at most once, as the last step. */
  record(sequence: number): Promise<void>;
}

/**
 * Stores which events were received and the last applied sequence of each loan. An implementation must guarantee three
 * things. For each loan, only one callback runs at a time, across all processes. What `work` writes through `tx` and
 * what it passes to `record` are committed together. If `work` throws or the process dies, neither is stored.
 */
export interface ReceiverStorage<Tx> {
  withLockedLoan<Result>(key: EventKey, work: (loan: LockedLoan<Tx>) => Promise<Result>): Promise<Result>;
}
