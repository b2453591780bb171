import assert from "node:assert/strict";
import { createDatabase, type Database, isDistributed } from "@collections/database";
import {
  caseSnapshot,
  type CaseSnapshot,
  type Confirmation,
  type ConfirmationOutcome,
  createConfirmer,
  importCases,
  type ImportRequest,
  type ImportResult,
  type OtpChannel,
} from "@collections/flows";
import {
  createCredentials,
  createKeyUses,
  createVault,
  type Credentials,
  type KeyUses,
  lenderById,
  lenderIds,
  type Vault,
} from "@collections/lenders";
import { createSignInKeys, type SignInKeys } from "@collections/field-partners";
import { type AnchorKeys, createAnchorKeys } from "@collections/ledger";
import { createMailer, createWhatsApp, type Mailer, type WhatsApp } from "@collections/messaging";
import { createOutbound, type Outbound, parseAllowList } from "@collections/outbound";
import { type Courier, endpointOf, type Ping, testEndpoint } from "@collections/webhooks";
import type { Logger } from "pino";
import { allowHostOf } from "./anchor-settings.ts";
import { createCourier, pingTo } from "./callbacks.ts";
import { type BodyMemory, createBodyMemory } from "./body-memory.ts";
import type { Config } from "./config.ts";
import type { Essentials } from "./local-data.ts";
import { masterKeysOf } from "./master-key.ts";
import { createMetrics, type Metrics } from "./metrics.ts";
import { createOtpChannels, messengerHosts } from "./otp-channels.ts";
import { createRateLimiter, type RateLimiter } from "./rate-limits/rate-limiter.ts";
import type { TestWebhook } from "./rest/v1/test-webhook.ts";
import { schemas } from "./schemas.ts";

/** The service, put together once per process: every part with plain constructors, handed on by name. */
export interface App {
  readonly config: Config;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly database: Database;
  /** Statements for several lenders share no transaction: the database has their rows on several nodes. */
  readonly oneLenderABatch: boolean;
  readonly vault: Vault;
  readonly credentials: Credentials;
  readonly keyUses: KeyUses;
  readonly rateLimiter: RateLimiter;
  readonly bodyMemory: BodyMemory;
  readonly outbound: Outbound;
  readonly courier: Courier;
  readonly mailer: Mailer;
  readonly whatsapp: WhatsApp;
  readonly signInKeys: SignInKeys;
  readonly anchorKeys: AnchorKeys;
  /** Reaches the address of `LEDGER_ANCHOR`, which may be private. */
  readonly anchorOutbound: Outbound;
  /** How codes for signing in reach a phone; none where only a sandbox's log shows them. */
  readonly otpChannels: readonly OtpChannel[];
  readonly confirmPayment: (confirmation: Confirmation) => Promise<ConfirmationOutcome>;
  readonly importCases: (request: ImportRequest) => Promise<ImportResult>;
  readonly caseSnapshot: (lenderId: string, loan: string) => Promise<CaseSnapshot | undefined>;
  /** A ping for a lender's callback, with an event id of its own. */
  readonly pingFor: (lenderId: string) => Promise<Ping>;
  readonly webhookTest: TestWebhook;
  /** Breaks off what still runs: whoever stops the process has given it its time before. */
  close(): Promise<void>;
}

export async function createApp(config: Config, given: Essentials, log: Logger): Promise<App> {
  const { environment } = config;
  const metrics = createMetrics();
  const database = await createDatabase({
    url: given.databaseUrl,
    directUrl: given.databaseDirectUrl,
    schemas,
    applicationName: `collections-${config.role}`,
    works: config.role !== "server",
    lenderIds,
    onError: (error) => log.warn({ error }, "fault in the background"),
  });
  await database.jobs.start();
  const oneLenderABatch = await isDistributed(database.em());
  const masterKeys = masterKeysOf(config, given);
  const vault = createVault(masterKeys);
  const credentials = createCredentials(() => database.em(), vault, { isDistributed: oneLenderABatch });
  const rateLimiter = createRateLimiter({ limits: config.rateLimits, em: () => database.em(), log });
  const outbound = createOutbound({ allow: config.outboundAllow });
  const messengerOutbound = createOutbound({ allow: parseAllowList(messengerHosts(config)) });
  const anchorOutbound = createAnchorOutbound(config);
  const whatsapp = createWhatsApp({ baseUrl: config.whatsappBaseUrl, outbound: messengerOutbound });
  const mailer = createMailer({ smtpUrl: config.smtpUrl, from: config.mailFrom });
  const courier = createCourier({ credentials, outbound, timeoutMs: config.webhookTimeoutMs });
  return {
    config,
    log,
    metrics,
    database,
    oneLenderABatch,
    vault,
    credentials,
    keyUses: createKeyUses(),
    rateLimiter,
    bodyMemory: createBodyMemory(),
    outbound,
    courier,
    mailer,
    whatsapp,
    signInKeys: createSignInKeys(masterKeys),
    anchorKeys: createAnchorKeys(masterKeys),
    anchorOutbound,
    otpChannels: createOtpChannels(config.otp, { whatsapp, outbound: messengerOutbound }),
    confirmPayment: createConfirmer({
      em: () => database.em(),
      environment,
      oneLenderABatch,
      onBatch: metrics.onBatch,
    }),
    importCases: (request) => importCases(database.em(), request, environment),
    caseSnapshot: (lenderId, loan) => caseSnapshot(database.em(), lenderId, loan),
    async pingFor(lenderId) {
      const lender = await lenderById(database.em(), lenderId);
      assert.ok(lender, "An endpoint belongs to a lender, and no lender is ever removed.");
      return pingTo(lender, environment);
    },
    webhookTest: {
      ping: (lender) => testEndpoint(database.em(), courier, pingTo(lender, environment)),
      endpoint: (lenderId) => endpointOf(database.em(), lenderId),
    },
    async close() {
      await rateLimiter.close();
      const doors = [mailer, outbound, messengerOutbound, anchorOutbound];
      await Promise.all(doors.map((door) => door.close({ graceMs: 0 })));
      await database.close();
    },
  };
}

function createAnchorOutbound({ ledgerAnchor }: Config): Outbound {
  const allow = ledgerAnchor?.kind === "address" ? allowHostOf(ledgerAnchor.url) : undefined;
  return createOutbound({ ...(allow && { allow }) });
}
