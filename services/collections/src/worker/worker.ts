import { collectionsLedger, pruneReconciliations } from "@collections/bookings";
import {
  type AlertDeps,
  eraseEndedCases,
  type LinkDeps,
  mintPaymentLink,
  mintPaymentLinkQueue,
  type OtpDeps,
  sendPaymentLink,
  sendOtp,
  sendPaymentLinkQueue,
  sendWebhookAlert,
  settlePromises,
  sweepPaymentLinks,
} from "@collections/flows";
import { forgetGoneCases, forgetQueuedRequests, keepRareStatuses } from "@collections/cases";
import { deleteExpired, otpQueue } from "@collections/field-partners";
import { listLenders, recordKeyUse, SealedValueError } from "@collections/lenders";
import { deleteEndedSessions } from "@collections/operators";
import { startWebhooks, type Webhooks } from "@collections/webhooks";
import { databaseTime, every, type FailedJobs, failedJobs, oneAfterAnother, transaction } from "@collections/database";
import { anchorChains, anchorStateOfAll } from "../anchors/chains.ts";
import { allowedForLinks } from "../settings/link-hosts.ts";
import type { App } from "../app.ts";
import { deleteOldRequests, writeRequests } from "@collections/request-log";
import { uploadQueue } from "../table-file/upload/upload-schema.ts";
import { deleteExpiredUploads } from "../table-file/upload/uploads.ts";
import { runLeftoverRequests } from "../mutation-results/queued-requests.ts";
import { keepReading } from "../metrics/kept-reading.ts";
import { runUpload } from "./run-upload.ts";
import { todayReading } from "./today-reading.ts";
import { KEPT, readingsOf } from "./webhook-readings.ts";

/** The background half of the service. */
export interface Worker {
  /** Starts no new work, finishes the running work, and resolves after `graceMs` at the latest. */
  stop(graceMs: number): Promise<void>;
}

/**
 * The maximum number of jobs of one queue that run at the same time. Jobs mostly wait for other systems, so many of
 * them can run. The maximum is high, so that a lender whose endpoint hangs does not occupy every slot.
 */
const MAX_LINK_JOBS = 128;
const MAX_OTP_JOBS = 32;
/** Each of these jobs has its file in memory. */
const MAX_UPLOAD_JOBS = 2;
const UPLOADS_EVERY_MS = 600_000;
const SWEEP_EVERY_MS = 15_000;
const CHAIN_EVERY_MS = 10_000;
const PROMISES_EVERY_MS = 60_000;
const FORGET_EVERY_MS = 3_600_000;
const RARE_STATUSES_EVERY_MS = 3_600_000;
const ERASE_RETRY_MS = 3_600_000;
const ERASE_AGAIN_AFTER_MS = 24 * 3_600_000;
const KEY_USES_EVERY_MS = 1_000;
const REQUESTS_EVERY_MS = 1_000;
/** How long stored reconciliations are kept. The database refuses to delete them earlier. */
const KEEP_RECONCILIATIONS_MS = 90 * 86_400_000;

