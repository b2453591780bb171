import { type BlockedReason, blockedReason } from "@collections/cases";
import type { LenderProfile } from "@collections/lenders";
import { dayIn } from "@collections/local-time";

/** The reasons why a borrower may not be visited or asked for a payment. They concern the case or its lender. */
export type FieldWorkRefusal = BlockedReason | "LENDER_SUSPENDED";

/**
 * Returns why field work on a case is refused now, or undefined if visits, links and messages are allowed. A reason of
 * the case takes precedence, because it remains when the lender is resumed.
 *
 * @example
 * const own = await ownCasesByIds(em, fieldPartnerId, [caseId]);
 * const reason = fieldWorkRefusal(own.get(caseId)!, lender, new Date());
 * if (reason === "LENDER_SUSPENDED") console.log(`${lender.name} is suspended.`);
 */
export function fieldWorkRefusal(
  theCase: Parameters<typeof blockedReason>[0],
  { state, timeZone }: Pick<LenderProfile, "state" | "timeZone">,
  now: Date,
): FieldWorkRefusal | undefined {
  const reason = blockedReason(theCase, dayIn(timeZone, now));
  return reason ?? (state === "suspended" ? "LENDER_SUSPENDED" : undefined);
}
