import { isUnavailable } from "@collections/database";

export interface BatchOptions<Item, Outcome> {
  /** Does the items together, one outcome each, in their order; all of them or, when it throws, none. */
  run: (items: Item[]) => Promise<Outcome[]>;
  /** Items a batch at most. */
  maxItems: number;
  /** Batches under way at a time. */
  maxUnderWay: number;
  /** Items may share a batch when this is the same of both. Default: any may. */
  kindOf?: ((item: Item) => unknown) | undefined;
}

/**
 * So much is waiting already that one more would wait too long: try again in a moment.
 *
 * @example
 * const confirm = createConfirmer({ em: () => database.em(), environment: "live" });
 * const outcome = await confirm(payment).catch((error: unknown) => {
 *   if (error instanceof OverloadedError) return { kind: "try_again_later" as const };
 *   throw error;
 * });
 */
export class OverloadedError extends Error {
  override readonly name = "OverloadedError";
  readonly code = "OVERLOADED";
  /** Items that wait before it. */
  readonly waiting: number;

  constructor(waiting: number) {
    super(`${waiting} items are waiting for their batch already: try again in a moment.`);
    this.waiting = waiting;
  }
}

/** Minutes of work for a stalled database; more would only fill the memory. */
const MAX_GATHERED = 5_000;

interface Waiting<Item, Outcome> {
  item: Item;
  resolve(outcome: Outcome): void;
  reject(error: unknown): void;
}

/**
 * Does items in batches without ever waiting for a batch to fill: while one is under way, what arrives gathers, and
 * leaves as the next. An idle caller is served at once, a crowd shares its round trips. Throws OverloadedError.
 */
export function inBatches<Item, Outcome>(options: BatchOptions<Item, Outcome>): (item: Item) => Promise<Outcome> {
  const { run, maxItems, maxUnderWay, kindOf } = options;
  let gathered: Waiting<Item, Outcome>[] = [];
  let underWay = 0;
  let scheduled = false;

  function leave(): void {
    scheduled = false;
    while (gathered.length > 0 && underWay < maxUnderWay) {
      underWay += 1;
      void carry(nextBatch()).finally(() => {
        underWay -= 1;
        leave();
      });
    }
  }

  /** Led by who has waited longest. */
  function nextBatch(): Waiting<Item, Outcome>[] {
    if (!kindOf) return gathered.splice(0, maxItems);
    const kind = kindOf(gathered[0]!.item);
    const batch = gathered.filter(({ item }) => kindOf(item) === kind).slice(0, maxItems);
    const leaving = new Set(batch);
    gathered = gathered.filter((waiting) => !leaving.has(waiting));
    return batch;
  }

  async function carry(batch: Waiting<Item, Outcome>[]): Promise<void> {
    try {
      const outcomes = await run(batch.map(({ item }) => item));
      for (const [index, waiting] of batch.entries()) waiting.resolve(outcomes[index]!);
    } catch (error) {
      if (batch.length === 1 || isUnavailable(error)) {
        for (const waiting of batch) waiting.reject(error);
        return;
      }
      // One item spoils the batch: alone, only that one fails.
      for (const waiting of batch) await carry([waiting]);
    }
  }

  return (item) =>
    new Promise((resolve, reject) => {
      if (gathered.length >= MAX_GATHERED) {
        reject(new OverloadedError(gathered.length));
        return;
      }
      gathered.push({ item, resolve, reject });
      if (scheduled || underWay >= maxUnderWay) return;
      // What the same turn of the event loop brings leaves together.
      scheduled = true;
      setImmediate(leave);
    });
}
