import type {
  CaseSnapshot,
  Confirmation,
  ConfirmationOutcome,
  ImportRequest,
  ImportResult,
  OtpChannel,
} from "@collections/flows";
import type { Database } from "@collections/database";
import type { SignInKeys } from "@collections/field-partners";
import type { AnchorKeys } from "@collections/ledger";
import type { Credentials, KeyUses, LenderProfile, Vault } from "@collections/lenders";
import type { Mailer, WhatsApp } from "@collections/messaging";
import type { Outbound } from "@collections/outbound";
import type { Courier, EndpointStatus, Ping, TestedDelivery } from "@collections/webhooks";
import type { Logger } from "pino";
import type { BodyMemory } from "./http/body-memory.ts";
import type { Metrics } from "./metrics/metrics.ts";
import type { RateLimiter } from "./http/rate-limiter.ts";
import type { Config } from "./settings/config.ts";

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

/** What a test of a lender's webhooks needs: to send the ping, and to tell how the endpoint is. */
export interface TestWebhook {
  ping(lender: LenderProfile): Promise<TestedDelivery>;
  endpoint(lenderId: string): Promise<EndpointStatus | undefined>;
}
