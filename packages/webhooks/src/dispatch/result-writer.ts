import { setTimeout as wait } from "node:timers/promises";
import { isUnavailable, OverloadedError } from "@collections/database";

const RETRY_DELAY_MS = 250;
/** A transaction costs little more for so many results than for one; fewer wait so long for company. */
const FULL_BATCH = 128;
const GATHER_MS = 20;

export interface ResultWriterOptions<Item> {
  readonly write: (batch: readonly Item[]) => Promise<void>;
  /** Whether more items come soon for certain, so that a small batch had better wait for them. */
  readonly isBusy: () => boolean;
  /** Told of a batch that could not be written now, and of a single item that cannot be written at all. */
  readonly onError: (error: unknown, batch: readonly Item[]) => void;
  /** Called for items that are written, or given up. */
  readonly onDone: (batch: readonly Item[]) => void;
  /** Once aborted, what the database does not take at the first try is given up. */
  readonly giveUp: AbortSignal;
}

/** Writes in batches: while one batch is out, the next one gathers, for a moment longer when busy; no delay when idle. */
export class ResultWriter<Item> {
  readonly #options: ResultWriterOptions<Item>;
  #gathered: Item[] = [];
  #writing: Promise<void> | undefined;
  #endGathering = (): void => {};

  constructor(options: ResultWriterOptions<Item>) {
    this.#options = options;
  }

  add(item: Item): void {
    this.#gathered.push(item);
    if (this.#isEnough()) this.#endGathering();
    this.#writing ??= this.#writeAll().finally(() => {
      this.#writing = undefined;
    });
  }

  /** Resolves when all that was added is written or given up. */
  async flush(): Promise<void> {
    await this.#writing;
  }

  async #writeAll(): Promise<void> {
    while (this.#gathered.length > 0) {
      if (!this.#isEnough()) await this.#gather();
      const batch = this.#gathered;
      this.#gathered = [];
      await this.#write(batch);
      this.#options.onDone(batch);
    }
  }

  #isEnough(): boolean {
    return this.#gathered.length >= FULL_BATCH || !this.#options.isBusy();
  }

  async #gather(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, GATHER_MS);
    this.#endGathering = resolve;
    await promise;
    clearTimeout(timer);
  }

  /** Never rejects. While the database is away it tries on; a batch that it refuses is written one by one. */
  async #write(batch: readonly Item[]): Promise<void> {
    const { write, onError, giveUp } = this.#options;
    for (;;) {
      try {
        return await write(batch);
      } catch (error) {
        onError(error, batch);
        if (!isUnavailable(error) && !(error instanceof OverloadedError)) break;
        if (giveUp.aborted) return;
        await wait(RETRY_DELAY_MS, undefined, { signal: giveUp }).catch(() => {});
      }
    }
    if (batch.length > 1) for (const item of batch) await this.#write([item]);
  }
}
