import { type Job, signal, transaction, type Tx } from "@collections/database";
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
import { settleHeldReports } from "./record-message-reports.ts";
import { PAYMENT_LINK_CHANNEL } from "./payment-link-channel.ts";
import { prepareMessage, type ReadyMessage, sendMessage, type SendOutcome, type SendReport } from "./send-message.ts";
import { untilAvailable } from "./until-available.ts";

/**
 * The channel would not take the message now: thrown so that its job is tried again.
 *
 * @example
 * await database.jobs.work(sendPaymentLinkQueue, { concurrency: 128 }, (job) =>
 *   sendPaymentLink(links, job).catch((error: unknown) => {
 *     if (error instanceof MessageNotAcceptedError) console.warn(`Tried again after ${error.code}`);
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
 * Works a job of `sendPaymentLinkQueue`: brings a link to the borrower over one channel and records what came of it.
 * Where a process died in between, an e-mail is sent again under the same Message-ID; a WhatsApp message, which has no
 * such key, is never sent twice and is given up as unknown. Throws MessageNotAcceptedError for a fault that may pass.
 *
 * @example
 * await database.jobs.work(sendPaymentLinkQueue, { concurrency: 128 }, (job) => sendPaymentLink(links, job));
 */
export async function sendPaymentLink(deps: LinkDeps, { data, attempt }: Job<SendJob>): Promise<void> {
  const { lenderId, deliveryId: id } = data;
  const em = () => deps.database.em();

  // Read what goes to whom, before anything is promised.
  const known = await deliveryById(em(), { lenderId, id });
  if (known?.delivery.status !== "queued") return;
  const message = await prepareMessage(deps, known.link, known.delivery);

  // Claim the message; one that is settled, or that another job is at, is left alone.
  const lostAfterMs = SEND_LOST_AFTER_MS;
  const claim = await underCase(deps, known.link, (tx) => claimDelivery(tx, { lenderId, id, lostAfterMs }));
  if (claim.kind === "settled" || claim.kind === "busy") return;

  // Send it, outside any transaction.
  const mayHaveGone = known.delivery.startedAt !== null;
  const { report, mayPass } = await sendClaimed(claim, message, mayHaveGone);
  const facts = { lenderId, deliveryId: id, channel: claim.delivery.channel, attempt, ...report };
  deps.log?.[report.status === "failed" ? "warn" : "info"](facts, "link message");

  // What the channel would not take now, the next run of this job tries again.
  if (mayPass && attempt <= SEND_RETRIES) {
    await untilAvailable(RECORD_FOR_MS, () =>
      underCase(deps, claim.link, (tx) => releaseDelivery(tx, { lenderId, id })),
    );
    throw new MessageNotAcceptedError(claim.delivery, report);
  }

  // Record what came of it.
  await untilAvailable(RECORD_FOR_MS, () => recordSending(deps, claim.link, claim.delivery, report));

  // The channel's own reports may have been faster than this.
  const { providerMessageId } = report;
  if (claim.delivery.channel === "whatsapp" && providerMessageId !== undefined) {
    await untilAvailable(RECORD_FOR_MS, () => settleHeldReports(deps, lenderId, [providerMessageId]));
  }
}

async function sendClaimed(
  { kind, link }: Extract<DeliveryClaim, { link: PaymentLink }>,
  message: ReadyMessage | SendReport,
  mayHaveGone: boolean,
): Promise<SendOutcome> {
  if (kind === "lost") return { report: LOST, mayPass: false };
  if (!isLive(link)) return { report: { status: "suppressed", failureCode: LINK_NOT_LIVE }, mayPass: false };
  if (typeof message === "function") return sendMessage(message);
  return { report: mayHaveGone ? LOST : message, mayPass: false };
}

const LOST: SendReport = {
  status: "failed",
  failureCode: "OUTCOME_UNKNOWN",
  failureDetail: "The process that gave the message to the channel ended before it recorded the answer.",
};

/** The case before its links: everybody locks in this order. */
function underCase<Result>(
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
  await underCase(deps, of, async (tx, loan) => {
    const now = new Date();
    const { link, became, channels } = await recordDelivery(tx, { lenderId, id, ...report }, now);
    signal(tx, PAYMENT_LINK_CHANNEL, link.id);
    if (became === null) return;

    // The first channel that brings it, or the last one that does not, decides for the link: tell the lender.
    const happening =
      became === "sent"
        ? { kind: "payment_link.delivered" as const, data: { linkId: link.linkId, channels: [channel] } }
        : { kind: "payment_link.undelivered" as const, data: { linkId: link.linkId, channels } };
    const { code } = (await lenderById(tx, lenderId))!;
    const origin = { lenderCode: code, environment: deps.environment, now };
    await recordLoanEvents(tx, loan, { caseAfter: loan.worked, eventData: [happening] }, origin);
  });
}
