/** Which event, of which loan. */
export interface EventKey {
  readonly eventId: string;
  readonly sourceLoanNumber: string;
}

/** A loan that nobody else holds, inside a transaction. */
export interface HeldLoan<Tx> {
  readonly tx: Tx;
  /** The last sequence applied; 0 for none. */
  readonly sequence: number;
  /** Whether this event was kept before. */
  readonly isKnown: boolean;
  /** Keeps the event as known, and the loan at this sequence. To be called once at most, as the last thing. */
  keep(sequence: number): Promise<void>;
}

/**
 * Where a receiver remembers which events it had, and how far each loan is. An implementation keeps three promises:
 * of one loan, one `hold` runs at a time, whatever process it is in; what `work` did with `tx` and what it kept commit
 * together; and when `work` throws, or the process dies, none of it has happened.
 */
export interface ReceiverStorage<Tx> {
  hold<Result>(key: EventKey, work: (held: HeldLoan<Tx>) => Promise<Result>): Promise<Result>;
}
