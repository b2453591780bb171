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
import type { CaseStatus, NumberedEvent } from "../case/case-status.ts";
import type { ImportedCase } from "../case/locked-case.ts";
import { peakOf, withPeak } from "../case/peak.ts";
import type { CaseRow, ControlRow, UpsertRow } from "./row.ts";
import {
  pointerTo,
  type RowFault,
  type RowFaultCode,
  type RowWarning,
  type RowWarningCode,
} from "../fields/row-fault.ts";
import { numberEvents, transition, type Trigger } from "../case/transitions.ts";
import { endOf } from "./ended-case.ts";

/**
 * A booked payment that was captured after the row's `outstandingAsOf`, so that the row's balance does not include it.
 */
export interface LaterPayment {
  readonly reference: string;
  /** The whole amount of the payment, in minor units of the case's currency. */
  readonly amountMinor: bigint;
  readonly paidAt: Date;
}

/** A reversal that happened after the row's `outstandingAsOf`, so that the row's balance does not include it. */
export interface LaterReversal {
  /** The reference of the payment. */
  readonly reference: string;
  /** The reversed amount, in minor units of the case's currency. */
  readonly amountMinor: bigint;
}

/** The inputs of a plan, besides the row and the loan's case. */
export interface PlanFacts {
  readonly lenderId: string;
  /** The id of the import. Events contain it in the form `imp_…`. */
  readonly importId: string;
  /** The id of the new case, if the row creates one. */
  readonly newCaseId: string;
  /** The payments of the loan with a `paidAt` after the row's `outstandingAsOf`; empty if the row has no such field. */
  readonly laterPayments: readonly LaterPayment[];
  /** The reversals of the loan's payments with a `reversedAt` after the row's `outstandingAsOf`. Default: none. */
  readonly laterReversals?: readonly LaterReversal[];
  readonly now: Date;
}

/** An event to emit for a row, with the status of the case and the `data` of its body. */
export interface PlannedEvent extends NumberedEvent {
  readonly status: CaseStatus;
  readonly data: Readonly<Record<string, unknown>>;
}

/** The outcomes with which a row creates or changes a case. */
export type AppliedOutcome =
  | "created"
  | "reopened"
  | "updated"
  | "settled"
  | "collected"
  | "held"
  | "released"
  | "withdrawn";

/** The plan for one row. `planRow` writes nothing; the caller passes `caseAfter` to the functions that write cases. */
export type RowPlan =
  | {
      readonly outcome: AppliedOutcome;
      readonly caseAfter: ImportedCase;
      /** The case of the previous cycle, which is no longer the current case of the loan. */
      readonly replaces: ImportedCase | undefined;
      readonly changes: readonly FieldChange[];
      readonly events: readonly PlannedEvent[];
      /** The amount to book as the placement of a new case; at least 0. */
      readonly placementMinor: bigint;
      /** The amount to book as an adjustment of the balance, with its sign. */
      readonly adjustmentMinor: bigint;
      readonly warnings: readonly RowWarning[];
    }
  | {
      readonly outcome: "unchanged";
      readonly caseAfter: ImportedCase;
      /** Whether `outstandingAsOf` or the peak changed: write them with `writeBalanceDates`, without an event. */
      readonly movesBalanceDate: boolean;
      readonly warnings: readonly RowWarning[];
    }
  | { readonly outcome: "rejected"; readonly errors: readonly RowFault[] };

/**
 * Plans one checked row. `current` is the loan's current case under its lock, or undefined. The lender determines the
 * balance; payments that were captured after the row's `outstandingAsOf` are subtracted from it, and later reversals are added. A row whose
 * `outstandingAsOf` is older than that of an open case changes nothing. A case that has ended does not change: a row
 * with a balance starts the loan's next cycle.
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
  return withReasonWarning(row, planUpsert(row, current, facts));
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

/** Returns the plan for a row that changes at most `outstandingAsOf` and the peak of the case. */
function unchanged(before: ImportedCase, caseAfter: ImportedCase, warnings: readonly RowWarning[]): RowPlan {
  const movesBalanceDate =
    before.outstandingAsOf?.getTime() !== caseAfter.outstandingAsOf?.getTime() || peakOf(before) !== peakOf(caseAfter);
  return { outcome: "unchanged", caseAfter, movesBalanceDate, warnings };
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
  const { outstandingMinor, warnings } = balance;
  const updated: ImportedCase = withPeak(current, { ...withChanges(current, row.details), outstandingMinor });
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
 * Plans a row that holds, releases or withdraws a case. An action that has no effect on the case is not a fault,
 * because the same file may be sent twice.
 */
function planControl(row: ControlRow, current: ImportedCase | undefined, facts: PlanFacts): RowPlan {
  if (current === undefined) {
    const detail = `There is no case of this loan to ${row.action}; import it first.`;
    return rejected(row, "LOAN_NOT_FOUND", "sourceLoanNumber", detail);
  }
  const trigger: Trigger = row.action === "release" ? { kind: "release" } : { kind: row.action, reason: row.reason };
  const verdict = transition(current, trigger, facts.now);
  if (!verdict.allowed) {
    const done = row.action === "withdraw" && current.closeReason === "withdrawn";
    const ended = verdict.refusal.code === "CASE_ENDED" && !done;
    const warning = warningOf(
      row,
      "CASE_ENDED",
      "action",
      `The case has already ended (status: ${current.status}); the row was ignored.`,
    );
    return unchanged(current, current, ended ? [...row.warnings, warning] : row.warnings);
  }
  const { caseAfter, events } = verdict;
  const data = { reason: row.reason };
  return {
    outcome: OUTCOMES[row.action],
    caseAfter,
    replaces: undefined,
    changes: [],
    events: events.map((event) => ({ ...event, status: caseAfter.status, data })),
    placementMinor: 0n,
    adjustmentMinor: 0n,
    warnings: row.warnings,
  };
}

const OUTCOMES = { hold: "held", release: "released", withdraw: "withdrawn" } as const;

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
 * Ends a case because later payments cover its whole balance. The event names the last of these payments that has not been
 * reversed in full.
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

function rejected(row: CaseRow, code: RowFaultCode, field: string, detail: string): RowPlan {
  return { outcome: "rejected", errors: [{ code, pointer: pointerTo(`/rows/${row.index}`, field), detail }] };
}

function warningOf(row: CaseRow, code: RowWarningCode, field: string, detail: string): RowWarning {
  return { code, pointer: pointerTo(`/rows/${row.index}`, field), detail };
}
