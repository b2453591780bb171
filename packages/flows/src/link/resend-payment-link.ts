import { caseById } from "@collections/cases";
import { databaseTime, enqueue, signal } from "@collections/database";
import type { Tx } from "@collections/entities";
import { lenderById } from "@collections/lenders";
import {
  type Channel,
  linkOfFieldPartner,
  type LinkStatus,
  type PaymentLink,
  resendLink,
} from "@collections/payment-links";
import type { AppContext } from "../request/app-request.ts";
import { channelFacts } from "./channel-facts.ts";
import { fieldWorkRefusal, type FieldWorkRefusal } from "../request/field-work.ts";
import { sendPaymentLinkQueue } from "./link-jobs.ts";
import { lockLoan } from "../case/lock-loan.ts";
import { PAYMENT_LINK_CHANNEL } from "./payment-link-channel.ts";

/** A field partner's request to send a link to the borrower again. */
export interface PaymentLinkResend {
  readonly fieldPartnerId: string;
  readonly linkId: string;
  /** The channels to send the link over. Default: the channels that were chosen for the link. */
  readonly channels?: readonly Channel[];
}

/** The outcome of a request to send a link again. */
export type ResendPaymentLinkOutcome =
  | { readonly kind: "resent"; readonly link: PaymentLink }
  /** There is no such link, or another field partner requested it. */
  | { readonly kind: "link_not_found" }
  | { readonly kind: "case_not_workable"; readonly code: FieldWorkRefusal }
  | { readonly kind: "not_live"; readonly status: LinkStatus }
  | { readonly kind: "used_up"; readonly channel: Channel };

/**
 * Sends a live link again: enqueues jobs that send the messages. contract: What the service does
 *
 * @example
 * const outcome = await resendPaymentLink(tx, { fieldPartnerId, linkId, channels: ["whatsapp"] }, {});
 * if (outcome.kind === "used_up") console.log(`No more messages over ${outcome.channel}.`);
 */
export async function resendPaymentLink(
  tx: Tx,
  { fieldPartnerId, linkId, channels }: PaymentLinkResend,
  context: Pick<AppContext, "now">,
): Promise<ResendPaymentLinkOutcome> {
  // Find the link and lock its case. The messages are created with the database's time, because the send jobs compute
  // their age by that clock.
  const [known, now] = await Promise.all([
    linkOfFieldPartner(tx, fieldPartnerId, linkId),
    context.now ?? databaseTime(tx),
  ]);
  if (!known) return { kind: "link_not_found" };
  const { lenderId } = known;
  const { worked } = await lockLoan(tx, known);

  // Check that this field partner may contact the borrower now.
  const lender = (await lenderById(tx, lenderId))!;
  const blocked = fieldWorkRefusal(worked, lender, now);
  if (blocked) return { kind: "case_not_workable", code: blocked };
  if (worked.assignedFieldPartnerId !== fieldPartnerId) return { kind: "case_not_workable", code: "NOT_ASSIGNED" };

  // Write the messages and the jobs that send them.
  const facts = channelFacts((await caseById(tx, known))!, lender);
  const outcome = await resendLink(tx, { lenderId, id: linkId, channels, facts }, now);
  if (outcome.kind !== "resent") return outcome;
  for (const { id, status } of outcome.deliveries) {
    if (status === "queued") await enqueue(tx, sendPaymentLinkQueue, { lenderId, deliveryId: id });
  }
  signal(tx, PAYMENT_LINK_CHANNEL, linkId);
  return { kind: "resent", link: outcome.link };
}
