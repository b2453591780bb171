import { queue } from "@collections/database";
import type { Database } from "@collections/entities";
import type { Credentials, Vault } from "@collections/lenders";
import type { Mailer, WhatsApp } from "@collections/messaging";
import type { AllowList, Outbound } from "@collections/outbound";

/**
 * The dependencies of the jobs of payment links.
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
  /** Hosts for which the URL of a link may be plain http or a private address. Empty outside a sandbox. */
  readonly allow: AllowList;
  readonly credentials: Credentials;
  readonly vault: Vault;
  readonly mailer: Mailer;
  readonly whatsapp: WhatsApp;
  /** The deployment's name (contract: Health response, `env`). */
  readonly environment: string;
  /** The time limit for a mint call, including the lender's answer (contract: Limits, mint-link response time). */
  readonly mintTimeoutMs: number;
  /** Receives how the mint call of a link ended: `minted`, or the reason why the link is unavailable. For metrics. */
  readonly onMint?: (outcome: string) => void;
  readonly log?: LinkLog;
}

/** The log of the jobs of payment links. Each call writes one line. */
export interface LinkLog {
  info(facts: object, message: string): void;
  warn(facts: object, message: string): void;
}

/** The data of a job that mints a link. */
export interface MintJob {
  readonly lenderId: string;
  readonly linkId: string;
  /**
   * The id of the link's case, so that the case can be read in parallel with the link. Absent in jobs of older
   * processes.
   */
  readonly caseId?: string;
}

/** The data of a job that sends a link to the borrower, over one channel. */
export interface SendJob {
  readonly lenderId: string;
  readonly deliveryId: string;
}

/**
 * A mint call without a recorded answer counts as lost this long after its deadline: the process that made it has died.
 */
export const MINT_LOST_AFTER_MS = 60_000;

/**
 * How long the recording of an answer is retried while the database is unavailable. The retries end well before the
 * call counts as lost. Otherwise a sweep could record `outcome_unknown` although a process knows the outcome.
 */
export const RECORD_FOR_MS = 45_000;

/** A message without a recorded result counts as lost this long after its start. No channel takes as long as this. */
export const SEND_LOST_AFTER_MS = 90_000;

/**
 * The queue of links to mint. A retry repeats only the steps before the mint call, because the claim ensures that the
 * call is made at most once.
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

/** How often a message is retried after a temporary failure of its channel, about 1, 2, 4 and 8 seconds apart. */
export const SEND_RETRIES = 4;

/**
 * The queue of links to send, with one job for each channel. A job is retried after a temporary failure of the channel.
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
