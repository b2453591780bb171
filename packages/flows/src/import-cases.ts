import {
  type CaseRow,
  type CheckedRow,
  checkRows,
  type ImportedCase,
  insertCases,
  lockCasesForImport,
  planRow,
  recordImport,
  type RowPlan,
  writeImportedCases,
} from "@collections/cases";
import { type EntityManager, newId, transaction, type Tx } from "@collections/database";
import {
  adjustment,
  caseAccounts,
  lenderAccounts,
  openAccounts,
  paymentsAfter,
  placement,
  postTransfers,
} from "@collections/ledger";
import type { LenderProfile } from "@collections/lenders";
import { emit } from "@collections/webhooks";
import { creditEnded } from "./credit-ended.ts";
import { caseEvent } from "./event.ts";
import { type ImportResult, importResult, type PlannedRow } from "./import-result.ts";

/** Rows that one import takes at most (contract: Limits). */
export const MAX_IMPORT_ROWS = 1_000;

/** A lender's rows and how to take them. */
export interface ImportRequest {
  readonly lender: LenderProfile;
  /** As parsed, amounts as `AmountLiteral`; at most MAX_IMPORT_ROWS. */
  readonly rows: readonly unknown[];
  /** Do everything but keep it. */
  readonly dryRun: boolean;
  /** All rows or none. */
  readonly atomic: boolean;
}

/**
 * Applies a file's rows to the lender's cases (contract: Partner endpoints, POST cases): good rows are applied although
 * others fail, unless `atomic`. Sending a file twice is harmless, also at the same time. A rehearsal does all of it,
 * and then takes it back.
 */
export async function importCases(
  em: EntityManager,
  request: ImportRequest,
  environment: string,
): Promise<ImportResult> {
  const { lender, dryRun, atomic } = request;
  const checked = checkRows(request.rows, lender);
  try {
    return await transaction(em, async (tx) => {
      const result = await applyRows(tx, checked, request, environment);
      if (dryRun || (atomic && !result.success)) throw new TakenBack(result);
      return result;
    });
  } catch (error) {
    if (error instanceof TakenBack) return error.result;
    throw error;
  }
}

/** Rolls back what has been done and carries out what it would have been. */
class TakenBack extends Error {
  override readonly name = "TakenBack";
  readonly result: ImportResult;

  constructor(result: ImportResult) {
    super("The import is taken back.");
    this.result = result;
  }
}

async function applyRows(
  tx: Tx,
  checked: readonly CheckedRow[],
  { lender, dryRun }: ImportRequest,
  environment: string,
): Promise<ImportResult> {
  const importId = newId();
  const now = new Date();
  const rows = checked.flatMap((one) => ("row" in one ? [one.row] : []));

  // Lock the loans, plan each row over its case, and make the new cases; a loan that another import has made in the
  // same moment is locked then and planned again.
  const planned = new Map<number, PlannedRow>();
  let open: readonly CaseRow[] = rows;
  while (open.length > 0) {
    const plans = await planRows(tx, open, lender, importId, now);
    const missed = new Set((await insertNewCases(tx, plans, now)).map(({ id }) => id));
    for (const plan of plans) if (!missed.has(newCaseIdOf(plan) ?? "")) planned.set(plan.row.index, plan);
    open = open.filter(({ index }) => !planned.has(index));
  }
  const applied = [...planned.values()].flatMap((one) => ("events" in one.plan ? [{ ...one, plan: one.plan }] : []));

  // Write the set: one statement per table.
  writeImportedCases(
    tx,
    applied.filter(({ plan }) => !isNew(plan)).map(({ plan }) => plan.caseAfter),
    now,
  );
  const created = applied.map(({ plan }) => plan).filter(isNew);
  openAccounts(tx, accountsFor(created, lender.id), now);
  const change = ({ caseAfter, events }: Applied) => ({
    lenderId: lender.id,
    caseId: caseAfter.id,
    currency: caseAfter.currency,
    sequence: events[0]?.sequence ?? caseAfter.sequence,
    effectiveAt: caseAfter.outstandingAsOf ?? now,
    recordedAt: now,
  });
  postTransfers(
    tx,
    applied.flatMap(({ plan }) => [
      ...placement({ ...change(plan), amountMinor: plan.placementMinor }),
      ...adjustment({ ...change(plan), changeMinor: plan.adjustmentMinor }),
    ]),
  );
  await creditEnded(
    tx,
    applied.filter(({ plan }) => plan.caseAfter.closedAt !== null && !isNew(plan)).map(({ plan }) => plan.caseAfter),
    now,
  );
  const origin = { lenderCode: lender.code, environment, now };
  emit(
    tx,
    applied.flatMap(({ plan }) =>
      plan.events.map((event) => caseEvent({ ...plan.caseAfter, status: event.status }, event, origin)),
    ),
  );
  const result = importResult(checked, planned, { importId, dryRun });
  recordImport(tx, { lenderId: lender.id, importId, summary: { ...result.summary } }, now);
  return result;
}

