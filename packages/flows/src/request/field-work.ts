import { type BlockedReason, blockedReason } from "@collections/cases";
import type { LenderProfile } from "@collections/lenders";
import { dayIn } from "@collections/local-time";

/** Why a borrower may not be visited or asked for a payment: because of the case, or because of its lender. */
export type FieldWorkRefusal = BlockedReason | "LENDER_SUSPENDED";

/**
 * Why the field work on a case is refused at this moment, or undefined when visits, links and messages are allowed.
 * The case's own reason comes first: it stays when the lender is resumed.
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
