/** How a queue treats its jobs. The names and units are those of pg-boss. */
export interface QueueOptions {
  /** The number of attempts after the first one. With 0, a job runs at most once. */
  retryLimit: number;
  /** Seconds before the first retry. The delay doubles with each further retry. */
  retryDelay?: number;
  retryDelayMax?: number;
  /** Seconds after which another worker gets a job whose worker died. */
  expireInSeconds: number;
  /** Seconds that a finished job is kept. */
  deleteAfterSeconds?: number;
}

/** A named queue and the shape of its jobs. */
export interface Queue<Data extends object = object> {
  readonly name: string;
  readonly options: QueueOptions;
  /** Never set: it only carries the type of the data. */
  readonly data?: Data;
}

/**
 * Declares a queue. `migrate` creates the queues that the packages list in the `queues` of their schemas.
 *
 * @example
 * const reminders = queue<{ invoiceId: string }>("billing.reminders", {
 *   retryLimit: 5,
 *   retryDelay: 30,
 *   expireInSeconds: 60,
 * });
 */
export function queue<Data extends object>(name: string, options: QueueOptions): Queue<Data> {
  return { name, options };
}

/** How soon a job runs. Without options it runs at once. */
export interface JobOptions {
  /** The earliest time at which the job runs. PostgreSQL's clock decides when it has come: take it from `databaseTime`. */
  startAfter?: Date;
  /** Runs the job this many seconds after now. PostgreSQL's clock measures them. */
  startAfterSeconds?: number;
  /**
   * pg-boss's `singletonKey`. It has no effect in queues that `migrate` creates, because they have pg-boss's standard
   * policy.
   */
  singletonKey?: string;
  /**
   * Gives the job a head start, because someone waits for its result. Each worker that receives the signal of the
   * commit runs the handler at once with the data from the signal. The job itself is fetched one second later. The
   * handler may therefore run several times, so it must claim its work in the database before it begins.
   */
  headStart?: boolean;
}

/** A job as its handler receives it. `attempt` counts from 1. */
export interface Job<Data> {
  readonly id: string;
  readonly data: Data;
  readonly attempt: number;
}

/** How a process runs the jobs of a queue. */
export interface WorkOptions {
  /** The maximum number of jobs of this queue that run in this process at a time. */
  concurrency: number;
}

/** A queue whose jobs this process runs. */
export interface WorkedQueue {
  /** Fetches no further jobs of this queue, and waits up to `graceMs` for its running jobs. */
  stop(graceMs: number): Promise<void>;
}

/**
 * The jobs of one process.
 *
 * @example
 * await database.jobs.work(reminders, { concurrency: 4 }, async ({ data, attempt }) => {
 *   console.log(`attempt ${attempt} to remind of ${data.invoiceId}`);
 * });
 * process.once("SIGTERM", () => void database.jobs.stop(10_000));
 */
export interface Jobs {
  /**
   * Prepares pg-boss for `enqueue`. Without this call, the first `enqueue` prepares pg-boss. For that it needs a second
   * connection, while its transaction already uses one. If such transactions use all connections of the pool, they wait
   * for each other.
   */
  start(): Promise<void>;
  /**
   * Runs `handler` for the jobs of a queue. If the handler throws, pg-boss retries the job as the options of the queue
   * say. Returns an object that can stop this queue alone.
   */
  work<Data extends object>(
    queue: Queue<Data>,
    options: WorkOptions,
    handler: (job: Job<Data>) => Promise<void>,
  ): Promise<WorkedQueue>;
  /** Fetches no more jobs, and waits up to `graceMs` for the running jobs. */
  stop(graceMs: number): Promise<void>;
}
