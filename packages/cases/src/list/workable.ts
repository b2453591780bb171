import type { LockedCase } from "../case/locked-case.ts";

/** The reasons why a case is not workable: no visit may be made, and no link may be requested. */
export type BlockedReason = "ENDED" | "ON_HOLD" | "NOT_ASSIGNED" | "DO_NOT_CONTACT";

/**
 * Returns why a case is not workable, or undefined if its field partner may visit the borrower and request links.
 * `today` is the current day in the borrower's time zone, `YYYY-MM-DD`.
 *
 * @example
 * const reason = blockedReason(lockedCase, "2026-11-20");
 * if (reason === "DO_NOT_CONTACT") throw new Error(`No contact before ${lockedCase.doNotContactUntil}.`);
 */
export function blockedReason(
  theCase: Pick<
    LockedCase,
    "closedAt" | "fieldWork" | "status" | "assignedFieldPartnerId" | "doNotContactUntil" | "erasedAt"
  >,
  today: string,
): BlockedReason | undefined {
  if (theCase.closedAt !== null) return "ENDED";
  // Without the borrower's name and address no visit is possible, until the lender's next row has them.
  if (theCase.fieldWork === "blocked" || theCase.erasedAt !== null) return "ON_HOLD";
  if (theCase.status === "new" || theCase.assignedFieldPartnerId === null) return "NOT_ASSIGNED";
  return theCase.doNotContactUntil !== null && today < theCase.doNotContactUntil ? "DO_NOT_CONTACT" : undefined;
}
