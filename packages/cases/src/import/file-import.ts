import { send, statement } from "@collections/database";
import { type EntityManager, tableOf, type Tx } from "@collections/entities";
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
    finishedAt: p.datetime().columnType("timestamptz").strictNullable(),
  },
});

export type FileImport = InferEntity<typeof FileImport>;

/** The progress of one file of one lender. */
export interface FileProgress {
  readonly lenderId: string;
  /** Identifies the file by its content and by the options with which it is read. */
  readonly fileKey: string;
  /** The name of the file without its folder. */
  readonly fileName: string;
  /** The number of rows, from the beginning of the file, that have been applied or rejected. */
  readonly rowsDone: number;
  /** The length in bytes of the file of rejected rows after `rowsDone` rows. */
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
  return (await em.findOne(FileImport, { lenderId, fileKey }, { disableIdentityMap: true })) ?? undefined;
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
  send(tx, upsertProgress, fileTable.values({ ...progress, updatedAt: now }, fileTable.properties));
}

const fileTable = tableOf(FileImport);
const [, , ...CHANGED] = fileTable.properties;

const upsertProgress = statement(
  "cases.record-file-progress",
  `insert into cases.file_import
     (${fileTable.columnList(fileTable.properties)})
   values (${fileTable.parameterList(fileTable.properties)})
   on conflict (lender_id, file_key) do update
   set ${fileTable.assignFrom("excluded", CHANGED)}`,
);
