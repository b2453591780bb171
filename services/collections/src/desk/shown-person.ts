import { type CaseCount, maskedPhone } from "@collections/cases";
import { publicId } from "@collections/database";
import type { FieldPartner } from "@collections/field-partners";

/** Returns a person as `field-partner list --json` and the console show it, without the number of cases. */
export function shownPerson({ id, displayName, phone, state, timeZone, createdAt }: FieldPartner) {
  return {
    fieldPartnerId: publicId("fp", id),
    displayName,
    phone: maskedPhone(phone),
    state,
    timeZone,
    createdAt: createdAt.toISOString(),
  };
}

const ENDED = new Set(["collected", "closed", "withdrawn"]);

/** Returns the number of cases that have not ended. */
export function openCases(counts: readonly CaseCount[]): number {
  return counts.filter(isOpen).reduce((sum, { cases }) => sum + cases, 0);
}

/** Returns whether cases with this status have not ended. */
export function isOpen({ status }: Pick<CaseCount, "status">): boolean {
  return !ENDED.has(status);
}
