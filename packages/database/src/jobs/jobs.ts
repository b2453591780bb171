import type { EntityManager } from "../transaction/entity-manager.ts";
import { hash } from "node:crypto";
import type { Pool } from "pg";
import { forHost } from "../transaction/host-client.ts";
import { isDistributed } from "../transaction/is-distributed.ts";
import { databaseOf } from "../transaction/open-database.ts";
import { type Boss, newBoss } from "../boss.ts";
import { acceptingNewer } from "./boss-schema.ts";
import { inJobsSchema, jobsChannel } from "./jobs-schema.ts";
import { JOB_COMMIT_TABLE } from "./job-commit-table.ts";
import type { JobOptions, Jobs, Queue } from "../queue.ts";
import { QueueWorker } from "./queue-worker.ts";
import type { Signals } from "../transaction/signals.ts";
import { type ForeignStatement, statement } from "../sql/statement.ts";
import { query, send, signal, type Tx } from "../transaction/transaction.ts";
import { every, type Routine } from "./every.ts";

const commitWithJob = statement("jobs.commit-with-job", `delete from ${JOB_COMMIT_TABLE}`);

/**
 * Selects the queues that have a job to fetch. Without this query, each poll of an idle process would send a query for every
 * queue.
 */
const selectDue = statement(
  "jobs.due-queues",
  `select q.name from unnest($1::text[]) as q (name)
   where exists (
     select from pgboss.job j where j.name = q.name and j.state < 'active' and j.start_after < now() limit 1
   )`,
);
/** Retries and delayed jobs send no signal, so workers also poll for them. */
const POLL_INTERVAL_MS = 500;

const SIGNAL_CHANNEL = "jobs";
const HEAD_START_CHANNEL = "jobs-at-once";
/**
 * Seconds until workers may fetch a job with a head start from the queue. PostgreSQL's clock measures the time, because
 * the clock of the process may be wrong.
 */
const HEAD_START_SECONDS = 1;

/**
 * Writes a job in the transaction of the change that causes it. The job is invisible before the commit and removed by a
 * rollback. A worker fetches it milliseconds after the commit.
 *
 * @example
 * await transaction(em, async (tx) => {
 *   send(tx, insertInvoice, [invoiceId, 250000n]);
 *   await enqueue(tx, reminders, { invoiceId }, { startAfter: dueAt });
 * });
 */
export async function enqueue<Data extends object>(
  tx: Tx,
  queue: Queue<Data>,
  data: Data,
  { headStart = false, startAfterSeconds, ...options }: JobOptions = {},
): Promise<void> {
  const { boss: started, jobsSchema } = databaseOf(tx);
  const boss = await started();
  const seconds = headStart ? HEAD_START_SECONDS : startAfterSeconds;
  const later = seconds === undefined ? {} : { startAfter: seconds };
  if (await isDistributed(tx)) send(tx, commitWithJob, []);
  const id = await boss.send(queue.name, data, { ...options, ...later, db: executorIn(tx) });
  if (id === null) throw new Error(`pg-boss refused a job for ${queue.name}.`);
  if (headStart)
    signal(tx, jobsChannel(HEAD_START_CHANNEL, jobsSchema), JSON.stringify({ name: queue.name, id, data }));
  else if (!options.startAfter && seconds === undefined)
    signal(tx, jobsChannel(SIGNAL_CHANNEL, jobsSchema), queue.name);
}

/**
 * Writes many jobs in the transaction of the change, in one statement. Use it for jobs that start later, because it
 * does not signal the workers. On a cluster, a crash during the commit may lose the jobs, so a sweep must find the work
 * whose job was lost.
 *
 * @example
 * const jobs = invoiceIds.map((invoiceId) => ({ data: { invoiceId }, startAfter: dueAt }));
 * await transaction(em, (tx) => enqueueAll(tx, reminders, jobs));
 */
export async function enqueueAll<Data extends object>(
  tx: Tx,
  queue: Queue<Data>,
  jobs: readonly { readonly data: Data; readonly startAfter: Date }[],
): Promise<void> {
  if (jobs.length === 0) return;
  const boss = await databaseOf(tx).boss();
  await boss.insert(queue.name, [...jobs], { db: executorIn(tx) });
}

