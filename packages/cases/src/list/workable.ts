import type { LockedCase } from "../case/locked-case.ts";

/** Why nobody may be sent to the door, or nobody may ask for a link. */
export type BlockedReason = "ENDED" | "ON_HOLD" | "NOT_ASSIGNED" | "DO_NOT_CONTACT";

/**
 * Why a case may not be worked, or undefined when visits and links are open to its field partner. `today` is the day
 * where the borrower lives, `YYYY-MM-DD`.
 *
 * @example
 * const reason = blockedReason(lockedCase, "2026-11-20");
 * if (reason === "DO_NOT_CONTACT") throw new Error(`Nobody calls before ${lockedCase.doNotContactUntil}.`);
 */
export function blockedReason(
  theCase: Pick<LockedCase, "closedAt" | "fieldWork" | "status" | "assignedFieldPartnerId" | "doNotContactUntil">,
  today: string,
): BlockedReason | undefined {
  if (theCase.closedAt !== null) return "ENDED";
  if (theCase.fieldWork === "blocked") return "ON_HOLD";
  if (theCase.status === "new" || theCase.assignedFieldPartnerId === null) return "NOT_ASSIGNED";
  return theCase.doNotContactUntil !== null && today < theCase.doNotContactUntil ? "DO_NOT_CONTACT" : undefined;
}
