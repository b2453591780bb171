import { type EntityManager, query, send, statement, tableOf, transaction, type Tx } from "@collections/database";
import { defineEntity, type InferEntity, p } from "@mikro-orm/core";
import type { ComparisonTotals, CurrencyTotal, DifferenceList } from "./comparison.ts";
import type { RunKey } from "./reconciliation-row.ts";

/** The counts and sums of a run. */
export interface RunTotals extends ComparisonTotals {
  /** The number of differences in each list, whether they are stored or not. */
  readonly lists: Readonly<Record<DifferenceList, number>>;
  /** Whether all differences are stored. */
  readonly isComplete: boolean;
}

/** Counts and sums as JSON stores them: amounts are digits of minor units. */
interface StoredTotals extends Omit<RunTotals, "yours" | "ours" | "isComplete"> {
  readonly yours: readonly StoredTotal[];
  readonly ours: readonly StoredTotal[];
  /** Absent in runs of earlier versions. */
  readonly isComplete?: boolean;
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
    /** The last run of the same window before this run that has loans in common with this run, and matched a payment. */
    previousRunId: p.uuid().strictNullable(),
    startedAt: p.datetime().columnType("timestamptz"),
  },
});
type StoredRun = InferEntity<typeof ReconciliationRunEntity>;

/** A run of a reconciliation: who compared which window, when, and with which result. */
export interface ReconciliationRun extends Omit<StoredRun, "totals"> {
  readonly totals: RunTotals;
}

/** The run to begin. */
export type NewReconciliationRun = Omit<ReconciliationRun, "totals" | "previousRunId">;

/**
 * Locks a run until the transaction ends, and waits for another transaction that has locked the same run. Then tries to
 * lock all reconciliations of the lender. Returns false, without waiting, if another run has this lock.
 *
 * @example
 * if (!(await lockReconciliations(tx, { lenderId, runId }))) throw new Error("Another reconciliation is running.");
 */
export async function lockReconciliations(tx: Tx, { lenderId, runId }: RunKey): Promise<boolean> {
  send(tx, lockRun, [lenderId, runId]);
  const [lock] = await query<{ isLocked: boolean }>(tx, tryLock, [lenderId]);
  return lock!.isLocked;
}

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
 * Stores the totals of a run, in the transaction that began it, and the last earlier run of the same window that has loans
 * in common with this run. A run that matched nothing does not count: it may have compared the wrong file.
 *
 * @example
 * const counts = DIFFERENCE_LISTS.map((list) => [list, differences.filter((one) => one.list === list).length]);
 * const lists = Object.fromEntries(counts);
 * await endRun(tx, { lenderId, runId, window }, { ...comparison.totals(), lists, isComplete: true });
 */
