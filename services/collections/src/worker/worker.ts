import {
  type AlertDeps,
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
import { forgetGoneCases, forgetHeldRequests } from "@collections/cases";
import { forgetExpired, otpQueue } from "@collections/field-partners";
import { extendChain } from "@collections/ledger";
import { listLenders, recordKeyUse } from "@collections/lenders";
import {
  advanceReplays,
  alertQueue,
  createDispatcher,
  keepPartitions,
  probeDue,
  releaseHeldBack,
  retryDue,
  retryQueue,
  sweep,
} from "@collections/webhooks";
import { databaseTime, oneAfterAnother, transaction } from "@collections/database";
import { anchorChains, anchorStateOfAll } from "../anchors/chains.ts";
import type { App } from "../app.ts";
import { every } from "./every.ts";
import { workLeftWaiting } from "../mutation-results/held-requests.ts";
import { keepReading } from "../metrics/kept-reading.ts";
import { KEPT, readingsOf } from "./webhook-readings.ts";

/** The background half of the service. */
export interface Worker {
  /** Takes nothing new, finishes what runs, and resolves after `graceMs` at the latest. */
  stop(graceMs: number): Promise<void>;
}

/** They only wait for others: so many that a lender whose endpoint hangs does not take every place. */
const LINKS_AT_A_TIME = 128;
const ALERTS_AT_A_TIME = 32;
const OTPS_AT_A_TIME = 32;
/** Probes and replays are rows with a time: looked at so often, by every worker. */
const LOOK_EVERY_MS = 1_000;
/** On a cluster each look asks every shard: while nothing is due, workers look less often. */
const LOOK_EVERY_MS_ON_CLUSTER = 5_000;
const SWEEP_EVERY_MS = 15_000;
const RELEASE_EVERY_MS = 60_000;
const CHAIN_EVERY_MS = 10_000;
const PROMISES_EVERY_MS = 60_000;
const FORGET_EVERY_MS = 3_600_000;
const PARTITIONS_EVERY_MS = 3_600_000;

/** Works every job of the service, each on one line. */
export async function startWorker(app: App): Promise<Worker> {
  const { database, log } = app;
  const links = linkDeps(app);
  const dispatcher = createDispatcher({
    database,
    outbound: app.outbound,
    signingKeyOf: app.courier.signingKeyOf,
    ladder: app.config.webhookLadder,
    suspension: { suspendAfter: app.config.webhookSuspendAfter, probeIntervalMs: app.config.webhookProbeIntervalMs },
    timeoutMs: app.config.webhookTimeoutMs,
    oneLenderABatch: app.oneLenderABatch,
    log,
    onAttempt: (facts) => app.metrics.webhooks.onAttempt(facts),
  });
  app.metrics.webhooks.watch(readingsOf(app, dispatcher));
  if (app.config.ledgerAnchor) app.metrics.ledger.watch(unanchoredSeconds(app));
  dispatcher.start();
  await Promise.all([
    database.jobs.work(mintPaymentLinkQueue, { concurrency: LINKS_AT_A_TIME }, ({ data }) =>
      mintPaymentLink(links, data),
    ),
    database.jobs.work(sendPaymentLinkQueue, { concurrency: LINKS_AT_A_TIME }, (job) => sendPaymentLink(links, job)),
    database.jobs.work(retryQueue, { concurrency: 4 }, ({ data }) => retryDue(database.em(), data)),
    database.jobs.work(alertQueue, { concurrency: ALERTS_AT_A_TIME }, (job) => sendWebhookAlert(alertDeps(app), job)),
    database.jobs.work(otpQueue, { concurrency: OTPS_AT_A_TIME }, (job) => sendOtp(otpDeps(app), job)),
  ]);
  const lookEveryMs = app.oneLenderABatch ? LOOK_EVERY_MS_ON_CLUSTER : LOOK_EVERY_MS;
  const routines = [
    every(lookEveryMs, log, "probe suspended endpoints", () => probeSuspended(app)),
    every(lookEveryMs, log, "advance replays", async () => {
      const sent = await advanceReplays(() => database.em());
      return sent > 0 ? LOOK_EVERY_MS : lookEveryMs;
    }),
    every(SWEEP_EVERY_MS, log, "sweep webhooks", async () => {
      await sweep(database.em());
    }),
    every(RELEASE_EVERY_MS, log, "release alerts held back", async () => {
      await releaseHeldBack(database.em());
    }),
    every(SWEEP_EVERY_MS, log, "sweep payment links", async () =>
      sweepPaymentLinks(links, await databaseTime(database.em())),
    ),
    every(PROMISES_EVERY_MS, log, "settle promises", async () =>
      settlePromises({ database, environment: app.config.environment, log }, await databaseTime(database.em())),
    ),
    every(CHAIN_EVERY_MS, log, "extend the hash chains", () => extendChains(app)),
    every(app.config.ledgerAnchorIntervalMs, log, "anchor the hash chains", () => anchorChains(app)),
    every(FORGET_EVERY_MS, log, "forget expired results", async () => {
      await transaction(database.em(), (tx) => forgetExpired(tx, new Date()));
      await workLeftWaiting(app);
      await transaction(database.em(), (tx) => forgetHeldRequests(tx, new Date()));
      await transaction(database.em(), (tx) => forgetGoneCases(tx, new Date()));
    }),
    every(PARTITIONS_EVERY_MS, log, "keep the partitions of webhooks", () => keepWebhookPartitions(app)),
  ];
  return {
    async stop(graceMs) {
      await Promise.all([
        dispatcher.stop({ graceMs }),
        database.jobs.stop(graceMs),
        ...routines.map((routine) => routine.stop()),
      ]);
    },
  };
}

async function probeSuspended({ database, courier, pingFor, config, metrics, log }: App): Promise<void> {
  await probeDue({
    em: () => database.em(),
    courier,
    pingOf: pingFor,
    probeIntervalMs: config.webhookProbeIntervalMs,
    onProbe: (probed) => {
      log.info(probed, "webhook endpoint probed");
      metrics.webhooks.onProbe(probed);
    },
  });
}

async function keepWebhookPartitions({ database, log }: App): Promise<void> {
  const kept = await keepPartitions(database.em());
  if (kept.isHeldUp) log.warn(kept, "webhook partitions are in use: tried again in an hour");
  else if (kept.made + kept.dropped > 0) log.info(kept, "webhook partitions made and dropped");
}

/** Extends the chain of every lender: one that cannot be extended holds up no other. */
export async function extendChains({ database, log }: Pick<App, "database" | "log">): Promise<void> {
  for (const { id: lenderId } of await listLenders(database.em())) {
    try {
      const { blocks, head } = await extendChain(database.em(), lenderId, { now: new Date() });
      // Outside the database the head proves what was there, also if the newest blocks should vanish.
      if (blocks > 0) log.info({ lenderId, head }, "ledger chain extended");
    } catch (error) {
      log.warn({ lenderId, error }, "ledger chain not extended");
    }
  }
}

function unanchoredSeconds(app: App): () => Promise<number | undefined> {
  const onError = (error: unknown) => app.log.warn({ error }, "metrics of anchors not read");
  const readState = keepReading(() => anchorStateOfAll(app), { ...KEPT, onError });
  return async () => {
    const state = await readState();
    return state && (state.unanchoredSince === null ? 0 : (Date.now() - state.unanchoredSince.getTime()) / 1_000);
  };
}

function linkDeps(app: App): LinkDeps {
  const { database, outbound, credentials, vault, mailer, whatsapp, log, config } = app;
  return {
    database,
    outbound,
    // Borrowers open these links: outside a sandbox OUTBOUND_ALLOW opens hosts for our own calls only.
    allow: config.isSandbox ? config.outboundAllow : { entries: [] },
    credentials,
    vault,
    mailer,
    whatsapp,
    environment: config.environment,
    mintTimeoutMs: config.mintTimeoutMs,
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

/** Writes down which keys were used; in the process that saw them. A first use moves webhooks to the key, hence so soon. */
export function recordKeyUses(app: App) {
  return every(LOOK_EVERY_MS, app.log, "record the use of keys", async () => {
    const { database, keyUses } = app;
    await oneAfterAnother(database.em(), keyUses.take(), (use) =>
      transaction(database.em(), (tx) => recordKeyUse(tx, use)),
    );
  });
}
