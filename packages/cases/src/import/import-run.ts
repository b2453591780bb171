import { query, send, statement } from "@collections/database";
import { type EntityManager, tableOf, type Tx } from "@collections/entities";
import { defineEntity, type InferEntity, p } from "@mikro-orm/core";
import type { RowFault } from "../fields/row-fault.ts";

/** The number of rows of an import, by outcome. */
export type ImportSummary = Readonly<Record<string, number>>;

/** A row that was rejected because of the state of its case. `index` is its position among the rows. */
export interface RefusedRow {
  readonly index: number;
  readonly errors: readonly RowFault[];
}

/** A request to import rows. A request for which the caller passed no id is recorded only if it was applied. */
export const ImportRun = defineEntity({
  name: "ImportRun",
  tableName: "import_run",
  schema: "cases",
  properties: {
    lenderId: p.uuid().primary(),
    id: p.uuid().primary(),
    summary: p.json<ImportSummary>(),
    refused: p.json<readonly RefusedRow[]>(),
    /** Whether the rows were written. False for a dry run, and for an atomic import with a rejected row. */
    applied: p.boolean(),
    dryRun: p.boolean(),
    atomic: p.boolean(),
    createdAt: p.datetime().columnType("timestamptz"),
  },
});

/** A recorded import: its options, the number of rows by outcome, and the rows rejected because of their cases. */
export type ImportRun = InferEntity<typeof ImportRun>;

/** The data to record about an import. */
export interface RecordedImport {
  readonly lenderId: string;
  readonly importId: string;
  readonly atomic: boolean;
  readonly summary: ImportSummary;
  readonly refused: readonly RefusedRow[];
}

/**
 * Records an applied import, in the transaction that changes the cases. An id that is already recorded makes the
 * transaction fail.
 *
 * @example
 * const summary = { created: 998, updated: 0, unchanged: 0, rejected: 2 };
 * recordImport(tx, { lenderId, importId: newId(), atomic: false, summary, refused: [] }, now);
 */
export function recordImport(
  tx: Tx,
  { lenderId, importId, atomic, summary, refused }: RecordedImport,
  now: Date,
): void {
  const run = { lenderId, id: importId, summary, refused, atomic, createdAt: now };
  send(tx, recordRun, runTable.values(run, APPLIED));
}

/**
 * Records an import that changed no case: a dry run, or an atomic import with a rejected row. Returns false, and
 * records nothing, if the id is already recorded.
 *
 * @example
 * const run = { lenderId, importId: newId(), atomic: false, summary: { created: 1000 }, refused: [] };
 * const isFirst = await transaction(em, (tx) => recordUnappliedImport(tx, { ...run, dryRun: true }, now));
 */
export async function recordUnappliedImport(
  tx: Tx,
  { lenderId, importId, dryRun, atomic, summary, refused }: RecordedImport & { readonly dryRun: boolean },
  now: Date,
): Promise<boolean> {
  const values = [lenderId, importId, JSON.stringify(summary), JSON.stringify(refused), dryRun, atomic, now];
  return (await query(tx, recordUnapplied, values)).length > 0;
}

/**
 * Returns a recorded import, or undefined if the id is not recorded.
 *
 * @example
 * const before = await importRun(em, lenderId, "0193bf7c-52a0-7000-8000-000000000001");
 * const created = before?.applied ? before.summary["created"] : 0;
 */
export async function importRun(em: EntityManager, lenderId: string, id: string): Promise<ImportRun | undefined> {
  return (await em.findOne(ImportRun, { lenderId, id }, { disableIdentityMap: true })) ?? undefined;
}

const runTable = tableOf(ImportRun);
/** The columns to insert for an applied import. `applied` and `dryRun` get their defaults. */
const APPLIED = ["lenderId", "id", "summary", "refused", "atomic", "createdAt"] as const;

const recordRun = statement(
  "cases.record-import",
  `insert into cases.import_run (${runTable.columnList(APPLIED)})
   values (${runTable.parameterList(APPLIED)})`,
);

const recordUnapplied = statement(
  "cases.record-unapplied-import",
  `insert into cases.import_run (${runTable.columnList(runTable.properties)})
   values ($1, $2, $3, $4, false, $5, $6, $7)
   on conflict do nothing
   returning id`,
);
