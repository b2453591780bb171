import type {
  CaseSnapshot,
  Confirmation,
  ConfirmationOutcome,
  ImportRequest,
  ImportResult,
  MintLinkTest,
  MintLinkTestOutcome,
  OtpChannel,
  ReversalOutcome,
  ReversalRequest,
} from "@collections/flows";
import type { Database } from "@collections/entities";
import type { SignInKeys } from "@collections/field-partners";
import type { AnchorKeys } from "@collections/ledger";
import type { Credentials, KeyUses, LenderProfile, Vault } from "@collections/lenders";
import type { Mailer, WhatsApp } from "@collections/messaging";
import type { Outbound } from "@collections/outbound";
import type { EndpointStatus, Ping, TestedDelivery, WebhookSender } from "@collections/webhooks";
import type { Logger } from "pino";
import type { Answer } from "./http/answer.ts";
import type { BodyMemory } from "./http/body-memory.ts";
import type { Metrics } from "./metrics/metrics.ts";
import type { RateLimiter } from "./http/rate-limiter.ts";
import type { RequestLog } from "@collections/request-log";
import type { LenderSlots } from "./http/lender-slots.ts";
import type { Config } from "./settings/config.ts";

/** The parts of the service, created once per process. A function lists in its first parameter the parts that it uses. */
export interface App {
  readonly config: Config;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly database: Database;
  /**
   * True on a cluster, where the rows of different lenders are on different nodes. A batch of payments then has
   * payments of only one lender.
   */
  readonly oneLenderABatch: boolean;
  readonly vault: Vault;
  readonly credentials: Credentials;
  readonly keyUses: KeyUses;
  readonly requestLog: RequestLog;
  readonly rateLimiter: RateLimiter;
  readonly bodyMemory: BodyMemory;
  /** Slots for requests that compare payments, and for requests that read a stored comparison. */
  readonly reconciliationSlots: { readonly compare: LenderSlots<Answer>; readonly read: LenderSlots<Answer> };
  readonly outbound: Outbound;
  readonly webhookSender: WebhookSender;
  readonly mailer: Mailer;
  readonly whatsapp: WhatsApp;
  readonly signInKeys: SignInKeys;
  readonly anchorKeys: AnchorKeys;
  /** Makes requests to the address of `LEDGER_ANCHOR`, which may be private. */
  readonly anchorOutbound: Outbound;
  /** Makes requests to the provider of `CONSOLE_OIDC_ISSUER`, whose host may be private. */
  readonly providerOutbound: Outbound;
  /**
   * Channels that send sign-in codes; empty if none is set up. A sandbox without channels writes the codes to its log,
   * and a production without channels refuses requests for codes.
   */
  readonly otpChannels: readonly OtpChannel[];
  readonly confirmPayment: (confirmation: Confirmation) => Promise<ConfirmationOutcome>;
  readonly reversePayment: (request: ReversalRequest) => Promise<ReversalOutcome>;
  readonly importCases: (request: ImportRequest) => Promise<ImportResult>;
  readonly caseSnapshot: (lenderId: string, loan: string) => Promise<CaseSnapshot | undefined>;
  /** Makes a ping for a lender's callback, with a new event id. */
  readonly pingFor: (lenderId: string) => Promise<Ping>;
  readonly webhookTest: TestWebhook;
  /** Derives the secrets of a portal link from the id of the request that asks for it. */
  readonly portalSecretsOf: (requestId: string) => readonly string[];
  readonly testMintLink: (test: MintLinkTest) => Promise<MintLinkTestOutcome>;
  /** Aborts everything that still runs. Finish running requests and jobs before you call this. */
  close(): Promise<void>;
}

/** Sends a ping to a lender's endpoint, and reads the state of the endpoint. */
export interface TestWebhook {
  ping(lender: LenderProfile): Promise<TestedDelivery>;
  endpoint(lenderId: string): Promise<EndpointStatus | undefined>;
}
