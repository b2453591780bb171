import { OneAtATime } from "./one-at-a-time.ts";
import type { EventKey, HeldLoan, ReceiverStorage } from "./receiver-storage.ts";

/**
 * Remembers in this process, and forgets when it ends: for tests, and for trying out. What `apply` stores has to be
 * forgotten with it, else an old event that is sent again would seem to be the first of its loan.
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

  hold<Result>(
    { eventId, sourceLoanNumber }: EventKey,
    work: (held: HeldLoan<undefined>) => Promise<Result>,
  ): Promise<Result> {
    return this.#loans.run(sourceLoanNumber, async () => {
      let kept: number | undefined;
      const result = await work({
        tx: undefined,
        sequence: this.#sequences.get(sourceLoanNumber) ?? 0,
        isKnown: this.#events.has(eventId),
        keep: async (sequence) => {
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
