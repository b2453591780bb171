/** How a queue treats its jobs; the names and units are pg-boss's. */
export interface QueueOptions {
  /** Attempts after the first one. 0: a job runs at most once. */
  retryLimit: number;
  /** Seconds before the first retry; it doubles from there. */
  retryDelay?: number;
  retryDelayMax?: number;
  /** Seconds after which a job whose worker died is given to another. */
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

/** When a job is worked, and beside which others. Without any: at once. */
export interface JobOptions {
  startAfter?: Date;
  /** Jobs with the same key are worked one at a time, where the worker asks for it. */
  singletonKey?: string;
  /**
   * For somebody who waits: every worker that hears of the commit begins at once, with the data that the hint brings, and
   * the job itself comes a second later, to whatever nobody has begun by then. So the handler claims what it works on.
   */
  headStart?: boolean;
}

/** A job as its handler sees it; `attempt` counts from 1. */
export interface Job<Data> {
  readonly id: string;
  readonly data: Data;
  readonly attempt: number;
}

/** How a process works a queue. */
export interface WorkOptions {
  /** Jobs of this queue under way in this process at a time. */
  concurrency: number;
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
   * Gets ready to enqueue. Without it the first `enqueue` does so, and waits for a second connection while its
   * transaction holds one: where requests take every connection, that waits for nothing.
   */
  start(): Promise<void>;
  /** Works a queue. A handler that throws lets pg-boss retry the job as its queue says. */
  work<Data extends object>(
    queue: Queue<Data>,
    options: WorkOptions,
    handler: (job: Job<Data>) => Promise<void>,
  ): Promise<void>;
  /** Takes nothing new, waits up to `graceMs` for what runs, and ends. */
  stop(graceMs: number): Promise<void>;
}
