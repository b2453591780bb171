import { randomUUID } from "node:crypto";
import { currency } from "@collections/money";
import { NO_DETAILS } from "../src/case/case-details.ts";
import type { ImportedCase } from "../src/case/locked-case.ts";

/** Returns a new case of 5,000.00 INR. By default, each call returns a case of a new loan and a new lender. */
export function exampleCase(overrides: Partial<ImportedCase> = {}): ImportedCase {
  const id = randomUUID();
  return {
    ...NO_DETAILS,
    lenderId: randomUUID(),
    id,
    sourceLoanNumber: `LN-${id}`,
    cycle: 1,
    isCurrent: true,
    borrowerName: "Asha Rao",
    borrowerPhone: "+919800000001",
    currency: currency("INR"),
    placedMinor: 500_000n,
    outstandingMinor: 500_000n,
    totalCollectedMinor: 0n,
    excessMinor: 0n,
    peakMinor: 500_000n,
    balanceMinor: 500_000n,
    balanceAsOf: null,
    balanceSequence: 1n,
    lastPaymentAt: null,
    status: "new",
    statusReason: null,
    statusBeforeHold: null,
    fieldWork: "open",
    blockedAt: null,
    workBegun: false,
    settledByLender: false,
    assignedFieldPartnerId: null,
    assignedSince: null,
    lastVisitId: null,
    lastDisposition: null,
    sequence: 1n,
    closedAt: null,
    closeReason: null,
    erasedAt: null,
    ...overrides,
  };
}
