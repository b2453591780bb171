import { enqueue, type Job, transaction } from "@collections/database";
import type { Database } from "@collections/entities";
import { lenderById } from "@collections/lenders";
import { type Mail, type Mailer, MailNotSentError } from "@collections/messaging";
import { type AlertJob, alertQueue, endpointOf } from "@collections/webhooks";
import { webhookAlertMail } from "./webhook-alert-mail.ts";

/** The dependencies of the alert job. */
export interface AlertDeps {
  readonly database: Database;
  readonly mailer: Mailer;
  /** The deployment's name (contract: Health response, `env`). */
  readonly environment: string;
  /** The time between two pings to a suspended endpoint. */
  readonly probeIntervalMs: number;
  readonly log?: { info(facts: object, message: string): void; warn(facts: object, message: string): void };
}

/**
 * The mail server did not accept the alert for any contact, for a temporary reason. This error is thrown so that the
 * job is retried.
 *
 * @example
 * await database.jobs.work(alertQueue, { concurrency: 32 }, (job) =>
 *   sendWebhookAlert(alerts, job).catch((error: unknown) => {
 *     if (error instanceof AlertNotAcceptedError) console.warn(`Will retry after ${error.code}`);
 *     throw error;
 *   }),
 * );
 */
export class AlertNotAcceptedError extends Error {
  override readonly name = "AlertNotAcceptedError";
  readonly code: string;

  constructor({ code, detail }: MailNotSentError) {
    super(detail);
    this.code = code;
  }
}

/** The delay of the job that retries only the contacts whose mail was not accepted. */
const LATER_SECONDS = 60;

/**
 * Runs a job of `alertQueue`: sends an alert to each technical contact of the lender in a separate mail, so that a
 * rejected address does not affect the others. A mail that is repeated after a crash has the same Message-ID. Throws
 * AlertNotAcceptedError for a temporary failure. contract: Retry and suspension
 *
 * @example
 * const alerts = { database, mailer, environment: "live", probeIntervalMs: 900_000 };
 * await database.jobs.work(alertQueue, { concurrency: 32 }, (job) => sendWebhookAlert(alerts, job));
 */
export async function sendWebhookAlert(deps: AlertDeps, { data, attempt }: Job<AlertJob>): Promise<void> {
  const { tenantId: lenderId, alertId, cause, raisedAt } = data;
  const facts = { lenderId, alertId, cause, raisedAt, attempt };

  // Read the contacts and the current state of the endpoint.
  const em = deps.database.em();
  const lender = (await lenderById(em, lenderId))!;
  const endpoint = (await endpointOf(em, lenderId))!;
  const contacts = lender.technicalContacts.filter((contact) => data.to?.includes(contact) ?? true);
  if (contacts.length === 0) {
    deps.log?.warn(facts, "webhook alert not sent: the lender has no technical contact to send the alert to");
    return;
  }

  // Send the mail, outside any transaction.
  const { environment, probeIntervalMs } = deps;
  const mail = webhookAlertMail({ ...data, environment, lender, endpoint, probeIntervalMs });
  const messageId = `webhook-alert:${alertId}:${raisedAt}`;
  const sendings = await Promise.all(contacts.map((to) => sendTo(deps.mailer, { ...mail, to, messageId })));
  for (const { to, fault } of sendings) {
    // Logs must not contain e-mail addresses, so the log has the contact's number in the lender's list of technical
    // contacts, counted from 1.
    const contact = lender.technicalContacts.indexOf(to) + 1;
    if (fault === null) deps.log?.info({ ...facts, contact }, "webhook alert");
    else deps.log?.warn({ ...facts, contact, code: fault.code, detail: fault.detail }, "webhook alert not sent");
  }

  // After temporary failures, a later job sends the mail to the remaining contacts only.
  const unsent = sendings.filter(({ fault }) => fault?.retryable);
  if (unsent.length === 0) return;
  if (unsent.length === contacts.length) throw new AlertNotAcceptedError(unsent[0]!.fault!);
  await transaction(deps.database.em(), (tx) =>
    enqueue(tx, alertQueue, { ...data, to: unsent.map(({ to }) => to) }, { startAfterSeconds: LATER_SECONDS }),
  );
}

interface Sending {
  readonly to: string;
  readonly fault: MailNotSentError | null;
}

async function sendTo(mailer: Mailer, mail: Mail & { to: string }): Promise<Sending> {
  try {
    await mailer.send(mail);
    return { to: mail.to, fault: null };
  } catch (error) {
    if (!(error instanceof MailNotSentError)) throw error;
    return { to: mail.to, fault: error };
  }
}
