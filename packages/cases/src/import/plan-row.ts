import { publicId } from "@collections/database";
import { toDecimal, toWire } from "@collections/money";
import {
  type CaseDetails,
  detailChanges,
  type FieldChange,
  NO_DETAILS,
  publicChanges,
  withChanges,
} from "../case/case-details.ts";
import type { ImportedCase } from "../case/locked-case.ts";
import { withPeak } from "../case/peak.ts";
import { withoutPersonalData } from "../case/personal-data.ts";
import { numberEvents, transition } from "../case/transitions.ts";
import type { RowWarning } from "../fields/row-fault.ts";
import { withAsOfWarning } from "./as-of-warning.ts";
import { endOf } from "./ended-case.ts";
import { planControl } from "./plan-control.ts";
import type { CaseRow, UpsertRow } from "./row.ts";
import { type PlanFacts, type PlannedEvent, rejected, type RowPlan, unchanged, warningOf } from "./row-plan.ts";

/**
 * Plans one checked row. `current` is the loan's current case under its lock, or undefined. The lender determines the
 * balance; payments that were captured after the row's `outstandingAsOf` are subtracted from it, and later reversals
 * are added. A row with an older `outstandingAsOf` than the open case changes nothing. A case that has ended does not
 * change: a row with a balance starts the loan's next cycle.
 *
 * @example
 * const [current] = await lockCasesForImport(tx, [{ lenderId, loan: row.sourceLoanNumber }]);
 * const facts = { lenderId, importId: newId(), newCaseId: newId(), laterPayments: [], now };
 * const plan = planRow(row, current, facts);
 * if (plan.outcome === "rejected") throw new Error(plan.errors.map(({ detail }) => detail).join(" "));
 * if (plan.outcome === "created") await insertCases(tx, [plan.caseAfter], [], now);
 */
export function planRow(row: CaseRow, current: ImportedCase | undefined, facts: PlanFacts): RowPlan {
  if (row.action !== "upsert") return planControl(row, current, facts);
  return withAsOfWarning(row, current, withReasonWarning(row, planUpsert(row, current, facts)));
}

function planUpsert(row: UpsertRow, current: ImportedCase | undefined, facts: PlanFacts): RowPlan {
  const balance = balanceOf(row, current, facts);
  if (current === undefined) return openCase("created", row, undefined, balance, facts);
  const end = endOf(current);
  if (end !== null) return planAfterTheEnd(row, current, end, balance, facts);
  if (row.currency !== current.currency) {
    const detail = `The currency of the case is ${current.currency} until the case ends; send amounts in that currency.`;
    return rejected(row, "CURRENCY_MISMATCH", "currency", detail);
  }
  if (isOlderThan(current.outstandingAsOf, row)) return planStale(row, current);
  return planUpdate(row, current, balance, facts);
}

/** Adds a warning if the row has a reason that is not stored, because the row does not settle the case. */
function withReasonWarning(row: UpsertRow, plan: RowPlan): RowPlan {
  if (row.reason === null || plan.outcome === "rejected" || plan.caseAfter.statusReason === row.reason) return plan;
  const detail = "The reason was not stored: only a row that ends, holds or releases the case can have a reason.";
  return { ...plan, warnings: [...plan.warnings, warningOf(row, "FIELD_NOT_APPLIED", "reason", detail)] };
}

/** Plans a row that arrived late: a newer balance has already been imported, so nothing of this row is applied. */
function planStale(row: UpsertRow, current: ImportedCase): RowPlan {
  const asOf = current.outstandingAsOf?.toISOString();
  const detail = `The case has a newer balance, as of ${asOf}; nothing of this row was applied.`;
  const warning = warningOf(row, "STALE_SNAPSHOT", "outstandingAsOf", detail);
  return unchanged(current, current, [...row.warnings, warning]);
}

function isOlderThan(moment: Date | null, { details: { outstandingAsOf } }: UpsertRow): boolean {
  return moment !== null && outstandingAsOf instanceof Date && outstandingAsOf < moment;
}

interface Balance {
  readonly outstandingMinor: bigint;
  readonly warnings: readonly RowWarning[];
}

