import { send, statement, type Tx } from "@collections/database";
import { defineEntity, type InferEntity, p } from "@mikro-orm/core";

/** How many rows of an import had which outcome. */
export type ImportSummary = Readonly<Record<string, number>>;

/** One import that was applied; a rehearsal leaves none. */
export const ImportRun = defineEntity({
  name: "ImportRun",
  tableName: "import_run",
  schema: "cases",
  properties: {
    lenderId: p.uuid().primary(),
    id: p.uuid().primary(),
    summary: p.json<ImportSummary>(),
    createdAt: p.datetime().columnType("timestamptz"),
  },
});

export type ImportRun = InferEntity<typeof ImportRun>;

const recordRun = statement(
  "cases.record-import",
  "insert into cases.import_run (lender_id, id, summary, created_at) values ($1, $2, $3, $4)",
);

/** Records an import beside the cases that it changed. */
export function recordImport(
  tx: Tx,
  run: { lenderId: string; importId: string; summary: ImportSummary },
  now: Date,
): void {
  send(tx, recordRun, [run.lenderId, run.importId, JSON.stringify(run.summary), now]);
}
