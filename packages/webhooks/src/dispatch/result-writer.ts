import { setTimeout as wait } from "node:timers/promises";
import { isUnavailable, OverloadedError } from "@collections/database";

const RETRY_DELAY_MS = 250;
/**
 * A batch of this size does not wait for more results. A transaction of 128 results costs little more than one of a
 * single result.
 */
const FULL_BATCH = 128;
/** How long a smaller batch waits for more results. */
const GATHER_MS = 20;

export interface ResultWriterOptions<Item> {
  readonly write: (batch: readonly Item[]) => Promise<void>;
  /** Whether more items are sure to come soon, so that a small batch waits for them. */
  readonly isBusy: () => boolean;
  /** Called for a batch that could not be written now, and for a single item that cannot be written at all. */
  readonly onError: (error: unknown, batch: readonly Item[]) => void;
  /** Called for items that are written, or that the writer gives up on. */
  readonly onDone: (batch: readonly Item[]) => void;
  /**
   * Aborted when the process ends and no longer waits for results to be written. Each batch is then tried at most once
   * more.
   */
  readonly abort: AbortSignal;
}

/**
 * Writes items in batches. Items that arrive while a batch is being written go into the next batch. While `isBusy`
 * returns true, a small batch waits a moment for more items. Otherwise there is no delay.
 */
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

  /** Resolves when all added items are written or given up. */
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

  /**
   * Never rejects. Retries while the database is unavailable. If PostgreSQL rejects a batch, writes its items one by
   * one.
   */
  async #write(batch: readonly Item[]): Promise<void> {
    const { write, onError, abort } = this.#options;
    for (;;) {
      try {
        return await write(batch);
      } catch (error) {
        onError(error, batch);
        if (!isUnavailable(error) && !(error instanceof OverloadedError)) break;
        if (abort.aborted) return;
        await wait(RETRY_DELAY_MS, undefined, { signal: abort }).catch(() => {});
      }
    }
    if (batch.length > 1) for (const item of batch) await this.#write([item]);
  }
}