function balanceOf(row: UpsertRow, current: ImportedCase | undefined, facts: PlanFacts): Balance {
  const counts = current?.currency === row.currency && row.details.outstandingAsOf;
  const paidMinor = counts ? sumOf(facts.laterPayments) : 0n;
  const reversedMinor = counts ? sumOf(facts.laterReversals ?? []) : 0n;
  const owedMinor = row.outstandingMinor - paidMinor + reversedMinor;
  const outstandingMinor = owedMinor > 0n ? owedMinor : 0n;
  const warnings = [...row.warnings];
  const inWords = (minor: bigint) => `${toDecimal(minor, row.currency)} ${row.currency}`;
  if (paidMinor > 0n) {
    const detail = `Payments of ${inWords(paidMinor)} were captured after outstandingAsOf and were subtracted from the balance.`;
    warnings.push(warningOf(row, "PAYMENT_AFTER_SNAPSHOT", "outstandingAmount", detail));
  }
  if (reversedMinor > 0n) {
    const detail = `Payments of ${inWords(reversedMinor)} were reversed after outstandingAsOf and were added to the balance.`;
    warnings.push(warningOf(row, "REVERSAL_AFTER_SNAPSHOT", "outstandingAmount", detail));
  }
  return { outstandingMinor, warnings };
}

function sumOf(amounts: readonly { readonly amountMinor: bigint }[]): bigint {
  return amounts.reduce((sum, { amountMinor }) => sum + amountMinor, 0n);
}

function planAfterTheEnd(
  row: UpsertRow,
  endedCase: ImportedCase,
  end: Date,
  balance: Balance,
  facts: PlanFacts,
): RowPlan {
  if (row.outstandingMinor > 0n && isOlderThan(end, row)) {
    const detail = `The case ended as of ${end.toISOString()}, and this balance is older; send a newer one.`;
    return rejected(row, "STALE_SNAPSHOT", "outstandingAsOf", detail);
  }
  // A reversal alone does not start a cycle: the row says that nothing is owed.
  if (row.outstandingMinor > 0n && balance.outstandingMinor > 0n)
    return openCase("reopened", row, endedCase, balance, facts);
  // If the row and the case agree that nothing is owed, only the row's `outstandingAsOf` is stored.
  const agrees = endedCase.outstandingMinor === 0n && row.currency === endedCase.currency;
  const { outstandingAsOf = endedCase.outstandingAsOf } = row.details;
  const isNewer = agrees && !isOlderThan(endedCase.outstandingAsOf, row);
  return unchanged(endedCase, isNewer ? { ...endedCase, outstandingAsOf } : endedCase, balance.warnings);
}

/**
 * Plans a new case. It continues the loan's sequence and takes over the borrower's details, so a refused consent stays
 * refused in the next cycle. If the balance is 0, the new case is settled at once; a late confirmation can then still
 * be booked on it.
 */
function openCase(
  outcome: "created" | "reopened",
  row: UpsertRow,
  replaces: ImportedCase | undefined,
  { outstandingMinor, warnings }: Balance,
  facts: PlanFacts,
): RowPlan {
  const blank: ImportedCase = withChanges(
    {
      ...knownBefore(row, replaces),
      lenderId: facts.lenderId,
      id: facts.newCaseId,
      sourceLoanNumber: row.sourceLoanNumber,
      cycle: (replaces?.cycle ?? 0) + 1,
      isCurrent: true,
      currency: row.currency,
      placedMinor: outstandingMinor,
      outstandingMinor,
      totalCollectedMinor: 0n,
      excessMinor: 0n,
      peakMinor: outstandingMinor,
      status: "new",
      statusReason: null,
      statusBeforeHold: null,
      fieldWork: "open",
      blockedAt: null,
      workBegun: false,
      assignedFieldPartnerId: null,
      assignedSince: null,
      settledByLender: false,
      closedAt: null,
      closeReason: null,
      erasedAt: null,
      lastPaymentAt: null,
      lastVisitId: null,
      lastDisposition: null,
      sequence: replaces?.sequence ?? 0n,
    },
    row.details,
  );
  const opened = numberEvents(blank, ["case.created"]);
  const data = { importId: publicId("imp", facts.importId), cycle: blank.cycle };
  const created = opened.events.map((event) => ({ ...event, status: blank.status, data }));
  const { caseAfter, events } =
    outstandingMinor > 0n ? { ...opened, events: [] } : settle(opened.caseAfter, row, facts);
  return {
    outcome,
    caseAfter,
    replaces,
    changes: [],
    events: [...created, ...events],
    placementMinor: outstandingMinor,
    adjustmentMinor: 0n,
    warnings,
  };
}

function knownBefore(row: UpsertRow, replaces: ImportedCase | undefined): CaseDetails {
  const { borrowerName, borrowerPhone } = row.details;
  if (replaces === undefined) return { ...NO_DETAILS, borrowerName, borrowerPhone, language: row.defaultLanguage };
  const amounts = row.currency === replaces.currency ? {} : { minimumMinor: null, emiMinor: null };
  return { ...replaces, ...amounts, outstandingAsOf: null };
}

