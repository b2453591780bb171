import { bucketOf, type Case } from "@collections/cases";
import { publicId } from "@collections/database";
import type { FieldPartner } from "@collections/field-partners";
import { toWire } from "@collections/money";

/** Returns the state and the amounts of a case as answers show them, in the case snapshot and in lists. */
export function caseStateBody(theCase: CaseState, holder: FieldPartner | undefined): object {
  const { currency } = theCase;
  return {
    sourceLoanNumber: theCase.sourceLoanNumber,
    caseId: publicId("case", theCase.id),
    cycle: theCase.cycle,
    sequence: Number(theCase.sequence),
    status: theCase.status,
    statusReason: theCase.statusReason,
    fieldWork: theCase.fieldWork,
    currency,
    placedAmount: toWire(theCase.placedMinor, currency),
    totalCollected: toWire(theCase.totalCollectedMinor, currency),
    totalReversed: toWire(theCase.totalReversedMinor, currency),
    outstandingAfter: toWire(theCase.outstandingMinor, currency),
    excessAmount: toWire(theCase.excessMinor, currency),
    dpd: theCase.dpd,
    bucket: bucketOf(theCase),
    assignedFieldPartner: holder ? { id: publicId("fp", holder.id), displayName: holder.displayName } : null,
  };
}

/** Returns the times of a case, and the reason for its end, as answers show them. */
export function caseTimesBody({ createdAt, updatedAt, closedAt, closeReason }: CaseTimes): object {
  return { createdAt, updatedAt, closedAt, closeReason };
}

type CaseTimes = Pick<Case, "createdAt" | "updatedAt" | "closedAt" | "closeReason">;

type CaseState = Pick<
  Case,
  | "id"
  | "sourceLoanNumber"
  | "cycle"
  | "sequence"
  | "status"
  | "statusReason"
  | "fieldWork"
  | "currency"
  | "placedMinor"
  | "totalCollectedMinor"
  | "totalReversedMinor"
  | "outstandingMinor"
  | "excessMinor"
  | "dpd"
  | "bucket"
>;
