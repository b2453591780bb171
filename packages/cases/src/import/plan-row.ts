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
import { atLeastZero, signedDifference, sumOf } from "../case/loan-balance.ts";
import { withPeak } from "../case/peak.ts";
import { withoutPersonalData } from "../case/personal-data.ts";
import { numberEvents, transition } from "../case/transitions.ts";
import { doubtAboutIdentity, whyNoNewIdentity } from "../fields/identity-text.ts";
import type { RowWarning } from "../fields/row-fault.ts";
import { withAsOfWarning } from "./as-of-warning.ts";
import { planControl } from "./plan-control.ts";
import type { CaseRow, UpsertRow } from "./row.ts";
import { type PlanFacts, type PlannedEvent, rejected, type RowPlan, unchanged, warningOf } from "./row-plan.ts";

/**
 * Plans one checked row. `current` is the loan's current case under its lock, or undefined. The lender determines the
 * balance; payments that were captured after the row's `outstandingAsOf` are subtracted from it, and later reversals
 * are added. A row with an older `outstandingAsOf` than the loan's newest one changes nothing.
 *
 * An amount that is owed on a collected case either reopens it or starts the loan's next cycle: see `planAfterTheEnd`.
 *
 * @example
 * const [current] = await lockCasesForImport(tx, [{ lenderId, loan: row.sourceLoanNumber }]);
 * const facts = { lenderId, importId: newId(), newCaseId: newId(), later: NO_LATER_MONEY, holder: null, now };
 * const plan = planRow(row, current, facts);
 * if (plan.outcome === "rejected") throw new Error(plan.errors.map(({ detail }) => detail).join(" "));
 * if (plan.outcome === "created") await insertCases(tx, [plan.caseAfter], [], now);
 */
export function planRow(row: CaseRow, current: ImportedCase | undefined, facts: PlanFacts): RowPlan {
  if (row.action !== "upsert") return planControl(row, current, facts);
  return withAsOfWarning(row, current, withReasonWarning(row, planUpsert(row, current, facts)));
}

function planUpsert(row: UpsertRow, current: ImportedCase | undefined, facts: PlanFacts): RowPlan {
  const balance = balanceOf(row, facts);
  if (current === undefined) return planNewLoan(row, balance, facts);
  const { closedAt, currency, outstandingAsOf } = current;
  if (closedAt === null && row.currency !== currency) {
    const detail = `The currency of the case is ${currency} until the case ends; send amounts in that currency.`;
    return rejected(row, "CURRENCY_MISMATCH", "currency", detail);
  }
  if (isOlderThan(outstandingAsOf, row)) return planStale(row, current);
  return closedAt === null
    ? planUpdate(row, current, balance, facts)
    : planAfterTheEnd(row, current, closedAt, balance, facts);
}

/**
 * Plans a row of a loan that is not known. Its number is checked here and not with the row, because numbers of earlier
 * versions stay valid.
 */
function planNewLoan(row: UpsertRow, { outstandingMinor, warnings }: Balance, facts: PlanFacts): RowPlan {
  const { sourceLoanNumber: loan } = row;
  const fault = whyNoNewIdentity(loan);
  if (fault !== undefined) return rejected(row, "INVALID_TEXT", "sourceLoanNumber", `The loan number ${fault}`);
  const doubt = doubtAboutIdentity(loan);
  const { similarTo } = facts;
  const added = [
    ...(doubt === undefined ? [] : [warningOf(row, "IDENTITY_IN_DOUBT", "sourceLoanNumber", doubt)]),
    ...(similarTo === undefined ? [] : [similarLoanWarning(row, similarTo)]),
  ];
  return openCase("created", row, undefined, { outstandingMinor, warnings: [...warnings, ...added] }, facts);
}

/**
 * Returns the warning about a new loan whose number differs from that of an open loan only in leading zeros.
 *
 * @example
 * const [similar] = await similarLoans(em, lenderId, [row.sourceLoanNumber]);
 * const warnings = similar ? [similarLoanWarning(row, similar.similarTo)] : [];
 */
