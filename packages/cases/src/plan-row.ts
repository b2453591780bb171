import { publicId } from "@collections/database";
import { toDecimal, toWire } from "@collections/money";
import {
  type CaseDetails,
  detailChanges,
  type FieldChange,
  NO_DETAILS,
  publicChanges,
  withChanges,
} from "./case-details.ts";
import type { CaseStatus, NumberedEvent } from "./case-status.ts";
import type { ImportedCase } from "./locked-case.ts";
import type { CaseRow, ControlRow, UpsertRow } from "./row.ts";
import { pointerTo, type RowFault, type RowFaultCode, type RowWarning, type RowWarningCode } from "./row-fault.ts";
import { numbered, transition, type Trigger } from "./transitions.ts";

/** What a row's verdict depends on besides the row and its case. */
export interface PlanFacts {
  readonly lenderId: string;
  /** Id of the import; the events' data show it as `imp_…`. */
  readonly importId: string;
  /** Id of the case, should the row make one. */
  readonly newCaseId: string;
  /** Sum of the loan's payments with a `paidAt` after the row's `outstandingAsOf`; 0 when the row has none. */
  readonly paymentsAfterSnapshotMinor: bigint;
  readonly now: Date;
}

/** An event that a row brings about, with its status and the `data` of its body. */
export interface PlannedEvent extends NumberedEvent {
  readonly status: CaseStatus;
  readonly data: Readonly<Record<string, unknown>>;
}

/** The outcomes that change something. */
export type AppliedOutcome = "created" | "reopened" | "updated" | "settled" | "held" | "released" | "withdrawn";

/** What to do about one row. Nothing is written by it; `caseAfter` goes to the write verbs. */
export type RowPlan =
  | {
      readonly outcome: AppliedOutcome;
      readonly caseAfter: ImportedCase;
      /** The case whose loan now has a new cycle: it stops being the current one. */
      readonly replaces: ImportedCase | undefined;
      readonly changes: readonly FieldChange[];
      readonly events: readonly PlannedEvent[];
      /** To book as the placement of a new case: at least 0. */
      readonly placementMinor: bigint;
      /** To book as a correction of the balance, with its sign. */
      readonly adjustmentMinor: bigint;
      readonly warnings: readonly RowWarning[];
    }
  | { readonly outcome: "unchanged"; readonly caseAfter: ImportedCase; readonly warnings: readonly RowWarning[] }
  | { readonly outcome: "rejected"; readonly errors: readonly RowFault[] };

/**
 * The verdict on one checked row over the loan's current case, which is locked or missing. The lender owns the balance,
 * but its file is a snapshot: payments after it are taken off. A case that has ended is never changed: a row with a
 * balance opens the loan's next cycle.
 *
 * @example
 * const [current] = await lockCasesForImport(tx, [{ lenderId, loan: row.sourceLoanNumber }]);
 * const facts = { lenderId, importId: newId(), newCaseId: newId(), paymentsAfterSnapshotMinor: 0n, now };
 * const plan = planRow(row, current, facts);
 * if (plan.outcome === "rejected") throw new Error(plan.errors.map(({ detail }) => detail).join(" "));
 * if (plan.outcome === "created") await insertCases(tx, [plan.caseAfter], [], now);
 */
export function planRow(row: CaseRow, current: ImportedCase | undefined, facts: PlanFacts): RowPlan {
  if (row.action !== "upsert") return planControl(row, current, facts);
  return withLostReason(row, planUpsert(row, current, facts));
}

function planUpsert(row: UpsertRow, current: ImportedCase | undefined, facts: PlanFacts): RowPlan {
  const balance = balanceOf(row, current, facts);
  if (current === undefined) return openCase("created", row, undefined, balance, facts);
  if (current.closedAt !== null) return planAfterTheEnd(row, current, current.closedAt, balance, facts);
  if (row.currency !== current.currency) {
    const detail = `The case is in ${current.currency} and keeps it until it ends; send amounts in that currency.`;
    return rejected(row, "CURRENCY_MISMATCH", "currency", detail);
  }
  return planUpdate(row, current, balance, facts);
}

/** A row that neither settles the case nor repeats the reason that it has would lose its own without a word. */
function withLostReason(row: UpsertRow, plan: RowPlan): RowPlan {
  if (row.reason === null || plan.outcome === "rejected" || plan.caseAfter.statusReason === row.reason) return plan;
  const detail = "A reason is kept only of a row that ends, holds or releases the case; this one does not.";
  return { ...plan, warnings: [...plan.warnings, warningOf(row, "FIELD_NOT_APPLIED", "reason", detail)] };
}

