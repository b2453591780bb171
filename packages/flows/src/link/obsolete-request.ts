import type { Case } from "@collections/cases";
import type { LenderProfile } from "@collections/lenders";
import { LINK_REQUEST_LIFETIME_MS, type PaymentLink } from "@collections/payment-links";
import { fieldWorkRefusal } from "../request/field-work.ts";

/** Why a requested link is no longer minted or sent. */
export interface ObsoleteReason {
  readonly reason: "case_not_workable" | "amount_not_allowed" | "asked_too_long_ago";
  /** The reason in a sentence for operators. */
  readonly detail: string;
}

/** The facts by which a job decides whether a link request is obsolete, as of the time when the job runs. */
export interface LinkCircumstances {
  readonly theCase: Case;
  readonly lender: Pick<LenderProfile, "state" | "timeZone">;
  readonly now: Date;
}

/**
 * Returns why a link must no longer be minted or sent, or undefined. The request was allowed when it was made. Since
 * then the case may have been put on hold, ended, reassigned or paid, or its lender suspended.
 */
export function obsoleteReason(
  link: PaymentLink,
  { theCase, lender, now }: LinkCircumstances,
): ObsoleteReason | undefined {
  const blocked = fieldWorkRefusal(theCase, lender, now);
  if (blocked) return { reason: "case_not_workable", detail: `The case is not workable now: ${blocked}.` };
  if (theCase.assignedFieldPartnerId !== link.fieldPartnerId) {
    return { reason: "case_not_workable", detail: "The case is not assigned to the field partner any more." };
  }
  if (theCase.outstandingMinor < link.amountMinor) {
    return { reason: "amount_not_allowed", detail: "The outstanding amount is now below the link's amount." };
  }
  return undefined;
}

/**
 * Returns why a link must no longer be minted, or undefined. Call it when the mint call is about to start. In addition
 * to `obsoleteReason`, it rejects a request that is older than `LINK_REQUEST_LIFETIME_MS`: by then the field partner
 * has left the borrower's door.
 */
export function obsoleteMintReason(link: PaymentLink, circumstances: LinkCircumstances): ObsoleteReason | undefined {
  const { now } = circumstances;
  if (now.getTime() - (link.askedAt ?? link.createdAt).getTime() > LINK_REQUEST_LIFETIME_MS) {
    const detail = `The link was requested more than ${LINK_REQUEST_LIFETIME_MS / 60_000} minutes before its mint call.`;
    return { reason: "asked_too_long_ago", detail };
  }
  return obsoleteReason(link, circumstances);
}
