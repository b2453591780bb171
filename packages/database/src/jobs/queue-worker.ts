import { setTimeout as delay } from "node:timers/promises";
import type { Job, Queue } from "../queue.ts";
import type { Boss, FetchedJob } from "../boss.ts";

export interface QueueWorkerOptions {
  readonly boss: Boss;
  readonly queue: Queue;
  /** The maximum number of jobs that run at a time. */
  readonly concurrency: number;
  readonly handler: (job: Job<never>) => Promise<void>;
  readonly onError: (error: unknown) => void;
}

/**
 * Runs the jobs of one queue. Fetches as many jobs as may run, runs each one separately, and completes each one when it
 * ends. pg-boss's own workers are not used: such a worker takes one job per poll, or waits for the slowest job of a
 * batch, and each worker polls separately.
 */
export class QueueWorker {
  readonly #options: QueueWorkerOptions;
  readonly #running = new Set<Promise<void>>();
  #isHinted = false;
  #isStopped = false;
  #fetching: Promise<void> | undefined;

  constructor(options: QueueWorkerOptions) {
    this.#options = options;
  }

  /** Fetches jobs now, or as soon as fewer than `concurrency` jobs run. */
  wake(): void {
    this.#isHinted = true;
    this.#refill();
  }

  /**
   * Runs the handler for a job that a signal announced, if fewer than `concurrency` jobs run. If a fetch is under way,
   * the fetched jobs start first. The job itself stays in the queue and is fetched later, even if this run succeeds.
   */
  runEarly(job: Pick<Job<never>, "id" | "data">): void {
    const { concurrency, handler, onError } = this.#options;
    if (this.#fetching) {
      void this.#fetching.then(() => this.runEarly(job));
      return;
    }
    if (this.#isStopped || this.#running.size >= concurrency) return;
    this.#track(handler({ ...job, attempt: 1 }).catch(onError));
  }

  /** Fetches no more jobs. Resolves when the running jobs have ended, or after `graceMs`. */
  async stop(graceMs: number): Promise<void> {
    this.#isStopped = true;
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
      const jobs = await boss.fetch(queue.name, { batchSize: room, includeMetadata: true });
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

  /**
   * Runs a job and stores whether it succeeded. If the result cannot be stored, the job expires and runs again.
   * Handlers are idempotent.
   */
  async #settle(job: FetchedJob): Promise<void> {
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
