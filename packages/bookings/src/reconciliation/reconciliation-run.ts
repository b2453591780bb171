import { query, send, statement, transaction } from "@collections/database";
import { type EntityManager, tableOf, type Tx } from "@collections/entities";
import { defineEntity, type InferEntity, p } from "@mikro-orm/core";
import type { ComparisonTotals, CurrencyTotal, DifferenceList, ReconciliationWindow } from "./comparison.ts";
import type { RunKey } from "./reconciliation-row.ts";

/** The counts and sums of a run. */
export interface RunTotals extends ComparisonTotals {
  /** The number of differences in each list, whether they are stored or not. */
  readonly lists: Readonly<Record<DifferenceList, number>>;
  /** Whether all differences are stored. */
  readonly isComplete: boolean;
  /**
   * The number of differences of the previous run that this run no longer found. Null without a previous run, or if the
   * previous run has not stored all its differences.
   */
  readonly gone: number | null;
}

/** Counts and sums as JSON stores them: amounts are digits of minor units. */
interface StoredTotals extends Omit<RunTotals, "yours" | "ours"> {
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
    /** The last run of the same window before this run that has loans in common with this run, and matched a payment. */
    previousRunId: p.uuid().strictNullable(),
    startedAt: p.datetime().columnType("timestamptz"),
    digest: p.blob().strictNullable(),
    /** The number of rows and bookings that the run read. */
    compared: p.bigint(),
    /** The number of stored differences. */
    stored: p.bigint(),
    /** When the run was stored, by the clock of PostgreSQL. */
    recordedAt: p.datetime().columnType("timestamptz"),
  },
});
type StoredRun = InferEntity<typeof ReconciliationRunEntity>;

/** A run of a reconciliation: who compared which window, when, and with which result. */
export interface ReconciliationRun extends Omit<StoredRun, "totals" | "digest"> {
  readonly totals: RunTotals;
  /** The SHA-256 of the stored differences (RunDigest). Null in a run of an earlier version. */
  readonly digest: Buffer | null;
}

/** A run whose comparison has ended. */
export type NewReconciliationRun = Omit<ReconciliationRun, "recordedAt">;

/**
 * Tries to lock all reconciliations of a lender until the transaction ends. Returns false, without waiting, if another
 * run has this lock.
 *
 * @example
 * if (!(await lockReconciliations(tx, lenderId))) throw new Error("Another reconciliation is running.");
 */
export async function lockReconciliations(tx: Tx, lenderId: string): Promise<boolean> {
  const [lock] = await query<{ isLocked: boolean }>(tx, tryLock, [lenderId]);
  return lock!.isLocked;
}

/** An earlier run with which a run may be compared. */
export interface EarlierRun {
  readonly id: string;
  /** Whether all differences of the run are stored. */
  readonly isComplete: boolean;
}

/**
 * Returns the last run of a window, or undefined if there is none. A run that matched nothing does not count: it may have
 * compared the wrong file. With `loans`, a sample of the rows' loans (see LoanSample), only runs count that have loans in
 * common with it, and runs of earlier versions, which have no sample.
 *
 * @example
 * const previous = await lastRunOf(tx, lenderId, window, comparison.totals().loans);
 */
export async function lastRunOf(
  tx: Tx,
  lenderId: string,
  { from, to }: ReconciliationWindow,
  loans?: readonly string[],
): Promise<EarlierRun | undefined> {
  const values = [lenderId, from.toISOString(), to.toISOString(), loans ?? null];
  const [last] = await query<EarlierRun>(tx, selectLast, values);
  return last;
}

/**
 * Stores a run whose comparison has ended, in the transaction that has stored its differences.
 *
 * @example
 * recordRun(tx, { ...run, totals: { ...run.totals, ...comparison.totals(), isComplete: true, gone: null } });
 */
export function recordRun(tx: Tx, run: NewReconciliationRun): void {
  send(tx, insertRun, table.values({ ...run, totals: storedTotals(run.totals) }, INSERTED));
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
  return run ? readRun(run) : undefined;
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
  return runs.map(readRun);
}

/** The maximum number of differences that one transaction deletes. */
const DELETED_AT_A_TIME = 10_000;

/**
 * Deletes the runs of a lender that were recorded before a time, with their differences. Runs of the last 90 days are not
 * deleted, whatever the time. Many short transactions are made; if the call ends early, the next call deletes the rest.
 * Returns the number of deleted runs.
 *
 * @example
 * const before = new Date(Date.now() - 90 * 86_400_000);
 * const deleted = await pruneReconciliations(em, lenderId, before);
 */
export async function pruneReconciliations(em: EntityManager, lenderId: string, before: Date): Promise<number> {
  const old = await query<{ id: string; stored: bigint }>(em, selectOld, [lenderId, before.toISOString()]);
  let deleted = 0;
  for (const { id, stored } of old) {
    // A call may leave differences only if the run has as many as one call deletes.
    const calls = Number(stored) / DELETED_AT_A_TIME + 1;
    for (let call = 0; call < calls; call += 1) {
      const values = [lenderId, id, DELETED_AT_A_TIME];
      const [pruned] = await transaction(em, (tx) => query<{ isDeleted: boolean }>(tx, pruneRun, values));
      if (pruned!.isDeleted) deleted += 1;
      if (pruned!.isDeleted) break;
    }
  }
  return deleted;
}

function readRun({ digest, totals, ...run }: StoredRun): ReconciliationRun {
  return { ...run, digest: digest && Buffer.from(digest), totals: readTotals(totals) };
}

function storedTotals({ yours, ours, ...totals }: RunTotals): StoredTotals {
  const stored = (sums: readonly CurrencyTotal[]) =>
    sums.map((sum) => ({ ...sum, amountMinor: String(sum.amountMinor) }));
  return { ...totals, yours: stored(yours), ours: stored(ours) };
}

function readTotals({ yours, ours, ...totals }: StoredTotals): RunTotals {
  const read = (sums: readonly StoredTotal[]) => sums.map((sum) => ({ ...sum, amountMinor: BigInt(sum.amountMinor) }));
  return { ...totals, yours: read(yours), ours: read(ours) };
}

const table = tableOf(ReconciliationRunEntity);
const INSERTED = table.properties.filter((property) => property !== "recordedAt");

const tryLock = statement(
  "ledger.lock-reconciliations",
  `select pg_try_advisory_xact_lock(hashtextextended('ledger.reconciliations/' || $1::uuid::text, 0)) as "isLocked"`,
);

const insertRun = statement(
  "ledger.record-reconciliation",
  `insert into ${table.name} (${table.columnList(INSERTED)}) values (${table.parameterList(INSERTED)})`,
);

const selectOld = statement(
  "ledger.old-reconciliations",
  `select r.id, r.stored from ${table.name} r where r.lender_id = $1 and r.recorded_at < $2 order by r.recorded_at`,
);

const pruneRun = statement(
  "ledger.prune-reconciliation",
  `select ledger.prune_reconciliation($1::uuid, $2::uuid, $3::integer) as "isDeleted"`,
);

const selectLast = statement(
  "ledger.last-reconciliation",
  `select id, (totals ->> 'isComplete')::boolean as "isComplete" from ${table.name}
   where lender_id = $1 and window_from = $2 and window_to = $3 and (totals ->> 'matched')::bigint > 0
     and ($4::text[] is null or totals -> 'loans' ?| $4::text[] or totals -> 'loans' is null)
   order by started_at desc, id desc limit 1`,
);
