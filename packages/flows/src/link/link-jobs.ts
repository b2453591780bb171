import { type Database, queue } from "@collections/database";
import type { Credentials, Vault } from "@collections/lenders";
import type { Mailer, WhatsApp } from "@collections/messaging";
import type { AllowList, Outbound } from "@collections/outbound";

/**
 * What the jobs of payment links work with.
 *
 * @example
 * const links: LinkDeps = {
 *   database, outbound, allow: parseAllowList(""), credentials, vault, mailer, whatsapp,
 *   environment: "live", mintTimeoutMs: 10_000,
 * };
 */
export interface LinkDeps {
  readonly database: Database;
  readonly outbound: Outbound;
  /** Hosts that a link may lead to although they are plain http or private: the operator's in a sandbox, else none. */
  readonly allow: AllowList;
  readonly credentials: Credentials;
  readonly vault: Vault;
  readonly mailer: Mailer;
  readonly whatsapp: WhatsApp;
  /** The deployment's name (contract: Health response, `env`). */
  readonly environment: string;
  /** For the whole exchange with the lender (contract: Limits, mint-link response time). */
  readonly mintTimeoutMs: number;
  readonly log?: LinkLog;
}

/** One line for each call that a job has made. */
export interface LinkLog {
  info(facts: object, message: string): void;
  warn(facts: object, message: string): void;
}

/** A link to mint. */
export interface MintJob {
  readonly lenderId: string;
  readonly linkId: string;
  /** The link's case, so that it is read at the same time; older processes have not told it. */
  readonly caseId?: string;
}

/** A link to send to the borrower, over one channel. */
export interface SendJob {
  readonly lenderId: string;
  readonly deliveryId: string;
}

/** A mint call whose end nobody recorded this long after its deadline has been lost with its process. */
export const MINT_LOST_AFTER_MS = 60_000;

/**
 * How long a database that is away is waited for to record what a call brought: it ends well before the call counts as
 * lost, so that a sweep does not say "unknown" of what somebody knows.
 */
export const RECORD_FOR_MS = 45_000;

/** A message whose end nobody recorded this long after it was started: longer than any channel takes. */
export const SEND_LOST_AFTER_MS = 90_000;

/**
 * Links to mint. A retry is only ever for what comes before the call: the claim makes sure that the call is made once.
 *
 * @example
 * await database.jobs.work(mintPaymentLinkQueue, { concurrency: 128 }, ({ data }) => mintPaymentLink(links, data));
 */
export const mintPaymentLinkQueue = queue<MintJob>("mint-payment-link", {
  retryLimit: 5,
  retryDelay: 1,
  retryDelayMax: 10,
  expireInSeconds: 90,
  deleteAfterSeconds: 3_600,
});

/** Attempts at a message that the channel refused for a passing reason: about 1, 2, 4 and 8 seconds apart. */
export const SEND_RETRIES = 4;

/**
 * Links to send, a job for each channel. Tried again where the channel would not take the message for a passing reason.
 *
 * @example
 * await database.jobs.work(sendPaymentLinkQueue, { concurrency: 128 }, (job) => sendPaymentLink(links, job));
 */
export const sendPaymentLinkQueue = queue<SendJob>("send-payment-link", {
  retryLimit: SEND_RETRIES,
  retryDelay: 1,
  retryDelayMax: 10,
  expireInSeconds: 100,
  deleteAfterSeconds: 3_600,
});