interface Balance {
  readonly outstandingMinor: bigint;
  readonly warnings: readonly RowWarning[];
}

function balanceOf(row: UpsertRow, current: ImportedCase | undefined, facts: PlanFacts): Balance {
  const paidMinor = current?.currency === row.currency ? facts.paymentsAfterSnapshotMinor : 0n;
  if (paidMinor === 0n || !row.details.outstandingAsOf) {
    return { outstandingMinor: row.outstandingMinor, warnings: row.warnings };
  }
  const outstandingMinor = row.outstandingMinor > paidMinor ? row.outstandingMinor - paidMinor : 0n;
  const paid = `${toDecimal(paidMinor, row.currency)} ${row.currency}`;
  const detail = `Payments of ${paid} were captured after the snapshot and subtracted.`;
  const warning = warningOf(row, "PAYMENT_AFTER_SNAPSHOT", "outstandingAmount", detail);
  return { outstandingMinor, warnings: [...row.warnings, warning] };
}

function planAfterTheEnd(
  row: UpsertRow,
  endedCase: ImportedCase,
  closedAt: Date,
  balance: Balance,
  facts: PlanFacts,
): RowPlan {
  const { outstandingAsOf } = row.details;
  if (row.outstandingMinor > 0n && outstandingAsOf && outstandingAsOf < closedAt) {
    const detail = `The snapshot is older than the end of the case at ${closedAt.toISOString()}.`;
    return rejected(row, "STALE_SNAPSHOT", "outstandingAsOf", detail);
  }
  if (balance.outstandingMinor === 0n) {
    return { outcome: "unchanged", caseAfter: endedCase, warnings: balance.warnings };
  }
  return openCase("reopened", row, endedCase, balance, facts);
}

/**
 * A new case, which carries on the loan's numbers and what was known of its borrower: a refused consent outlives a
 * cycle. A loan without a balance is opened and settled at once, so that a late confirmation of it still has a place.
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
      status: "new",
      statusReason: null,
      statusBeforeHold: null,
      fieldWork: "open",
      blockedAt: null,
      workBegun: false,
      assignedFieldPartnerId: null,
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
  const opened = numbered(blank, ["case.created"]);
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
  const updated: ImportedCase = { ...withChanges(current, row.details), outstandingMinor };
  const changes = changesBetween(current, updated);
  const settles = outstandingMinor === 0n;
  // The day of a snapshot that says nothing new is not news.
  if (!settles && changes.every(({ field }) => field === "outstandingAsOf")) {
    return { outcome: "unchanged", caseAfter: current, warnings };
  }
  const data = {
    importId: publicId("imp", facts.importId),
    cycle: current.cycle,
    changes: publicChanges(changes),
  };
  const { caseAfter, events } = settles ? settle(updated, row, facts) : told(updated, data);
  return {
    outcome: settles ? "settled" : "updated",
    caseAfter,
    replaces: undefined,
    changes,
    events,
    placementMinor: 0n,
    adjustmentMinor: outstandingMinor - current.outstandingMinor,
    warnings,
  };
}

/** An action on a case that is so already, or has ended, is harmless: the same file may be sent twice. */
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
    const warning = warningOf(row, "CASE_ENDED", "action", `The case has ended as ${current.status}; nothing to do.`);
    return { outcome: "unchanged", caseAfter: current, warnings: ended ? [...row.warnings, warning] : row.warnings };
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
  if (!verdict.allowed) throw new Error(`An open case refused to be settled: ${verdict.refusal.detail}`);
  const { caseAfter, events } = verdict;
  const data = { reason: reason ?? caseAfter.closeReason };
  return { caseAfter, events: events.map((event) => ({ ...event, status: caseAfter.status, data })) };
}

function told(
  theCase: ImportedCase,
  data: Record<string, unknown>,
): { caseAfter: ImportedCase; events: PlannedEvent[] } {
  const { caseAfter, events } = numbered(theCase, ["case.updated"]);
  return { caseAfter, events: events.map((event) => ({ ...event, status: caseAfter.status, data })) };
}

function rejected(row: CaseRow, code: RowFaultCode, field: string, detail: string): RowPlan {
  return { outcome: "rejected", errors: [{ code, pointer: pointerTo(`/rows/${row.index}`, field), detail }] };
}

function warningOf(row: CaseRow, code: RowWarningCode, field: string, detail: string): RowWarning {
  return { code, pointer: pointerTo(`/rows/${row.index}`, field), detail };
}
