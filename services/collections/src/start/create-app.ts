import assert from "node:assert/strict";
import { isDistributed } from "@collections/database";
import { createDatabase } from "@collections/entities";
import { createSignInKeys } from "@collections/field-partners";
import { caseSnapshot, createConfirmer, importCases, reversePayment, testMintLink } from "@collections/flows";
import { createAnchorKeys } from "@collections/ledger";
import { createCredentials, createKeyUses, createVault, lenderById, lenderIds } from "@collections/lenders";
import { createMailer, createWhatsApp } from "@collections/messaging";
import {
  type AllowList,
  createOutbound,
  type Outbound,
  type OwnFaultAlarm,
  parseAllowList,
} from "@collections/outbound";
import { endpointOf, testEndpoint } from "@collections/webhooks";
import type { Logger } from "pino";
import type { App } from "../app.ts";
import { createBodyMemory } from "../http/body-memory.ts";
import { createMetrics } from "../metrics/metrics.ts";
import { createRateLimiter } from "../http/rate-limiter.ts";
import { createLenderSlots } from "../http/lender-slots.ts";
import { createRequestLog } from "@collections/request-log";
import { jobsSchema, schemas } from "../schemas.ts";
import { allowHostOf } from "../settings/anchor-settings.ts";
import type { Config } from "../settings/config.ts";
import type { Essentials } from "../settings/local-data.ts";
import { allowedForLinks } from "../settings/link-hosts.ts";
import { masterKeysOf } from "../settings/master-key.ts";
import { createPortalSecrets } from "../settings/portal-secrets.ts";
import { createWebhookSender, pingTo } from "../worker/callbacks.ts";
import { createOtpChannels, messengerHosts } from "./otp-channels.ts";

/** The maximum number of connections of this process to the database (docs/operations.md, Connections to PostgreSQL). */
const POOL_MAX = 16;
/**
 * The connections that no other work of this process can use. `confirm` is enough for all batches of confirmations that
 * run at a time. `access` reads API keys and counts requests, which each confirmation needs too.
 */
const SHARES = { confirm: 8, access: 2 };

/** How many reconciliations this process compares at a time, and how many stored ones it reads at a time. */
const MAX_RECONCILIATIONS = 2;

/** Creates the parts of the service, once per process, and connects to the database. */
export async function createApp(config: Config, given: Essentials, log: Logger): Promise<App> {
  const { environment } = config;
  const metrics = createMetrics();
  const database = await createDatabase({
    url: given.databaseUrl,
    directUrl: given.databaseDirectUrl,
    schemas,
    jobsSchema,
    poolMax: POOL_MAX,
    ...(config.databaseConnectionTimeoutMs !== undefined && {
      connectionTimeoutMs: config.databaseConnectionTimeoutMs,
    }),
    answerTimeoutMs: config.databaseAnswerTimeoutMs,
    shares: SHARES,
    applicationName: `collections-${config.role}`,
    works: config.role !== "server",
    lenderIds,
    onError: (error) => log.warn({ error }, "background error of the database"),
  });
  await database.jobs.start();
  const oneLenderABatch = await isDistributed(database.em());
  const masterKeys = masterKeysOf(config, given);
  const vault = createVault(masterKeys);
  const credentials = createCredentials(() => database.em("access"), vault, { isDistributed: oneLenderABatch });
  const rateLimiter = createRateLimiter({ limits: config.rateLimits, em: () => database.em("access"), log });
  const ownFaultAlarm = alarmIn(log);
  const outbound = createOutbound({ allow: config.outboundAllow, ownFaultAlarm });
  const messengerOutbound = createOutbound({ allow: parseAllowList(messengerHosts(config)), ownFaultAlarm });
  const anchorOutbound = createAnchorOutbound(config, ownFaultAlarm);
  const providerOutbound = createOutbound({ allow: allowedForProvider(config), ownFaultAlarm });
  const clients = [outbound, messengerOutbound, anchorOutbound, providerOutbound];
  metrics.outbound.watch(() => clients.flatMap((one) => one.ownFaults()));
  const whatsapp = createWhatsApp({ baseUrl: config.whatsappBaseUrl, outbound: messengerOutbound });
  const mailer = createMailer({ smtpUrl: config.smtpUrl, from: config.mailFrom });
  const webhookSender = createWebhookSender({ credentials, outbound, timeoutMs: config.webhookTimeoutMs });
  const mintSettings = { allow: allowedForLinks(config), mintTimeoutMs: config.mintTimeoutMs };
  return {
    config,
    log,
    metrics,
    database,
    oneLenderABatch,
    vault,
    credentials,
    keyUses: createKeyUses(),
    requestLog: createRequestLog(),
    rateLimiter,
    bodyMemory: createBodyMemory(),
    reconciliationSlots: {
      compare: createLenderSlots(MAX_RECONCILIATIONS, "reconciliation"),
      read: createLenderSlots(MAX_RECONCILIATIONS, "request for a stored reconciliation"),
    },
    outbound,
    webhookSender,
    mailer,
    whatsapp,
    signInKeys: createSignInKeys(masterKeys),
    anchorKeys: createAnchorKeys(masterKeys),
    anchorOutbound,
    providerOutbound,
    otpChannels: createOtpChannels(config.otp, { whatsapp, outbound: messengerOutbound }),
    confirmPayment: createConfirmer({
      em: () => database.em("confirm"),
      environment,
      oneLenderABatch,
      onBatch: metrics.onBatch,
    }),
    reversePayment: (request) => reversePayment(database.em(), request, environment),
    importCases: (request) => importCases(database.em(), request, environment),
    caseSnapshot: (lenderId, loan) => caseSnapshot(database.em(), lenderId, loan),
    async pingFor(lenderId) {
      const lender = await lenderById(database.em(), lenderId);
      assert.ok(lender, "The lender of the endpoint was not found, although lenders are never deleted.");
      return pingTo(lender, environment);
    },
    webhookTest: {
      ping: (lender) => testEndpoint(database.em(), webhookSender, pingTo(lender, environment)),
      endpoint: (lenderId) => endpointOf(database.em(), lenderId),
    },
    portalSecretsOf: createPortalSecrets(masterKeys),
    testMintLink: (test) => testMintLink({ database, outbound, credentials, vault, ...mintSettings }, test),
    async close() {
      await rateLimiter.close();
      await Promise.all([mailer, ...clients].map((client) => client.close({ graceMs: 0 })));
      await database.close();
    },
  };
}

/** Logs faults of our own DNS and network that last for a minute, and their end. */
function alarmIn(log: Logger): OwnFaultAlarm {
  return {
    onFault: ({ reason, systemCode, since, lastingMs }) =>
      log.error(
        { reason, systemCode, since, lastingMs: Math.round(lastingMs) },
        "requests to other hosts fail because of our own DNS or network",
      ),
    onEnd: ({ reason, since }) => log.info({ reason, since }, "our own DNS and network work again"),
  };
}

/** The provider's endpoints may be on other hosts than the issuer, which `OUTBOUND_ALLOW` names if they are private. */
function allowedForProvider({ consoleOidc, outboundAllow }: Config): AllowList {
  const issuer = consoleOidc && allowHostOf(consoleOidc.issuer);
  return { entries: [...outboundAllow.entries, ...(issuer?.entries ?? [])] };
}

function createAnchorOutbound({ ledgerAnchor }: Config, ownFaultAlarm: OwnFaultAlarm): Outbound {
  const allow = ledgerAnchor?.kind === "address" ? allowHostOf(ledgerAnchor.url) : undefined;
  return createOutbound({ ownFaultAlarm, ...(allow && { allow }) });
}