/** Starts the webhooks, the job queues and the periodic work. */
export async function startWorker(app: App): Promise<Worker> {
  const { database, log } = app;
  const links = linkDeps(app);
  if (app.config.ledgerAnchor) app.metrics.ledger.watch(unanchoredSeconds(app));
  const webhooks = await webhooksOf(app);
  app.metrics.jobs.watch(failedJobsOf(app));
  app.metrics.webhooks.watch(readingsOf(app, webhooks));
  app.metrics.today.watch(todayReading(app));
  await Promise.all([
    database.jobs.work(mintPaymentLinkQueue, { concurrency: MAX_LINK_JOBS }, ({ data }) =>
      mintPaymentLink(links, data),
    ),
    database.jobs.work(sendPaymentLinkQueue, { concurrency: MAX_LINK_JOBS }, (job) => sendPaymentLink(links, job)),
    database.jobs.work(otpQueue, { concurrency: MAX_OTP_JOBS }, (job) => sendOtp(otpDeps(app), job)),
    database.jobs.work(uploadQueue, { concurrency: MAX_UPLOAD_JOBS }, (job) => runUpload(app, job)),
  ]);
  const stopping = new AbortController();
  const routines = [
    every(SWEEP_EVERY_MS, log, "sweep payment links", async () =>
      sweepPaymentLinks(links, await databaseTime(database.em())),
    ),
    every(PROMISES_EVERY_MS, log, "settle promises", async () =>
      settlePromises({ database, environment: app.config.environment, log }, await databaseTime(database.em())),
    ),
    every(UPLOADS_EVERY_MS, log, "delete expired uploads", () => deleteOldUploads(app)),
    every(CHAIN_EVERY_MS, log, "extend the hash chains", () => extendChains(app)),
    every(app.config.ledgerAnchorIntervalMs, log, "anchor the hash chains", () => anchorChains(app)),
    every(FORGET_EVERY_MS, log, "forget expired results", async () => {
      await transaction(database.em(), (tx) => deleteExpired(tx, new Date()));
      await transaction(database.em(), (tx) => deleteEndedSessions(tx, new Date()));
      await runLeftoverRequests(app);
      await transaction(database.em(), (tx) => forgetQueuedRequests(tx, new Date()));
      await transaction(database.em(), (tx) => forgetGoneCases(tx, new Date()));
      await pruneOldReconciliations(app, new Date());
      await forgetOldRequests(app, new Date());
    }),
    every(RARE_STATUSES_EVERY_MS, log, "list the cases with rare statuses", () => keepAllRareStatuses(app)),
    // A run that fails, for example because the database is away, is repeated after an hour.
    every(ERASE_RETRY_MS, log, "erase personal data", async () => {
      const erased = await eraseEndedCases(database.em(), await databaseTime(database.em()), stopping.signal);
      if (erased > 0) log.info({ erased }, "personal data of ended cases erased");
      return ERASE_AGAIN_AFTER_MS;
    }),
  ];
  return {
    async stop(graceMs) {
      stopping.abort();
      await Promise.all([
        webhooks.stop(graceMs),
        database.jobs.stop(graceMs),
        ...routines.map((routine) => routine.stop()),
      ]);
    },
  };
}

function webhooksOf(app: App): Promise<Webhooks> {
  const { database, outbound, webhookSender, pingFor, oneLenderABatch, metrics, config, log } = app;
  return startWebhooks({
    database,
    outbound,
    signingKeyOf: webhookSender.signingKeyOf,
    userAgent: webhookSender.userAgent,
    pingOf: pingFor,
    sendAlert: (job) => sendWebhookAlert(alertDeps(app), job),
    ladder: config.webhookLadder,
    // A lender's event takes the whole ladder after any failure, so that a suspended endpoint keeps its events.
    blockedAttempts: config.webhookLadder.length,
    suspension: {
      suspendAfter: config.webhookSuspendAfter,
      minDurationMs: config.webhookSuspendMinDurationMs,
      probeIntervalMs: config.webhookProbeIntervalMs,
    },
    timeoutMs: config.webhookTimeoutMs,
    oneLenderABatch,
    log,
    onAttempt: (facts) => metrics.webhooks.onAttempt(facts),
    onProbe: (facts) => metrics.webhooks.onProbe(facts),
  });
}

/** Extends the hash chain of every lender. A failure for one lender is logged, and the next lender follows. */
export async function extendChains({ database, log }: Pick<App, "database" | "log">): Promise<void> {
  for (const { id: lenderId } of await listLenders(database.em())) {
    try {
      const { blocks, head } = await collectionsLedger.extendChain(database.em(), lenderId, { now: new Date() });
      // Log the head of the chain: it proves which blocks existed, even if the newest blocks are deleted from the
      // database.
      if (blocks > 0) log.info({ lenderId, head }, "ledger chain extended");
    } catch (error) {
      log.warn({ lenderId, error }, "ledger chain not extended");
    }
  }
}

/** Deletes the stored reconciliations of all lenders that are older than 90 days. */
export async function pruneOldReconciliations({ database }: Pick<App, "database">, now: Date): Promise<void> {
  const before = new Date(now.getTime() - KEEP_RECONCILIATIONS_MS);
  await oneAfterAnother(database.em(), await listLenders(database.em()), async ({ id }) => {
    await pruneReconciliations(database.em(), id, before);
  });
}

