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
 * Names a queue. Queues are created by `migrate`, from the `queues` of each package's schema.
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

/** When a job runs, and which other jobs may not run at the same time. Without options it runs at once. */
export interface JobOptions {
  /** The earliest time at which the job runs. */
  startAfter?: Date;
  /** Jobs with the same key run one at a time if the worker asks for it. */
  singletonKey?: string;
  /**
   * Runs the job sooner, because somebody waits for its result. Each worker that receives the signal of the commit runs
   * the handler at once with the data from the signal. The job itself is fetched one second later. The handler may
   * therefore run several times, so it has to claim its work in the database before it begins.
   */
  headStart?: boolean;
}

/** A job as its handler receives it. `attempt` counts from 1. */
export interface Job<Data> {
  readonly id: string;
  readonly data: Data;
  readonly attempt: number;
}

/** How a process works a queue. */
export interface WorkOptions {
  /** The most jobs of this queue that run in this process at a time. */
  concurrency: number;
}

/** A queue that this process works. */
export interface WorkedQueue {
  /** Fetches no further jobs of this queue, and waits up to `graceMs` for its jobs under way. */
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
   * Prepares pg-boss for `enqueue`. Otherwise the first `enqueue` does so, and needs a second connection while its
   * transaction holds one. If such requests hold all connections of the pool, each waits for a connection that none
   * releases.
   */
  start(): Promise<void>;
  /**
   * Runs `handler` for the jobs of a queue. If it throws, pg-boss retries the job by the options of the queue. Returns a
   * handle that stops this queue alone.
   */
  work<Data extends object>(
    queue: Queue<Data>,
    options: WorkOptions,
    handler: (job: Job<Data>) => Promise<void>,
  ): Promise<WorkedQueue>;
  /** Fetches no more jobs and waits up to `graceMs` for those that run. */
  stop(graceMs: number): Promise<void>;
}
