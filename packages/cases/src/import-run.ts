import { type EntityManager, send, statement, type Tx } from "@collections/database";
import { defineEntity, type InferEntity, p } from "@mikro-orm/core";
import type { RowFault } from "./row-fault.ts";

/** How many rows of an import had which outcome. */
export type ImportSummary = Readonly<Record<string, number>>;

/** A row that was refused for what its case was like, by its place among the rows. */
export interface RefusedRow {
  readonly index: number;
  readonly errors: readonly RowFault[];
}

/** One import that was applied; a rehearsal leaves none. */
export const ImportRun = defineEntity({
  name: "ImportRun",
  tableName: "import_run",
  schema: "cases",
  properties: {
    lenderId: p.uuid().primary(),
    id: p.uuid().primary(),
    summary: p.json<ImportSummary>(),
    refused: p.json<readonly RefusedRow[]>(),
    createdAt: p.datetime().columnType("timestamptz"),
  },
});

/** An import as it was recorded: how many rows had which outcome, and which rows their cases refused. */
export type ImportRun = InferEntity<typeof ImportRun>;

const recordRun = statement(
  "cases.record-import",
  "insert into cases.import_run (lender_id, id, summary, refused, created_at) values ($1, $2, $3, $4, $5)",
);

/**
 * Records an import beside the cases that it changed. An id that is taken already fails the transaction.
 *
 * @example
 * const summary = { created: 998, updated: 0, unchanged: 0, rejected: 2 };
 * recordImport(tx, { lenderId, importId: newId(), summary, refused: [] }, now);
 */
export function recordImport(
  tx: Tx,
  run: { lenderId: string; importId: string; summary: ImportSummary; refused: readonly RefusedRow[] },
  now: Date,
): void {
  const { lenderId, importId, summary, refused } = run;
  send(tx, recordRun, [lenderId, importId, JSON.stringify(summary), JSON.stringify(refused), now]);
}

/**
 * An import that was applied, or undefined.
 *
 * @example
 * const before = await importRun(em, lenderId, "0193bf7c-52a0-7000-8000-000000000001");
 * const created = before?.summary["created"] ?? 0;
 */
export async function importRun(em: EntityManager, lenderId: string, id: string): Promise<ImportRun | undefined> {
  return (await em.findOne(ImportRun, { lenderId, id }, { disableIdentityMap: true })) ?? undefined;
}
