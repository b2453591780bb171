import { setTimeout as delay } from "node:timers/promises";
import type { JobWithMetadata, PgBoss } from "pg-boss";
import type { Job, Queue } from "../queue.ts";

export interface QueueWorkerOptions {
  readonly boss: PgBoss;
  readonly queue: Queue;
  /** Jobs under way at a time. */
  readonly concurrency: number;
  readonly handler: (job: Job<never>) => Promise<void>;
  readonly onError: (error: unknown) => void;
}

/** Retries and jobs for later are not signalled: how soon after their time they are found. */
const POLL_INTERVAL_MS = 500;

/**
 * Works the jobs of one queue: fetches as many as there is room for, runs each by itself and settles it when it ends.
 * (pg-boss's own workers take one job per poll, or wait for the slowest of a batch; and each of them polls.)
 */
export class QueueWorker {
  readonly #options: QueueWorkerOptions;
  readonly #running = new Set<Promise<void>>();
  #timer: NodeJS.Timeout | undefined;
  #isHinted = false;
  #isStopped = false;
  #fetching: Promise<void> | undefined;

  constructor(options: QueueWorkerOptions) {
    this.#options = options;
  }

  start(): void {
    this.#timer = setInterval(() => this.wake(), POLL_INTERVAL_MS);
    this.wake();
  }

  /** There may be jobs: looks now, or as soon as there is room. */
  wake(): void {
    this.#isHinted = true;
    this.#refill();
  }

  /**
   * Works a job that was only heard of, if there is room once it is known what a fetch under way brings; whatever becomes
   * of that, the job itself is still to come.
   */
  begin(job: Pick<Job<never>, "id" | "data">): void {
    const { concurrency, handler, onError } = this.#options;
    if (this.#fetching) {
      void this.#fetching.then(() => this.begin(job));
      return;
    }
    if (this.#isStopped || this.#running.size >= concurrency) return;
    this.#track(handler({ ...job, attempt: 1 }).catch(onError));
  }

  /** Takes nothing new and resolves when what runs has ended, after `graceMs` at the latest. */
  async stop(graceMs: number): Promise<void> {
    this.#isStopped = true;
    clearInterval(this.#timer);
    await this.#fetching;
    const ended = new AbortController();
    const grace = delay(graceMs, undefined, { signal: ended.signal }).catch(() => {});
    await Promise.race([Promise.all(this.#running), grace]);
    ended.abort();
  }

  #refill(): void {
    const room = this.#options.concurrency - this.#running.size;
    if (this.#isStopped || this.#fetching || !this.#isHinted || room <= 0) return;
    this.#isHinted = false;
    this.#fetching = this.#fetch(room).finally(() => {
      this.#fetching = undefined;
      this.#refill();
    });
  }

  async #fetch(room: number): Promise<void> {
    const { boss, queue, onError } = this.#options;
    try {
      const jobs = await boss.fetch<never>(queue.name, { batchSize: room, includeMetadata: true });
      if (jobs.length === room) this.#isHinted = true;
      for (const job of jobs) this.#track(this.#settle(job));
    } catch (error) {
      onError(error);
    }
  }

  #track(work: Promise<void>): void {
    const running = work.finally(() => {
      this.#running.delete(running);
      this.#refill();
    });
    this.#running.add(running);
  }

  /** A job whose end cannot be written comes back when its time is over: handlers are idempotent. */
  async #settle(job: JobWithMetadata<never>): Promise<void> {
    const { boss, queue, handler, onError } = this.#options;
    const attempt = { id: job.id, retryCount: job.retryCount };
    try {
      await handler({ id: job.id, data: job.data, attempt: job.retryCount + 1 });
      await boss.complete(queue.name, attempt);
    } catch (error) {
      onError(error);
      await boss.fail(queue.name, attempt, { message: String(error) }).catch(onError);
    }
  }
}
