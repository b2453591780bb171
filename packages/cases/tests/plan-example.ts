import { AmountLiteral, currency } from "@collections/money";
import { AMOUNT_FIELDS } from "../src/case/case-details.ts";
import type { ImportedCase } from "../src/case/locked-case.ts";
import { planRow } from "../src/import/plan-row.ts";
import { type LaterPayment, type LaterReversal, NO_LATER_MONEY } from "../src/case/loan-balance.ts";
import type { PlanFacts, RowPlan } from "../src/import/row-plan.ts";
import { checkRow } from "../src/import/row.ts";

export const EARLIER = new Date("2026-11-19T10:00:00Z");
export const NOW = new Date("2026-11-20T10:00:00Z");

/** The facts that tests pass to `planRow` by default. */
export const facts: PlanFacts = {
  lenderId: "0193bf7c-0000-7000-8000-000000000001",
  importId: "0193bf7c-0000-7000-8000-000000000002",
  newCaseId: "0193bf7c-0000-7000-8000-000000000003",
  later: NO_LATER_MONEY,
  holder: null,
  now: NOW,
};

/** The fields of a case that ended a day ago. */
export const ended = { fieldWork: "blocked", blockedAt: EARLIER, closedAt: EARLIER } as const;

/** The import id of `facts`, as events contain it. */
export const importId = "imp_0193bf7c000070008000000000000002";

/** Returns a payment that was captured after the balance of a row. */
export function paid(amountMinor: bigint, reference = "UTR1", paidAt = NOW): LaterPayment {
  return { bookingId: newBookingId(reference), reference, amountMinor, paidAt, isReversed: false, heldMinor: 0n };
}

/** Returns the facts of a plan with these payments and reversals after the balance of a row. */
export function later(
  payments: readonly LaterPayment[],
  reversals: readonly LaterReversal[] = [],
): Pick<PlanFacts, "later"> {
  return { later: { payments, reversals } };
}

/** Returns the same id for the same reference. */
function newBookingId(reference: string): string {
  return `booking-of-${reference}`;
}

/** Plans a row with these fields, of a lender in India. Pass amounts as texts. */
export function planOf(
  fields: Record<string, unknown>,
  current: ImportedCase | undefined,
  more: Partial<PlanFacts> = {},
): RowPlan {
  const raw = Object.fromEntries(
    Object.entries({
      sourceLoanNumber: "LN-1001",
      ...(fields["action"] === undefined && { borrowerName: "Asha Rao", borrowerPhone: "+919800000001" }),
      ...fields,
    }).map(([name, value]) => [name, AMOUNT_FIELDS.has(name) ? new AmountLiteral(value) : value]),
  );
  const checked = checkRow(raw, { currency: currency("INR"), country: "IN", language: "hi-IN" }, 0, NOW);
  if (!("row" in checked)) throw new Error(JSON.stringify(checked.errors));
  return planRow(checked.row, current, { ...facts, ...more });
}

/** Plans a row like `planOf`, and fails if the row does not change the case. */
export function applied(
  fields: Record<string, unknown>,
  current: ImportedCase | undefined,
  more: Partial<PlanFacts> = {},
): Exclude<RowPlan, { outcome: "unchanged" | "rejected" }> {
  const plan = planOf(fields, current, more);
  if (plan.outcome === "unchanged" || plan.outcome === "rejected") throw new Error(JSON.stringify(plan.outcome));
  return plan;
}