export async function endRun(
  tx: Tx,
  { lenderId, runId, window }: RunKey & { readonly window: { readonly from: Date; readonly to: Date } },
  totals: RunTotals,
): Promise<void> {
  const values = [lenderId, runId, window.from.toISOString(), window.to.toISOString(), totals.loans ?? []];
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

/**
 * Returns the latest runs of a lender, the latest first. `after` is the id of the last run of the previous page; if
 * this run has been deleted, all later runs of the list have been deleted too, and the page is empty.
 *
 * @example
 * const latest = await listReconciliations(em, lenderId, { limit: 50 });
 * const earlier = await listReconciliations(em, lenderId, { after: latest.at(-1)?.id, limit: 50 });
 */
export async function listReconciliations(
  em: EntityManager,
  lenderId: string,
  { after, limit }: { readonly after?: string | undefined; readonly limit: number },
): Promise<ReconciliationRun[]> {
  const last = after === undefined ? undefined : await reconciliationRun(em, { lenderId, runId: after });
  if (after !== undefined && !last) return [];
  const earlier = last && {
    $or: [{ startedAt: { $lt: last.startedAt } }, { startedAt: last.startedAt, id: { $lt: last.id } }],
  };
  const orderBy = { startedAt: "desc", id: "desc" } as const;
  const options = { orderBy, limit, disableIdentityMap: true };
  const runs = await em.find(ReconciliationRunEntity, { lenderId, ...earlier }, options);
  return runs.map((run) => ({ ...run, totals: readTotals(run.totals) }));
}

/** The maximum number of differences that one transaction deletes. */
const DELETED_AT_A_TIME = 10_000;

/**
 * Deletes the runs of a lender that were started before a time, with their differences. Many short transactions are
 * made; if the call ends early, the next call deletes the rest. Returns the number of deleted runs.
 *
 * @example
 * const aYearAgo = new Date("2025-11-21T00:00:00Z");
 * const deleted = await forgetReconciliations(em, lenderId, aYearAgo);
 */
export async function forgetReconciliations(em: EntityManager, lenderId: string, before: Date): Promise<number> {
  const old = await em.find(
    ReconciliationRunEntity,
    { lenderId, startedAt: { $lt: before } },
    { fields: ["id"], disableIdentityMap: true },
  );
  for (const { id } of old) {
    const values = [lenderId, id, DELETED_AT_A_TIME];
    const deleteSome = () => transaction(em, (tx) => query(tx, deleteDifferences, values));
    while ((await deleteSome()).length === DELETED_AT_A_TIME);
    await transaction(em, (tx) => query(tx, deleteRun, [lenderId, id]));
  }
  return old.length;
}

function storedTotals({ yours, ours, ...totals }: RunTotals): StoredTotals {
  const stored = (sums: readonly CurrencyTotal[]) =>
    sums.map((sum) => ({ ...sum, amountMinor: String(sum.amountMinor) }));
  return { ...totals, yours: stored(yours), ours: stored(ours) };
}

function readTotals({ yours, ours, isComplete, ...totals }: StoredTotals): RunTotals {
  const read = (sums: readonly StoredTotal[]) => sums.map((sum) => ({ ...sum, amountMinor: BigInt(sum.amountMinor) }));
  return {
    ...totals,
    yours: read(yours),
    ours: read(ours),
    isComplete: isComplete ?? Object.values(totals.lists).every((count) => count <= STORED_BY_EARLIER_VERSIONS),
  };
}

const table = tableOf(ReconciliationRunEntity);
const ENDED = ["totals", "previousRunId"] as const;
const NO_TOTALS = {} as StoredTotals;
/** The number of differences of each list that every run of an earlier version has stored. */
const STORED_BY_EARLIER_VERSIONS = 10_000;

const lockRun = statement(
  "ledger.lock-reconciliation",
  "select pg_advisory_xact_lock(hashtextextended('ledger.reconciliation/' || $1::uuid::text || '/' || $2::uuid::text, 0))",
);

const tryLock = statement(
  "ledger.lock-reconciliations",
  `select pg_try_advisory_xact_lock(hashtextextended('ledger.reconciliations/' || $1::uuid::text, 0)) as "isLocked"`,
);

const insertRun = statement(
  "ledger.begin-reconciliation",
  `insert into ${table.name} (${table.columnList(table.properties)}) values (${table.parameterList(table.properties)})`,
);

const deleteDifferences = statement(
  "ledger.delete-differences",
  `delete from ledger.reconciliation_difference d
   where d.lender_id = $1 and d.run_id = $2 and d.place = any (array(
     select p.place from ledger.reconciliation_difference p
     where p.lender_id = $1 and p.run_id = $2 order by p.place limit $3::bigint))
   returning d.place`,
);

const deleteRun = statement(
  "ledger.delete-reconciliation",
  `delete from ${table.name} where lender_id = $1 and id = $2`,
);

const selectPrevious = statement(
  "ledger.previous-reconciliation",
  `select id from ${table.name}
   where lender_id = $1 and id <> $2 and window_from = $3 and window_to = $4
     and (totals ->> 'matched')::bigint > 0 and (totals -> 'loans' ?| $5::text[] or totals -> 'loans' is null)
   order by started_at desc, id desc limit 1`,
);

const updateRun = statement(
  "ledger.end-reconciliation",
  `update ${table.name} set ${table.assignParameters(ENDED, 3)} where lender_id = $1 and id = $2`,
);
