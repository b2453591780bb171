import { toDecimal } from "@collections/money";
import type { ImportedCase } from "../case/locked-case.ts";
import { appliedOf } from "../case/peak.ts";
import type { UpsertRow } from "./row.ts";
import { type RowPlan, warningOf } from "./row-plan.ts";

/**
 * Adds a warning if a balance without an `outstandingAsOf` raises what payments had lowered. Such a balance counts as
 * including all payments, but the lender may have written it before they were posted.
 */
export function withAsOfWarning(row: UpsertRow, current: ImportedCase | undefined, plan: RowPlan): RowPlan {
  if (current === undefined || row.details.outstandingAsOf instanceof Date) return plan;
  if (plan.outcome === "rejected" || plan.outcome === "unchanged" || row.currency !== current.currency) return plan;
  const { outstandingMinor: before } = current;
  const { outstandingMinor: after } = plan.caseAfter;
  if (after <= before || !isLoweredByPayments(current)) return plan;
  const detail =
    `The balance raised the outstanding amount from ${toDecimal(before, row.currency)} to ${toDecimal(after, row.currency)} ` +
    `${row.currency}, as if it included the payments of this case. Send the moment up to which it includes payments.`;
  return { ...plan, warnings: [...plan.warnings, warningOf(row, "BALANCE_WITHOUT_AS_OF", "outstandingAsOf", detail)] };
}

/** Tells whether the last payment of the case lowered the outstanding amount. The balance may have included it. */
function isLoweredByPayments(current: ImportedCase): boolean {
  const { lastPaymentAt, outstandingAsOf } = current;
  if (appliedOf(current) <= 0n || lastPaymentAt === null) return false;
  return outstandingAsOf === null || lastPaymentAt > outstandingAsOf;
}