function planUpdate(row: UpsertRow, current: ImportedCase, balance: Balance, facts: PlanFacts): RowPlan {
  const { outstandingMinor } = balance;
  const { details, erasedAt, warnings } = applicableDetails(row, current, balance.warnings);
  const updated: ImportedCase = withPeak(current, { ...withChanges(current, details), erasedAt, outstandingMinor });
  const changes = changesBetween(current, updated);
  // Only `outstandingAsOf` has changed, so it is stored without an event.
  if (outstandingMinor > 0n && changes.every(({ field }) => field === "outstandingAsOf")) {
    return unchanged(current, updated, warnings);
  }
  const data = {
    importId: publicId("imp", facts.importId),
    cycle: current.cycle,
    changes: publicChanges(changes),
  };
  const outcome = outstandingMinor > 0n ? "updated" : row.outstandingMinor > 0n ? "collected" : "settled";
  const { caseAfter, events } = {
    updated: () => announceUpdate(updated, data),
    collected: () => collect(updated, facts),
    settled: () => settle(updated, row, facts),
  }[outcome]();
  return {
    outcome,
    caseAfter,
    replaces: undefined,
    changes,
    events,
    placementMinor: 0n,
    adjustmentMinor: outstandingMinor - current.outstandingMinor,
    warnings,
  };
}

/**
 * Returns the details of a row to store. A case that was erased and is on hold stays without personal data: its lender
 * may send the loan every day. When the hold has ended, or if a reversal has opened the case again, the next row has
 * the data that field work needs.
 */
function applicableDetails(row: UpsertRow, { erasedAt, fieldWork }: ImportedCase, warnings: readonly RowWarning[]) {
  if (erasedAt === null || fieldWork === "open") return { details: row.details, erasedAt: null, warnings };
  const detail =
    "The borrower's personal data were erased earlier, so the names, phones, addresses and metadata of this row were not stored.";
  const warning = warningOf(row, "FIELD_NOT_APPLIED", "borrowerName", detail);
  return { details: withoutPersonalData(row.details), erasedAt, warnings: [...warnings, warning] };
}

function changesBetween(before: ImportedCase, after: ImportedCase): FieldChange[] {
  const details = detailChanges(before, after, before.currency);
  if (before.outstandingMinor === after.outstandingMinor) return details;
  const from = toWire(before.outstandingMinor, before.currency);
  return [{ field: "outstandingAmount", from, to: toWire(after.outstandingMinor, after.currency) }, ...details];
}

function settle(
  theCase: ImportedCase,
  { reason }: UpsertRow,
  { now }: PlanFacts,
): { caseAfter: ImportedCase; events: PlannedEvent[] } {
  const verdict = transition(theCase, { kind: "settle", reason }, now);
  if (!verdict.allowed) throw new Error(`An open case cannot be settled: ${verdict.refusal.detail}`);
  const { caseAfter, events } = verdict;
  const data = { reason: reason ?? caseAfter.closeReason };
  return { caseAfter, events: events.map((event) => ({ ...event, status: caseAfter.status, data })) };
}

/**
 * Ends a case because later payments cover its whole balance. The event names the last of these payments that has not
 * been reversed in full.
 */
function collect(
  theCase: ImportedCase,
  { laterPayments, laterReversals = [], now }: PlanFacts,
): { caseAfter: ImportedCase; events: PlannedEvent[] } {
  const verdict = transition(theCase, { kind: "later_payments_clear" }, now);
  if (!verdict.allowed) throw new Error(`An open case cannot become collected: ${verdict.refusal.detail}`);
  const { caseAfter, events } = verdict;
  const reversedOf = Map.groupBy(laterReversals, ({ reference }) => reference);
  const last = laterPayments
    .filter(({ reference, amountMinor }) => sumOf(reversedOf.get(reference) ?? []) < amountMinor)
    .reduce((latest, one) => (one.paidAt >= latest.paidAt ? one : latest));
  const data = { closeReason: caseAfter.closeReason, reference: last.reference };
  return { caseAfter, events: events.map((event) => ({ ...event, status: caseAfter.status, data })) };
}

function announceUpdate(
  theCase: ImportedCase,
  data: Record<string, unknown>,
): { caseAfter: ImportedCase; events: PlannedEvent[] } {
  const { caseAfter, events } = numberEvents(theCase, ["case.updated"]);
  return { caseAfter, events: events.map((event) => ({ ...event, status: caseAfter.status, data })) };
}
