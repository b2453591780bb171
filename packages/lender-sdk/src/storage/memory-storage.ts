import { OneAtATime } from "../one-at-a-time.ts";
import type { EventKey, LockedLoan, ReceiverStorage } from "./receiver-storage.ts";

/**
 * Keeps the receiver's state in this process only, for tests and experiments. When you discard this storage, also
 * discard the data that `apply` stored: otherwise an old event that is sent again would look like the first event of
 * its loan.
 *
 * @example
 * const owed = new Map<string, Amount>();
 * const apply = ({ state }: LoanUpdate) => void owed.set(state.sourceLoanNumber, state.outstandingAfter);
 * const secrets = { lk_sandbox_7f3a: secret };
 * const receiver = createReceiver({ secrets, storage: new MemoryStorage(), client, apply });
 */
export class MemoryStorage implements ReceiverStorage<undefined> {
  readonly #loans = new OneAtATime();
  readonly #sequences: Map<string, number> = new Map();
  readonly #events: Set<string> = new Set();

  withLockedLoan<Result>(
    { eventId, sourceLoanNumber }: EventKey,
    work: (loan: LockedLoan<undefined>) => Promise<Result>,
  ): Promise<Result> {
    return this.#loans.run(sourceLoanNumber, async () => {
      let kept: number | undefined;
      const result = await work({
        tx: undefined,
        sequence: this.#sequences.get(sourceLoanNumber) ?? 0,
        isDuplicate: this.#events.has(eventId),
        record: async (sequence) => {
          kept = sequence;
        },
      });
      if (kept !== undefined) {
        this.#events.add(eventId);
        this.#sequences.set(sourceLoanNumber, kept);
      }
      return result;
    });
  }
}
