import { type Job, signal, transaction } from "@collections/database";
import type { Tx } from "@collections/entities";
import { lenderById } from "@collections/lenders";
import {
  claimDelivery,
  type DeliveryClaim,
  deliveryById,
  type DeliveryReport,
  isLive,
  LINK_NOT_LIVE,
  type LinkDelivery,
  type PaymentLink,
  recordDelivery,
  releaseDelivery,
} from "@collections/payment-links";
import { type LinkDeps, RECORD_FOR_MS, SEND_LOST_AFTER_MS, SEND_RETRIES, type SendJob } from "./link-jobs.ts";
import { type LockedLoan, lockLoan, recordLoanEvents } from "../case/lock-loan.ts";
import { applyHeldReports } from "./record-message-reports.ts";
import { PAYMENT_LINK_CHANNEL } from "./payment-link-channel.ts";
import { prepareMessage, type ReadyMessage, sendMessage, type SendOutcome, type SendReport } from "./send-message.ts";
import { untilAvailable } from "./until-available.ts";

/**
 * The channel did not accept the message, for a temporary reason. This error is thrown so that the job is retried.
 *
 * @example
 * await database.jobs.work(sendPaymentLinkQueue, { concurrency: 128 }, (job) =>
 *   sendPaymentLink(links, job).catch((error: unknown) => {
 *     if (error instanceof MessageNotAcceptedError) console.warn(`Will retry after ${error.code}`);
 *     throw error;
 *   }),
 * );
 */
export class MessageNotAcceptedError extends Error {
  override readonly name = "MessageNotAcceptedError";
  readonly code: string;

  constructor(
    { channel }: LinkDelivery,
    { failureCode = "", failureDetail = "" }: Pick<DeliveryReport, "failureCode" | "failureDetail">,
  ) {
    super(`${channel}: ${failureCode}. ${failureDetail}`);
    this.code = failureCode;
  }
}

/**
 * Runs a job of `sendPaymentLinkQueue`: sends a link to the borrower over one channel and records the result. If a
 * process died before it recorded the result, an e-mail is sent again with the same Message-ID. A WhatsApp message has
 * no such key, so it is not sent again, and its outcome is recorded as unknown. Throws MessageNotAcceptedError for a
 * temporary failure.
 *
 * @example
 * await database.jobs.work(sendPaymentLinkQueue, { concurrency: 128 }, (job) => sendPaymentLink(links, job));
 */
export async function sendPaymentLink(deps: LinkDeps, { data, attempt }: Job<SendJob>): Promise<void> {
  const { lenderId, deliveryId: id } = data;
  const em = () => deps.database.em();

  // Read the message and its recipient, before the claim.
  const known = await deliveryById(em(), { lenderId, id });
  if (known?.delivery.status !== "queued") return;
  const message = await prepareMessage(deps, known.link, known.delivery);

  // Claim the message. Do nothing if it is settled, or if another job is sending it.
  const lostAfterMs = SEND_LOST_AFTER_MS;
  const claim = await withLockedCase(deps, known.link, (tx) => claimDelivery(tx, { lenderId, id, lostAfterMs }));
  if (claim.kind === "settled" || claim.kind === "busy") return;

  // Send the message, outside any transaction.
  const mayHaveBeenSent = known.delivery.startedAt !== null;
  const { report, isTemporary } = await sendClaimed(claim, message, mayHaveBeenSent);
  const facts = { lenderId, deliveryId: id, channel: claim.delivery.channel, attempt, ...report };
  deps.log?.[report.status === "failed" ? "warn" : "info"](facts, "link message");

  // After a temporary failure, release the claim and let the job be retried.
  if (isTemporary && attempt <= SEND_RETRIES) {
    await untilAvailable(RECORD_FOR_MS, () =>
      withLockedCase(deps, claim.link, (tx) => releaseDelivery(tx, { lenderId, id })),
    );
    throw new MessageNotAcceptedError(claim.delivery, report);
  }

  // Record the result.
  await untilAvailable(RECORD_FOR_MS, () => recordSending(deps, claim.link, claim.delivery, report));

  // Apply the reports of the channel that arrived before the message id was stored.
  const { providerMessageId } = report;
  if (claim.delivery.channel === "whatsapp" && providerMessageId !== undefined) {
    await untilAvailable(RECORD_FOR_MS, () => applyHeldReports(deps, lenderId, [providerMessageId]));
  }
}

async function sendClaimed(
  { kind, link }: Extract<DeliveryClaim, { link: PaymentLink }>,
  message: ReadyMessage | SendReport,
  mayHaveBeenSent: boolean,
): Promise<SendOutcome> {
  if (kind === "lost") return { report: LOST, isTemporary: false };
  if (!isLive(link)) return { report: { status: "suppressed", failureCode: LINK_NOT_LIVE }, isTemporary: false };
  if (typeof message === "function") return sendMessage(message);
  return { report: mayHaveBeenSent ? LOST : message, isTemporary: false };
}

const LOST: SendReport = {
  status: "failed",
  failureCode: "OUTCOME_UNKNOWN",
  failureDetail: "The process that sent the message ended before it recorded the answer of the channel.",
};

/** Runs `work` in a transaction that has locked the link's case. All transactions lock a case before its links. */
function withLockedCase<Result>(
  { database }: LinkDeps,
  link: PaymentLink,
  work: (tx: Tx, loan: LockedLoan) => Promise<Result>,
): Promise<Result> {
  return transaction(database.em(), async (tx) => work(tx, await lockLoan(tx, link)));
}

async function recordSending(
  deps: LinkDeps,
  of: PaymentLink,
  { id, channel }: LinkDelivery,
  report: SendReport,
): Promise<void> {
  const { lenderId } = of;
  await withLockedCase(deps, of, async (tx, loan) => {
    const now = new Date();
    const { link, became, channels } = await recordDelivery(tx, { lenderId, id, ...report }, now);
    signal(tx, PAYMENT_LINK_CHANNEL, link.id);
    if (became === null) return;

    // Emit the event if the link became sent or undelivered.
    const newEvent =
      became === "sent"
        ? { kind: "payment_link.delivered" as const, data: { linkId: link.linkId, channels: [channel] } }
        : { kind: "payment_link.undelivered" as const, data: { linkId: link.linkId, channels } };
    const { code } = (await lenderById(tx, lenderId))!;
    const origin = { lenderCode: code, environment: deps.environment, now };
    await recordLoanEvents(tx, loan, { caseAfter: loan.worked, eventData: [newEvent] }, origin);
  });
}
