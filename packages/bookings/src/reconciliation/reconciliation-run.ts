import { type EntityManager, query, send, statement, tableOf, type Tx } from "@collections/database";
import { defineEntity, type InferEntity, p } from "@mikro-orm/core";
import type { ComparisonTotals, CurrencyTotal } from "./comparison.ts";
import type { RunKey } from "./reconciliation-row.ts";

/** Counts and sums as JSON stores them: amounts are digits of minor units. */
interface StoredTotals extends Omit<ComparisonTotals, "yours" | "ours"> {
  readonly yours: readonly StoredTotal[];
  readonly ours: readonly StoredTotal[];
}

interface StoredTotal extends Omit<CurrencyTotal, "amountMinor"> {
  readonly amountMinor: string;
}

/**
 * A comparison of a lender's rows with the booked payments of a window. Other transactions see a run only when it is
 * complete.
 */
export const ReconciliationRunEntity = defineEntity({
  name: "ReconciliationRun",
  schema: "ledger",
  tableName: "reconciliation_run",
  properties: {
    lenderId: p.uuid().primary(),
    id: p.uuid().primary(),
    windowFrom: p.datetime().columnType("timestamptz"),
    windowTo: p.datetime().columnType("timestamptz"),
    /** Who requested the run: the id of an API key, or `operator`. */
    requestedBy: p.text(),
    /** The name of the file. Null for a request of the API. */
    fileName: p.text().strictNullable(),
    totals: p.json<StoredTotals>(),
    /** The last run of the same window before this run. */
    previousRunId: p.uuid().strictNullable(),
    startedAt: p.datetime().columnType("timestamptz"),
  },
});
type StoredRun = InferEntity<typeof ReconciliationRunEntity>;

/** A run of a reconciliation: who compared which window, when, and with which result. */
export interface ReconciliationRun extends Omit<StoredRun, "totals"> {
  readonly totals: ComparisonTotals;
}

/** The run to begin. */
export type NewReconciliationRun = Omit<ReconciliationRun, "totals" | "previousRunId">;

/**
 * Begins a run. Waits for a concurrent transaction that has begun a run with the same id. If such a run exists, the
 * statement fails with a unique violation.
 *
 * @example
 * await beginRun(tx, { ...run, startedAt: new Date() });
 */
export async function beginRun(tx: Tx, run: NewReconciliationRun): Promise<void> {
  await query(tx, insertRun, table.values({ ...run, totals: NO_TOTALS, previousRunId: null }, table.properties));
}

/**
 * Stores the totals of a run, in the transaction that began it, and the last earlier run of the same window.
 *
 * @example
 * await endRun(tx, { lenderId, runId, window }, comparison.totals());
 */
export async function endRun(
  tx: Tx,
  { lenderId, runId, window }: RunKey & { readonly window: { readonly from: Date; readonly to: Date } },
  totals: ComparisonTotals,
): Promise<void> {
  const values = [lenderId, runId, window.from.toISOString(), window.to.toISOString()];
  const [previous] = await query<{ id: string }>(tx, selectPrevious, values);
  const ended = { totals: storedTotals(totals), previousRunId: previous?.id ?? null };
  send(tx, updateRun, [lenderId, runId, ...table.values(ended, ENDED)]);
}

/**
 * Returns a run, or undefined if the lender has no such run.
 *
 * @example
 * const run = await reconciliationRun(em, { lenderId, runId });
 */
export async function reconciliationRun(
  em: EntityManager,
  { lenderId, runId }: RunKey,
): Promise<ReconciliationRun | undefined> {
  const run = await em.findOne(ReconciliationRunEntity, { lenderId, id: runId }, { disableIdentityMap: true });
  return run ? { ...run, totals: readTotals(run.totals) } : undefined;
}

function storedTotals({ yours, ours, ...totals }: ComparisonTotals): StoredTotals {
  const stored = (sums: readonly CurrencyTotal[]) =>
    sums.map((sum) => ({ ...sum, amountMinor: String(sum.amountMinor) }));
  return { ...totals, yours: stored(yours), ours: stored(ours) };
}

function readTotals({ yours, ours, ...totals }: StoredTotals): ComparisonTotals {
  const read = (sums: readonly StoredTotal[]) => sums.map((sum) => ({ ...sum, amountMinor: BigInt(sum.amountMinor) }));
  return { ...totals, yours: read(yours), ours: read(ours) };
}

const table = tableOf(ReconciliationRunEntity);
const ENDED = ["totals", "previousRunId"] as const;
const NO_TOTALS = {} as StoredTotals;

const insertRun = statement(
  "ledger.begin-reconciliation",
  `insert into ${table.name} (${table.columnList(table.properties)}) values (${table.parameterList(table.properties)})`,
);

const selectPrevious = statement(
  "ledger.previous-reconciliation",
  `select id from ${table.name}
   where lender_id = $1 and id <> $2 and window_from = $3 and window_to = $4
   order by started_at desc, id desc limit 1`,
);

const updateRun = statement(
  "ledger.end-reconciliation",
  `update ${table.name} set ${table.assignParameters(ENDED, 3)} where lender_id = $1 and id = $2`,
);
