import assert from "node:assert/strict";
import { paymentsOf } from "@collections/bookings";
import { caseById, transition } from "@collections/cases";
import { databaseTime, enqueue, publicId, signal, transaction } from "@collections/database";
import type { Tx } from "@collections/entities";
import { lenderById } from "@collections/lenders";
import { toWire } from "@collections/money";
import {
  type Channel,
  type ChannelFacts,
  createDeliveries,
  deliveriesOf,
  lockLinksOfCase,
  type MintAnswer,
  type MintedLink,
  type PaymentLink,
  recordMinted,
  recordUnavailable,
} from "@collections/payment-links";
import { channelFacts } from "./channel-facts.ts";
import type { EventOrigin } from "../case/event.ts";
import { type LinkDeps, MINT_LOST_AFTER_MS, sendPaymentLinkQueue } from "./link-jobs.ts";
import { type LoanEventData, type LockedLoan, lockLoan, recordLoanEvents } from "../case/lock-loan.ts";
import { PAYMENT_LINK_CHANNEL } from "./payment-link-channel.ts";

/**
 * Records the answer to a mint call, creates the messages to send, and emits the events. A link that is already settled
 * (its status is no longer `requested`) gets no messages and no events.
 */
export async function recordMint(
  { database, environment, onMint }: Pick<LinkDeps, "database" | "environment" | "onMint">,
  link: PaymentLink,
  answer: MintAnswer,
): Promise<void> {
  const { lenderId, caseId } = link;
  await transaction(database.em(), async (tx) => {
    // Lock the case before its links, as all transactions do. The messages are created with the database's time,
    // because the send jobs compute their age by that clock.
    const [loan, theCase, lender, now] = await Promise.all([
      lockLoan(tx, { lenderId, caseId }),
      caseById(tx, { lenderId, caseId }),
      lenderById(tx, lenderId),
      databaseTime(tx),
    ]);
    const origin = { lenderCode: lender!.code, environment, now };
    const facts = channelFacts(theCase!, lender!);
    if ("minted" in answer) await recordLink(tx, loan, link, { ...answer, facts }, origin);
    else await recordNoLink(tx, loan, link, answer, origin);
  });
  onMint?.("minted" in answer ? "minted" : answer.unavailable);
}

/**
 * Makes a link unavailable if the process that claimed its mint call did not record an answer in time. The lender may
 * or may not have minted the link, so the call is never repeated.
 */
export async function settleLostMint(deps: LinkDeps, link: PaymentLink, now: Date): Promise<void> {
  assert(link.mintStartedAt, "a mint call that counts as lost has started");
  if (now.getTime() < link.mintStartedAt.getTime() + deps.mintTimeoutMs + MINT_LOST_AFTER_MS) return;
  const detail = "The process that called the lender ended before it recorded the answer.";
  await recordMint(deps, link, { unavailable: "outcome_unknown", detail });
}

async function recordLink(
  tx: Tx,
  loan: LockedLoan,
  requested: PaymentLink,
  { minted, facts }: { minted: MintedLink; facts: Record<Channel, ChannelFacts> },
  origin: EventOrigin,
): Promise<void> {
  const { now } = origin;

  // The new link supersedes the live link of the case.
  const [paidAt, links] = await Promise.all([paidBefore(tx, requested, minted), lockLinksOfCase(tx, requested)]);
  const { link, changed, superseded, sameLinkId } = recordMinted(tx, links, { ...minted, paidAt }, now);
  for (const { id } of superseded ? [link, superseded] : [link]) signal(tx, PAYMENT_LINK_CHANNEL, id);
  if (!changed) return;

  // Record on the case that the field partner has begun to work on it.
  const verdict = transition(loan.worked, { kind: "create_link" }, now);
  assert(verdict.allowed, "the trigger create_link is allowed in every state");

  // Create the messages, except messages that were already sent for an earlier request with the same link.
  const earlier = await deliveriesOf(tx, sameLinkId);
  const { deliveries, undelivered } = createDeliveries(tx, link, facts, now, { earlier });
  for (const { lenderId, id, status } of deliveries) {
    if (status === "queued") await enqueue(tx, sendPaymentLinkQueue, { lenderId, deliveryId: id });
  }

  // Emit the events.
  const { linkId, channels, visitId, amountMinor, currency } = link;
  const amount = toWire(amountMinor, currency);
  const eventData: LoanEventData[] = [
    { kind: "payment_link.created", data: { visitId: publicId("vis", visitId), linkId, amount } },
  ];
  if (undelivered) eventData.push({ kind: "payment_link.undelivered", data: { linkId, channels } });
  await recordLoanEvents(tx, loan, { caseAfter: verdict.caseAfter, eventData }, origin);
}

/**
 * Returns when the link was paid, or undefined if it is not paid. The link exists at the lender before it is recorded
 * here, so it may already be paid.
 */
async function paidBefore(
  tx: Tx,
  { lenderId, sourceLoanNumber }: PaymentLink,
  { linkId }: MintedLink,
): Promise<Date | undefined> {
  const payments = await paymentsOf(tx, lenderId, sourceLoanNumber);
  return payments.find((payment) => payment.linkId === linkId)?.paidAt;
}

async function recordNoLink(
  tx: Tx,
  loan: LockedLoan,
  requested: PaymentLink,
  reason: Exclude<MintAnswer, { minted: unknown }>,
  origin: EventOrigin,
): Promise<void> {
  const { link, changed } = await recordUnavailable(tx, requested, reason, origin.now);
  signal(tx, PAYMENT_LINK_CHANNEL, link.id);
  if (!changed) return;
  const { visitId, amountMinor, currency } = link;
  const data = {
    visitId: publicId("vis", visitId),
    amount: toWire(amountMinor, currency),
    reason: reason.unavailable,
    detail: reason.detail,
  };
  const eventData = [{ kind: "payment_link.unavailable" as const, data }];
  await recordLoanEvents(tx, loan, { caseAfter: loan.worked, eventData }, origin);
}
