import { type Database, type EntityManager, every, type Job, requireReady } from "@collections/database";
import { createDispatcher, pollIntervalOf } from "./dispatch/dispatcher.ts";
import { errorLog, type Log } from "./dispatch/log.ts";
import { retryDue, retryQueue, sweep } from "./dispatch/retry.ts";
import { releaseHeldBack } from "./endpoint/alert-held-back.ts";
import { alertExists, type AlertJob, alertQueue, withNewNames } from "./endpoint/alert.ts";
import { DEFAULT_TIMEOUT_MS } from "./endpoint/attempt.ts";
import { probeDue, type Prober } from "./endpoint/probe.ts";
import { DEFAULT_PROBE_INTERVAL_MS } from "./endpoint/suspension.ts";
import { advanceReplays } from "./replay/advance-replays.ts";
import { webhooksSchema } from "./schema.ts";
import { maintainPartitions } from "./storage/partitions.ts";
import { checkOptions, type WebhooksOptions } from "./webhooks-options.ts";

/** A retry job only updates one row, so few of them run at a time. */
const RETRIES_AT_A_TIME = 4;
/** An alert job mostly waits for the mail server, so many of them run at a time. */
const ALERTS_AT_A_TIME = 32;
/** The rate of a replay is per second, so a running replay takes a step each second. */
const REPLAY_STEP_MS = 1_000;
const SWEEP_EVERY_MS = 15_000;
const RELEASE_EVERY_MS = 60_000;
const PARTITIONS_EVERY_MS = 3_600_000;

type SendAlert = (job: Job<AlertJob>) => Promise<void>;

/** The webhooks of one process while they run. */
export interface Webhooks {
  /** Returns the number of attempts under way in this process, by tenant. */
  inFlight(): ReadonlyMap<string, number>;
  /**
   * Starts nothing new, and waits for attempts, jobs and routines that are under way. Aborts attempts and stops waiting for
   * jobs after `graceMs`.
   */
  stop(graceMs: number): Promise<void>;
}

/**
 * Runs everything that webhooks need in the background: delivers events, retries them, replaces lost retry jobs, probes
 * suspended endpoints, advances replays, mails alerts, and makes and drops partitions. Any number of processes may do this
 * for the same database. The database has to be opened with `works: true`. Before anything starts, the schema, the rights
 * of the role and the job queue are checked.
 * @throws InvalidWebhookOptionError, and NotReadyError, which names the call that makes the database ready
 *
 * @example
 * const webhooks = await startWebhooks({ database, outbound, signingKeyOf, pingOf });
 * process.once("SIGTERM", () => void webhooks.stop(10_000).then(() => database.close()));
 */
export async function startWebhooks(options: WebhooksOptions): Promise<Webhooks> {
  checkOptions(options);
  const { database, sendAlert, log = errorLog } = options;
  await requireReady(database, webhooksSchema, { works: true });
  const queues = await Promise.all([
    database.jobs.work(retryQueue, { concurrency: RETRIES_AT_A_TIME }, ({ data }) => retryDue(database.em(), data)),
    ...(sendAlert
      ? [database.jobs.work(alertQueue, { concurrency: ALERTS_AT_A_TIME }, alertSender(database, sendAlert))]
      : []),
  ]);
  const dispatcher = createDispatcher({ ...options, log });
  dispatcher.start();
  const routines = startRoutines(options, log);
  return {
    inFlight: () => dispatcher.inFlight(),
    async stop(graceMs) {
      await Promise.all([
        dispatcher.stop({ graceMs }),
        ...queues.map((queue) => queue.stop(graceMs)),
        ...routines.map((routine) => routine.stop()),
      ]);
    },
  };
}

function alertSender({ em }: Database, sendAlert: SendAlert): SendAlert {
  return async (job) => {
    const data = withNewNames(job.data);
    // A host enqueues a job with `to` for contacts that it has not reached. The tenant may have been erased since.
    if (data.to !== undefined && !(await alertExists(em(), data))) return;
    await sendAlert({ ...job, data });
  };
}

function startRoutines(options: WebhooksOptions, log: Log) {
  const { database, keepDays } = options;
  const prober = proberOf(options, log);
  const pollIntervalMs = pollIntervalOf(options);
  return [
    every(pollIntervalMs, log, "probe suspended endpoints", async () => {
      await probeDue(prober);
    }),
    every(pollIntervalMs, log, "advance replays", async () => {
      const sent = await advanceReplays(() => database.em());
      return sent > 0 ? REPLAY_STEP_MS : pollIntervalMs;
    }),
    every(SWEEP_EVERY_MS, log, "sweep webhooks", async () => {
      await sweep(database.em());
    }),
    every(RELEASE_EVERY_MS, log, "release alerts held back", async () => {
      await releaseHeldBack(database.em());
    }),
    every(PARTITIONS_EVERY_MS, log, "keep the partitions of webhooks", () =>
      runPartitionMaintenance(database.em(), keepDays, log),
    ),
  ];
}

function proberOf(options: WebhooksOptions, log: Log): Prober {
  const { database, outbound, signingKeyOf, pingOf, onProbe, suspension } = options;
  const { timeoutMs = DEFAULT_TIMEOUT_MS, now = () => new Date() } = options;
  return {
    em: () => database.em(),
    sender: {
      outbound,
      signingKeyOf,
      headersOf: options.headersOf,
      timeoutMs,
      now,
      headerPrefix: options.headerPrefix,
      userAgent: options.userAgent,
      standardHeaders: options.standardHeaders,
    },
    pingOf,
    probeIntervalMs: suspension?.probeIntervalMs ?? DEFAULT_PROBE_INTERVAL_MS,
    onProbe(probed) {
      log.info(probed, "webhook endpoint probed");
      onProbe?.(probed);
    },
  };
}

async function runPartitionMaintenance(em: EntityManager, keepDays: number | undefined, log: Log): Promise<void> {
  const kept = await maintainPartitions(em, keepDays === undefined ? {} : { keepDays });
  if (kept.isHeldUp) log.warn(kept, "webhook partitions are in use; the next attempt is in an hour");
  else if (kept.made + kept.dropped > 0) log.info(kept, "webhook partitions made and dropped");
}
