import { type EntityManager, query, send, statement, type Tx } from "@collections/database";
import { defineEntity, type InferEntity, p } from "@mikro-orm/core";
import type { ImportSummary } from "./import-run.ts";

/** The progress of the import of a file, as it is stored. */
export const FileImport = defineEntity({
  name: "FileImport",
  tableName: "file_import",
  schema: "cases",
  properties: {
    lenderId: p.uuid().primary(),
    fileKey: p.text().primary(),
    fileName: p.text(),
    rowsDone: p.integer(),
    rejectedBytes: p.bigint(),
    summary: p.json<ImportSummary>(),
    startedAt: p.datetime().columnType("timestamptz"),
    updatedAt: p.datetime().columnType("timestamptz"),
    finishedAt: p.datetime().columnType("timestamptz").nullable(),
  },
});

export type FileImport = InferEntity<typeof FileImport>;

/** The progress of one file of one lender. */
export interface FileProgress {
  readonly lenderId: string;
  /** Identifies the file by its content and the options it is read with. */
  readonly fileKey: string;
  /** The name of the file without its folder. */
  readonly fileName: string;
  /** The number of rows, from the beginning of the file, that have been applied or rejected. */
  readonly rowsDone: number;
  /** The length of the file of rejected rows at that point. */
  readonly rejectedBytes: bigint;
  readonly summary: ImportSummary;
  readonly startedAt: Date;
  readonly finishedAt: Date | null;
}

/**
 * Returns the progress of a file, or undefined if its import has not started.
 *
 * @example
 * const progress = await fileProgress(em, lenderId, "allocation-2026-11.csv/5f70bf18a086");
 * const rowsToSkip = progress?.rowsDone ?? 0;
 */
export async function fileProgress(
  em: EntityManager,
  lenderId: string,
  fileKey: string,
): Promise<FileProgress | undefined> {
  const [progress] = await query<FileProgress>(em, selectProgress, [lenderId, fileKey]);
  return progress;
}

/**
 * Stores the progress of a file. Call it in the transaction that imports the counted rows.
 *
 * @example
 * const file = { lenderId, fileKey: "allocation-2026-11.csv/5f70bf18a086", fileName: "allocation-2026-11.csv" };
 * const done = { rowsDone: 1_000, rejectedBytes: 0n, summary: { created: 1_000 }, finishedAt: null };
 * recordFileProgress(tx, { ...file, ...done, startedAt: now }, now);
 */
export function recordFileProgress(tx: Tx, progress: FileProgress, now: Date): void {
  send(tx, upsertProgress, [
    progress.lenderId,
    progress.fileKey,
    progress.fileName,
    progress.rowsDone,
    String(progress.rejectedBytes),
    JSON.stringify(progress.summary),
    progress.startedAt.toISOString(),
    now.toISOString(),
    progress.finishedAt?.toISOString() ?? null,
  ]);
}

const selectProgress = statement(
  "cases.file-progress",
  `select lender_id as "lenderId", file_key as "fileKey", file_name as "fileName", rows_done as "rowsDone",
     rejected_bytes as "rejectedBytes", summary, started_at as "startedAt", finished_at as "finishedAt"
   from cases.file_import where lender_id = $1 and file_key = $2`,
);

const upsertProgress = statement(
  "cases.record-file-progress",
  `insert into cases.file_import
     (lender_id, file_key, file_name, rows_done, rejected_bytes, summary, started_at, updated_at, finished_at)
   values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
   on conflict (lender_id, file_key) do update
   set file_name = excluded.file_name, rows_done = excluded.rows_done, rejected_bytes = excluded.rejected_bytes,
     summary = excluded.summary, started_at = excluded.started_at, updated_at = excluded.updated_at,
     finished_at = excluded.finished_at`,
);
