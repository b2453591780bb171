import { blockedReason, type Case } from "@collections/cases";
import { type PaymentLink, WISH_LASTS_MS } from "@collections/payment-links";

/** Why nobody is to be asked for a payment by a link any more. */
export interface PassedWish {
  readonly reason: "case_not_workable" | "amount_not_allowed" | "asked_too_long_ago";
  /** A sentence for operators. */
  readonly detail: string;
}

/**
 * Whether a link is still to be asked for, or sent. What a field partner was allowed when they tapped may be wrong when
 * a job comes to it: the case was held, ended, given to somebody else or paid since. `today` is the borrower's day.
 */
export function passedWish(link: PaymentLink, theCase: Case, today: string): PassedWish | undefined {
  const blocked = blockedReason(theCase, today);
  if (blocked) return { reason: "case_not_workable", detail: `The case may not be worked by now: ${blocked}.` };
  if (theCase.assignedFieldPartnerId !== link.fieldPartnerId) {
    return { reason: "case_not_workable", detail: "The case is another field partner's by now." };
  }
  if (theCase.outstandingMinor < link.amountMinor) {
    return { reason: "amount_not_allowed", detail: "Less is owed by now than the link was asked for." };
  }
  return undefined;
}

/** The same before the lender is called: a wish that is old by then is for a door that nobody stands at. */
export function passedBeforeCall(
  link: PaymentLink,
  theCase: Case,
  { today, now }: { readonly today: string; readonly now: Date },
): PassedWish | undefined {
  if (now.getTime() - (link.askedAt ?? link.createdAt).getTime() > WISH_LASTS_MS) {
    const detail = `It was asked for more than ${WISH_LASTS_MS / 60_000} minutes before its call.`;
    return { reason: "asked_too_long_ago", detail };
  }
  return passedWish(link, theCase, today);
}