export function similarLoanWarning(row: Pick<CaseRow, "index">, similarTo: string): RowWarning {
  const detail =
    `The open loan ${similarTo} differs from this new loan only in leading zeros, which spreadsheets remove. ` +
    "If both are the same loan, withdraw one of them.";
  return warningOf(row, "SIMILAR_LOAN_NUMBER", "sourceLoanNumber", detail);
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

function balanceOf(row: UpsertRow, { later }: PlanFacts): Balance {
  const outstandingMinor = atLeastZero(signedDifference(row.outstandingMinor, later));
  const [paidMinor, reversedMinor] = [sumOf(later.payments), sumOf(later.reversals)];
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

/** Returns the case with the balance of the row. A row without a date keeps the newest date that is known. */
function withBalance<C extends ImportedCase>(theCase: C, row: UpsertRow): C {
  const { outstandingAsOf = theCase.outstandingAsOf } = row.details;
  const balanceAsOf = row.details.outstandingAsOf ?? null;
  const { sequence: balanceSequence } = theCase;
  return { ...theCase, outstandingAsOf, balanceMinor: row.outstandingMinor, balanceAsOf, balanceSequence };
}

/**
 * Plans a row for a case that has ended at `end`.
 *
 * - Nothing is owed by the formula: the case stays as it is, except for its amounts.
 * - A payment or a reversal is later than the balance of a collected case: the debt was larger than known, so the case is
 *   reopened. Otherwise the balance is a new debt, and starts the next cycle.
 * - A balance from before the end of a closed or withdrawn case changes its amounts. A file of last night must not reopen
 *   what was recalled in the morning. A newer balance starts the next cycle.
 */
function planAfterTheEnd(
  row: UpsertRow,
  endedCase: ImportedCase,
  end: Date,
  balance: Balance,
  facts: PlanFacts,
): RowPlan {
  const isOwed = balance.outstandingMinor > 0n;
  if (row.currency !== endedCase.currency) {
    return isOwed
      ? openCase("reopened", row, endedCase, balance, facts)
      : unchanged(endedCase, endedCase, balance.warnings);
  }
  if (!isOwed) return planAmounts(row, endedCase, balance, facts);
  if (endedCase.status === "collected") {
    const wasLarger = facts.later.payments.length > 0 || facts.later.reversals.length > 0;
    if (wasLarger) return planUpdate(row, endedCase, balance, facts);
  } else if (isOlderThan(end, row)) {
    return planAmounts(row, endedCase, balance, facts);
  }
  return openCase("reopened", row, endedCase, balance, facts);
}

/** Plans a row that changes only the amounts of a case that has ended. */
function planAmounts(row: UpsertRow, endedCase: ImportedCase, balance: Balance, facts: PlanFacts): RowPlan {
  const { outstandingMinor, warnings } = balance;
  const { paidCase, reapplied, adjustmentMinor } = withOutstanding(endedCase, outstandingMinor, facts);
  const updated = withPeak(endedCase, withBalance(paidCase, row));
  if (outstandingMinor === endedCase.outstandingMinor) return unchanged(endedCase, updated, warnings);
  const changes = changesBetween(endedCase, updated);
  const data = { importId: publicId("imp", facts.importId), cycle: endedCase.cycle, changes: publicChanges(changes) };
  const { caseAfter, events } = announceUpdate(updated, data);
  return {
    outcome: "updated",
    caseAfter: { ...caseAfter, balanceSequence: caseAfter.sequence },
    replaces: undefined,
    changes,
    events,
    placementMinor: 0n,
    adjustmentMinor,
    reapplied,
    warnings,
  };
}

/**
 * Returns the case with a new outstanding amount, and how to get there. If nothing was owed before, the balance shows that
 * the debt was larger than known. Then the excess of later payments is no excess, and is applied to the debt.
 */
function withOutstanding(theCase: ImportedCase, outstandingMinor: bigint, { later }: PlanFacts) {
  const isLarger = theCase.outstandingMinor === 0n && outstandingMinor > 0n;
  const held = isLarger ? later.payments.filter(({ heldMinor }) => heldMinor > 0n) : [];
  const reapplied = held.map(({ bookingId, heldMinor }) => ({ bookingId, amountMinor: heldMinor }));
  const reappliedMinor = sumOf(reapplied);
  return {
    paidCase: { ...theCase, outstandingMinor, excessMinor: theCase.excessMinor - reappliedMinor },
    reapplied,
    adjustmentMinor: outstandingMinor - theCase.outstandingMinor + reappliedMinor,
  };
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
  const newCase: ImportedCase = withChanges(
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
      balanceMinor: null,
      balanceAsOf: null,
      balanceSequence: null,
    },
    row.details,
  );
  const blank = withBalance(newCase, row);
  const opened = numberEvents(blank, ["case.created"]);
  const data = { importId: publicId("imp", facts.importId), cycle: blank.cycle };
  const created = opened.events.map((event) => ({ ...event, status: blank.status, data }));
  const { caseAfter, events } =
    outstandingMinor > 0n ? { ...opened, events: [] } : settle(opened.caseAfter, row, facts);
  return {
    outcome,
    caseAfter: { ...caseAfter, balanceSequence: caseAfter.sequence },
    replaces,
    changes: [],
    events: [...created, ...events],
    placementMinor: outstandingMinor,
    adjustmentMinor: 0n,
    reapplied: [],
    warnings,
  };
}

function knownBefore(row: UpsertRow, replaces: ImportedCase | undefined): CaseDetails {
  const { borrowerName, borrowerPhone } = row.details;
  if (replaces === undefined) return { ...NO_DETAILS, borrowerName, borrowerPhone, language: row.defaultLanguage };
  const amounts = row.currency === replaces.currency ? {} : { minimumMinor: null, emiMinor: null };
  return { ...replaces, ...amounts };
}

/** Plans a row for an open case, or for a collected case that the row reopens. */
function planUpdate(row: UpsertRow, current: ImportedCase, balance: Balance, facts: PlanFacts): RowPlan {
  const { outstandingMinor } = balance;
  const { details, erasedAt, warnings } = applicableDetails(row, current, balance.warnings);
  const { paidCase, reapplied, adjustmentMinor } = withOutstanding(current, outstandingMinor, facts);
  const updated = withPeak(current, withBalance({ ...withChanges(paidCase, details), erasedAt }, row));
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
  const outcome = outcomeOf(row, current, outstandingMinor);
  const { caseAfter, events } = {
    updated: () => announceUpdate(updated, data),
    reopened: () => reopen(updated, data, facts),
    collected: () => collect(updated, facts),
    settled: () => settle(updated, row, facts),
  }[outcome]();
  return {
    outcome,
    // The balance includes what was recorded up to the events of the row.
    caseAfter: { ...caseAfter, balanceSequence: caseAfter.sequence },
    replaces: undefined,
    changes,
    events,
    placementMinor: 0n,
    adjustmentMinor,
    reapplied,
    warnings,
  };
}

function outcomeOf(row: UpsertRow, { closedAt }: ImportedCase, outstandingMinor: bigint) {
  if (outstandingMinor > 0n) return closedAt === null ? "updated" : "reopened";
  return row.outstandingMinor > 0n ? "collected" : "settled";
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
  { later, now }: PlanFacts,
): { caseAfter: ImportedCase; events: PlannedEvent[] } {
  const verdict = transition(theCase, { kind: "later_payments_clear" }, now);
  if (!verdict.allowed) throw new Error(`An open case cannot become collected: ${verdict.refusal.detail}`);
  const { caseAfter, events } = verdict;
  const last = later.payments
    .filter(({ isReversed }) => !isReversed)
    .reduce((latest, one) => (one.paidAt >= latest.paidAt ? one : latest));
  const data = { closeReason: caseAfter.closeReason, reference: last.reference };
  return { caseAfter, events: events.map((event) => ({ ...event, status: caseAfter.status, data })) };
}

/** Reopens a collected case, because its debt was larger than known. */
function reopen(
  theCase: ImportedCase,
  data: Record<string, unknown>,
  { holder, now }: PlanFacts,
): { caseAfter: ImportedCase; events: PlannedEvent[] } {
  const verdict = transition(theCase, { kind: "reopen_by_balance", keepsHolder: holder !== null }, now);
  if (!verdict.allowed) throw new Error(`A collected case cannot be reopened: ${verdict.refusal.detail}`);
  const { caseAfter, events } = verdict;
  const outstandingAsOf = caseAfter.outstandingAsOf?.toISOString() ?? null;
  const reopened = { reference: null, reversalReference: null, fieldPartner: holder, outstandingAsOf, ...data };
  return { caseAfter, events: events.map((event) => ({ ...event, status: caseAfter.status, data: reopened })) };
}

function announceUpdate(
  theCase: ImportedCase,
  data: Record<string, unknown>,
): { caseAfter: ImportedCase; events: PlannedEvent[] } {
  const { caseAfter, events } = numberEvents(theCase, ["case.updated"]);
  return { caseAfter, events: events.map((event) => ({ ...event, status: caseAfter.status, data })) };
}