interface BossOptions {
  readonly pool: Pool;
  readonly jobsSchema: string;
  readonly works: boolean;
  readonly onError: (error: unknown) => void;
}

/**
 * Makes and starts the pg-boss object of a process. If `works` is true, the process also maintains the tables of pg-boss.
 */
export async function startBoss({ pool, jobsSchema, works, onError }: BossOptions): Promise<Boss> {
  const boss = await newBoss({
    // forHost() makes the query safe for the pool of a host.
    db: acceptingNewer((text, values) => pool.query(forHost(text, values)), jobsSchema),
    schema: jobsSchema,
    migrate: false,
    createSchema: false,
    supervise: works,
    schedule: works,
    superviseIntervalSeconds: 10,
    monitorIntervalSeconds: 10,
  });
  boss.on("error", onError);
  try {
    await boss.start();
    return boss;
  } catch (error) {
    // pg-boss does not name the schema.
    if ((error as Error).message !== "pg-boss is not installed") throw error;
    const call = `migrate({ url, schemas, jobs: true, jobsSchema: "${jobsSchema}" })`;
    throw new Error(`pg-boss is not installed in the schema ${jobsSchema}. Install it first: ${call}.`, {
      cause: error,
    });
  }
}

/** The connections of the jobs of a process, and where its errors go. */
export interface JobsOptions {
  readonly boss: () => Promise<Boss>;
  /** Returns an EntityManager for the polls. */
  readonly em: () => EntityManager;
  readonly signals: Signals;
  readonly jobsSchema: string;
  readonly onError: (error: unknown) => void;
}

/** Makes the jobs of a process. */
export function createJobs({ boss, em, signals, jobsSchema, onError }: JobsOptions): Jobs {
  const workers = new Map<string, QueueWorker>();
  let polls: Routine | undefined;
  signals.on(
    jobsChannel(SIGNAL_CHANNEL, jobsSchema),
    (name) => workers.get(name)?.wake(),
    () => {
      for (const worker of workers.values()) worker.wake();
    },
  );
  signals.on(jobsChannel(HEAD_START_CHANNEL, jobsSchema), (payload) => {
    const { name, ...job } = JSON.parse(payload) as { name: string; id: string; data: never };
    workers.get(name)?.runEarly(job);
  });

  async function wakeDue(): Promise<void> {
    const on = em();
    const due = await query<{ name: string }>(on, inJobsSchema(on, selectDue), [[...workers.keys()]]);
    for (const { name } of due) workers.get(name)?.wake();
  }

  return {
    async start() {
      await boss();
    },
    async work(queue, { concurrency }, handler) {
      const started = await boss();
      const worker = new QueueWorker({ boss: started, queue, concurrency, handler, onError });
      workers.set(queue.name, worker);
      worker.wake();
      polls ??= every(
        POLL_INTERVAL_MS,
        { warn: ({ error }: { error?: unknown }) => onError(error) },
        "poll for jobs",
        wakeDue,
      );
      return worker;
    },
    async stop(graceMs) {
      await Promise.all([polls?.stop(), ...[...workers.values()].map((worker) => worker.stop(graceMs))]);
    },
  };
}

/**
 * Returns an executor that sends pg-boss's SQL in the transaction. It uses prepared statements, because the text of
 * pg-boss's INSERT is long and always the same.
 */
function executorIn(tx: Tx) {
  return {
    async executeSql(text: string, values: readonly unknown[] = []) {
      return { rows: await query<object>(tx, statementOf(text), values) };
    },
  };
}

const statements = new Map<string, ForeignStatement>();

/** Returns the statement of an SQL text of pg-boss. The texts differ only between queues, so there are few of them. */
function statementOf(text: string): ForeignStatement {
  const known = statements.get(text) ?? { ...statement(`jobs.${hash("sha1", text)}`, text), isForeign: true };
  statements.set(text, known);
  return known;
}