/** Keeps the lists of cases with rare statuses of all lenders. */
export async function keepAllRareStatuses({ database }: Pick<App, "database">): Promise<void> {
  const now = await databaseTime(database.em());
  await oneAfterAnother(database.em(), await listLenders(database.em()), ({ id }) =>
    keepRareStatuses(database.em(), id, now),
  );
}

/** Deletes the logged requests of all lenders that are older than seven days. */
export async function forgetOldRequests({ database }: Pick<App, "database">, now: Date): Promise<void> {
  await oneAfterAnother(database.em(), await listLenders(database.em()), async ({ id }) => {
    while (await deleteOldRequests(database.em(), id, now));
  });
}

/** Deletes the uploaded files of all lenders that have expired. */
export async function deleteOldUploads({ database }: Pick<App, "database">): Promise<void> {
  const now = await databaseTime(database.em());
  await oneAfterAnother(database.em(), await listLenders(database.em()), ({ id }) =>
    transaction(database.em(), (tx) => deleteExpiredUploads(tx, id, now)),
  );
}

function unanchoredSeconds(app: App): () => Promise<number | undefined> {
  const onError = (error: unknown) => app.log.warn({ error }, "anchor metrics could not be read");
  const readState = keepReading(() => anchorStateOfAll(app), { ...KEPT, onError });
  return async () => {
    const state = await readState();
    return state && (state.unanchoredSince === null ? 0 : (Date.now() - state.unanchoredSince.getTime()) / 1_000);
  };
}

function failedJobsOf({ database, log }: App): () => Promise<FailedJobs[] | undefined> {
  const onError = (error: unknown) => log.warn({ error }, "metrics of jobs could not be read");
  return keepReading(() => failedJobs(database.em()), { ...KEPT, onError });
}

function linkDeps(app: App): LinkDeps {
  const { database, outbound, credentials, vault, mailer, whatsapp, metrics, log, config } = app;
  return {
    database,
    outbound,
    allow: allowedForLinks(config),
    credentials,
    vault,
    mailer,
    whatsapp,
    environment: config.environment,
    mintTimeoutMs: config.mintTimeoutMs,
    onMint: (outcome) => metrics.onMint(outcome),
    log,
  };
}

function alertDeps({ database, mailer, config, log }: App): AlertDeps {
  const { environment, webhookProbeIntervalMs: probeIntervalMs } = config;
  return { database, mailer, environment, probeIntervalMs, log };
}

function otpDeps({ database, signInKeys, otpChannels, config, log }: App): OtpDeps {
  return { database, keys: signInKeys, channels: otpChannels, showsCodes: config.isSandbox, log };
}

/**
 * Records every second which API keys this process has seen in use. The interval is short, because webhooks are signed
 * with a new key from its first use on.
 */
export function recordKeyUses(app: App) {
  return every(KEY_USES_EVERY_MS, app.log, "record the use of keys", async () => {
    const { database, keyUses } = app;
    await oneAfterAnother(database.em(), keyUses.take(), (use) =>
      transaction(database.em(), (tx) => recordKeyUse(tx, use)),
    );
  });
}

/** Returns a function that finds the lender of a key. A key whose secret cannot be decrypted has none. */
export function lenderOfKey({ credentials }: Pick<App, "credentials">) {
  return async (keyId: string): Promise<string | undefined> => {
    try {
      return (await credentials.byKeyId(keyId))?.lender.id;
    } catch (error) {
      if (error instanceof SealedValueError) return undefined;
      throw error;
    }
  };
}

/** Writes every second which requests this process has answered. `stop` writes the last ones. */
export function recordRequests(app: App) {
  const { database, requestLog, log } = app;
  const write = async () => {
    const leftOut = await writeRequests({ em: () => database.em(), requestLog, lenderIdOf: lenderOfKey(app) });
    if (leftOut > 0) log.debug({ leftOut }, "requests exceed the limits of the request log");
  };
  const routine = every(REQUESTS_EVERY_MS, log, "record requests", write);
  return {
    async stop(): Promise<void> {
      await routine.stop();
      await write().catch((error: unknown) => log.warn({ error }, "the last requests were not recorded"));
    },
  };
}