type Applied = Extract<RowPlan, { events: unknown }>;

async function planRows(
  tx: Tx,
  rows: readonly CaseRow[],
  lender: LenderProfile,
  importId: string,
  now: Date,
): Promise<PlannedRow[]> {
  const loans = rows.map(({ sourceLoanNumber }) => ({ lenderId: lender.id, loan: sourceLoanNumber }));
  const current = new Map((await lockCasesForImport(tx, loans)).map((one) => [one.sourceLoanNumber, one]));
  const paidAfter = await paidAfterSnapshots(tx, rows, lender.id);
  return rows.map((row) => {
    const facts = {
      lenderId: lender.id,
      importId,
      newCaseId: newId(),
      paymentsAfterSnapshotMinor: paidAfter.get(row.sourceLoanNumber) ?? 0n,
      now,
    };
    return { row, plan: planRow(row, current.get(row.sourceLoanNumber), facts) };
  });
}

/** By loan: the sum of what was paid after the moment that the row's balance is of. */
async function paidAfterSnapshots(tx: Tx, rows: readonly CaseRow[], lenderId: string): Promise<Map<string, bigint>> {
  const snapshots = rows.flatMap((row) => {
    const after = row.action === "upsert" ? row.details.outstandingAsOf : null;
    return after ? [{ lenderId, loan: row.sourceLoanNumber, after }] : [];
  });
  const sums = new Map<string, bigint>();
  for (const { sourceLoanNumber: loan, amountMinor } of await paymentsAfter(tx, snapshots)) {
    sums.set(loan, (sums.get(loan) ?? 0n) + amountMinor);
  }
  return sums;
}

function insertNewCases(tx: Tx, plans: readonly PlannedRow[], now: Date): Promise<ImportedCase[]> {
  const newOnes = plans.flatMap(({ plan }) => ("events" in plan && isNew(plan) ? [plan] : []));
  return insertCases(
    tx,
    newOnes.map(({ caseAfter }) => caseAfter),
    newOnes.flatMap(({ replaces }) => (replaces ? [replaces] : [])),
    now,
  );
}

function isNew({ outcome }: RowPlan): boolean {
  return outcome === "created" || outcome === "reopened";
}

function newCaseIdOf({ plan }: PlannedRow): string | undefined {
  return "caseAfter" in plan && isNew(plan) ? plan.caseAfter.id : undefined;
}

function accountsFor(created: readonly Applied[], lenderId: string) {
  const currencies = new Set(created.map(({ caseAfter }) => caseAfter.currency));
  return [
    ...[...currencies].flatMap((currency) => lenderAccounts(lenderId, currency)),
    ...created.flatMap(({ caseAfter: { id, currency } }) => caseAccounts(lenderId, id, currency)),
  ];
}
