import type { Case } from "@collections/cases";
import type { LenderProfile } from "@collections/lenders";
import { LINK_REQUEST_LIFETIME_MS, type PaymentLink } from "@collections/payment-links";
import { fieldWorkRefusal } from "../request/field-work.ts";

/** Why nobody is to be asked for a payment by a link any more. */
export interface ObsoleteReason {
  readonly reason: "case_not_workable" | "amount_not_allowed" | "asked_too_long_ago";
  /** A sentence for operators. */
  readonly detail: string;
}

/** What a job judges a link's request by, as things stand when the job runs. */
export interface LinkCircumstances {
  readonly theCase: Case;
  readonly lender: Pick<LenderProfile, "state" | "timeZone">;
  readonly now: Date;
}

/**
 * Why a link is no longer to be minted, or sent. The field partner was allowed to ask for it, but since then the case
 * may have been held, ended, assigned to another person or paid, or its lender suspended.
 */
export function obsoleteReason(link: PaymentLink, { theCase, lender, now }: LinkCircumstances): ObsoleteReason | undefined {
  const blocked = fieldWorkRefusal(theCase, lender, now);
  if (blocked) return { reason: "case_not_workable", detail: `The case may not be worked by now: ${blocked}.` };
  if (theCase.assignedFieldPartnerId !== link.fieldPartnerId) {
    return { reason: "case_not_workable", detail: "The case is another field partner's by now." };
  }
  if (theCase.outstandingMinor < link.amountMinor) {
    return { reason: "amount_not_allowed", detail: "Less is owed by now than the link was asked for." };
  }
  return undefined;
}

/**
 * Why a link is no longer to be minted when its mint call is about to start: the reasons of `obsoleteReason`, or more
 * than `LINK_REQUEST_LIFETIME_MS` since the field partner asked for it. By then the field partner has left the
 * borrower's door.
 */
export function obsoleteMintReason(link: PaymentLink, circumstances: LinkCircumstances): ObsoleteReason | undefined {
  const { now } = circumstances;
  if (now.getTime() - (link.askedAt ?? link.createdAt).getTime() > LINK_REQUEST_LIFETIME_MS) {
    const detail = `It was asked for more than ${LINK_REQUEST_LIFETIME_MS / 60_000} minutes before its call.`;
    return { reason: "asked_too_long_ago", detail };
  }
  return obsoleteReason(link, circumstances);
}
