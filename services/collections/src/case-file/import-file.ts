import { createHash } from "node:crypto";
import { setTimeout as wait } from "node:timers/promises";
import { type FileProgress, fileProgress, recordFileProgress } from "@collections/cases";
import { isUnavailable, newId, transaction } from "@collections/database";
import type { EntityManager, Tx } from "@collections/entities";
import { assignCasesIn, importCases, type ImportRequest, type ImportResult, MAX_IMPORT_ROWS } from "@collections/flows";
import { lenderById, type LenderProfile, LenderSuspendedError, recordAct } from "@collections/lenders";
import { type Batch, batchesOf, type Reading } from "./batches.ts";
import { columnAt, type Columns } from "../table-file/columns.ts";
import type { FileRecord } from "../table-file/csv-records.ts";
import type { RejectedFile, RejectedPlace, RejectedRow } from "../table-file/rejected-file.ts";
import type { ReadFile } from "../table-file/table-file.ts";
import type { Target } from "./case-columns.ts";
import type { CellFault } from "./file-row.ts";
import { type LeftOut, NO_MOVES, type RejectedExample, Tally, withResult } from "./tally.ts";

/** A file to apply to a lender's cases, or to check in a dry run. */
export interface FileImport {
  readonly file: ReadFile;
  /** The name of the file without its folder, for the audit log. */
  readonly fileName: string;
  readonly rejectedPlace: RejectedPlace;
  readonly reading: Reading;
  readonly lender: LenderProfile;
  readonly environment: string;
  /** Checks the whole file and changes nothing. */
  readonly dryRun: boolean;
  /** The progress of the earlier run to resume; undefined to start with the first row. */
  readonly from: FileProgress | undefined;
  /** When the import began. Default: when the earlier run began, or now. */
  readonly startedAt?: Date;
  /** The operator's reason for the import, for the audit log. */
  readonly reason: string | undefined;
  em(): EntityManager;
  /** Called with the number of rows that have been processed. */
  onProgress(rowsDone: number): void | Promise<void>;
}

/** The result of importing a file. */
export interface FileOutcome {
  readonly tally: Tally;
  /** Undefined when no row was rejected. */
  readonly rejectedPath: string | undefined;
}

/** The pauses between attempts while the database is unavailable or a case is locked. */
const RETRY_AFTER_MS = [1_000, 2_000, 4_000, 8_000, 16_000];

/**
 * Returns the key of a file's progress: a hash of its content and of the rules for reading it. The same file with other
 * rules has another key, so it counts as another import.
 */
export function fileKeyOf(file: ReadFile, { columns, readings, asOf, lender }: Reading): string {
  const { encoding, separator, sha256 } = file;
  // Leave out what earlier versions did not have: JSON omits an undefined field. The file key is then the same as in
  // those versions, so an import that such a version began can be resumed.
  const cutoff = lender.balanceCutoff ?? undefined;
  const headerLine = file.headerLine === 1 ? undefined : file.headerLine;
  const orders = new Set([...readings.values()].flatMap((one) => one.dateOrder ?? []));
  const [dateOrder = "dmy"] = orders;
  const others = [...readings].filter(([, one]) => one.isWhole || one.decimal === "," || orders.size > 1);
  const columnReadings = others.length > 0 ? others : undefined;
  const how = JSON.stringify({
    sha256,
    encoding,
    separator,
    used: columns.used,
    dateOrder,
    asOf,
    cutoff,
    headerLine,
    columnReadings,
    sheet: file.sheet?.name,
  });
  return createHash("sha256").update(how).digest("hex");
}

/**
 * Applies a file in imports of limited size. Each import records the progress in its transaction, and writes its
 * rejected rows before the commit. So a killed run can be resumed, and each row is applied once. Before each import,
 * throws LenderSuspendedError if the lender has been suspended.
 */
export async function importFile(asked: FileImport): Promise<FileOutcome> {
  const { file, reading, from, dryRun, rejectedPlace } = asked;
  await refuseIfSuspended(asked);
  const hasMoves = reading.columns.used.some(({ target }) => target === "assignTo");
  const tally = new Tally({ ...(hasMoves && NO_MOVES), ...from?.summary });
  const { header, separator } = file;
  const bytes = Number(from?.rejectedBytes ?? 0n);
  if (from?.finishedAt) return { tally, rejectedPath: bytes > 0 ? await rejectedPlace.earlierPath() : undefined };
  const startedAt = from?.startedAt ?? asked.startedAt ?? new Date();
  // If the file has changed while the command asked its question, apply nothing of it.
  if (!dryRun) await file.bytes.verify();
  if (!dryRun)
    await transaction(asked.em(), async (tx) => audit(tx, asked, "case_file.started", { from: from?.rowsDone }));
  const rejectedFile = await rejectedPlace.open({ header, separator, bytes });
  try {
    const rowsDone = from?.rowsDone ?? 0;
    for await (const batch of batchesOf(file, reading, { size: MAX_IMPORT_ROWS, rowsDone })) {
      await refuseIfSuspended(asked);
      await applyBatch(asked, batch, { tally, startedAt, rejectedFile });
    }
  } finally {
    await rejectedFile.close();
  }
  const { summary } = tally;
  if (!dryRun) {
    await transaction(asked.em(), async (tx) => {
      const now = new Date();
      const progress = progressOf(asked, { rowsDone: file.rows, rejectedFile, summary, startedAt });
      recordFileProgress(tx, { ...progress, finishedAt: now }, now);
      audit(tx, asked, "case_file.imported", summary);
    });
  }
  return { tally, rejectedPath: rejectedFile.bytes > 0 ? rejectedFile.path : undefined };
}

async function refuseIfSuspended({ em, lender }: FileImport): Promise<void> {
  const { state, code } = (await untilAvailable(() => lenderById(em(), lender.id)))!;
  if (state === "suspended") throw new LenderSuspendedError(code);
}

interface Running {
  readonly tally: Tally;
  readonly startedAt: Date;
  readonly rejectedFile: RejectedFile;
}

async function applyBatch(asked: FileImport, batch: Batch, { tally, startedAt, rejectedFile }: Running): Promise<void> {
  const { reading, lender, dryRun, environment } = asked;
  const rowsDone = batch.firstRow + batch.read.length + batch.faulty.length;
  const position = rejectedFile.bytes;
  let moved: Moved = NOTHING_MOVED;
  const request: ImportRequest = {
    lender,
    rows: batch.read.map(({ row }) => row),
    dryRun,
    atomic: false,
    leaveOutFaulty: true,
    // All attempts use the same import id, so that rows are not applied twice if a commit succeeded but its answer was
    // lost.
    importId: newId(),
    async onWritten(tx, result) {
      moved = await assignRows(tx, asked, batch, result);
    },
    async beforeCommit(tx, result) {
      const rejected = rejectedOf(batch, result, reading.columns);
      await rejectedFile.write(position, inOrder([...rejected, ...moved.refused]), tx);
      const summary = withResult(tally.summary, result, countsOf(rejected, moved));
      recordFileProgress(tx, progressOf(asked, { rowsDone, rejectedFile, summary, startedAt }), new Date());
    },
  };
  let attempts = 0;
  const result = await untilAvailable(() => {
    attempts += 1;
    return importCases(asked.em(), request, environment);
  });
  const rejected = rejectedOf(batch, result, reading.columns);
  tally.add(result, {
    lines: batch.read.map(({ record }) => record.line),
    counts: countsOf(rejected, moved),
    rejected: inOrder([...rejected, ...moved.refused]),
    leftOut: leftOutOf(batch, result, reading.columns),
  });
  // Take the counts that were stored with the commit. An earlier attempt may have committed although its answer was
  // lost, and then the last attempt has counted all rows as unchanged.
  if (attempts > 1 && !dryRun)
    tally.correct((await fileProgress(asked.em(), lender.id, fileKeyOf(asked.file, reading)))!);
  await asked.onProgress(rowsDone);
}

type Rejected = RejectedRow & RejectedExample;

/** The outcome of the column `assignTo` in a batch. */
interface Moved {
  /** The number of cases that were assigned, or taken away from their field partner. */
  readonly assigned: number;
  /** Rows that were imported, but whose case was not assigned. */
  readonly refused: readonly Rejected[];
}

const NOTHING_MOVED: Moved = { assigned: 0, refused: [] };

/** Assigns the cases of imported rows as their column `assignTo` says. */
async function assignRows(tx: Tx, asked: FileImport, { read }: Batch, { results }: ImportResult): Promise<Moved> {
  const moves = read.flatMap(({ record, assignTo }, place) => {
    const result = results[place]!;
    if (assignTo === undefined || result.outcome === "rejected") return [];
    return [{ record, loan: result.sourceLoanNumber, fieldPartnerId: assignTo }];
  });
  if (moves.length === 0) return NOTHING_MOVED;
  const { lender, reason = null, environment } = asked;
  const outcomes = await assignCasesIn(tx, { lender, moves, reason }, environment);
  const refused = outcomes.flatMap((outcome, place) => {
    if (outcome.kind !== "refused") return [];
    const { record, loan } = moves[place]!;
    const detail = `The case was imported, but not assigned: ${outcome.detail}`;
    return [rejected(record, loan, [{ column: undefined, code: outcome.code, detail }])];
  });
  const assigned = outcomes.filter(({ kind }) => kind === "assigned" || kind === "unassigned").length;
  return { assigned, refused };
}

function countsOf(rejectedRows: readonly Rejected[], { assigned, refused }: Moved) {
  return { rejected: rejectedRows.length, assigned, notAssigned: refused.length };
}

function inOrder(rows: readonly Rejected[]): Rejected[] {
  return rows.toSorted((a, b) => a.line - b.line);
}

/**
 * Returns the rejected rows of a batch: rows with unreadable cells, and rows that the import
 * rejected.
 */
function rejectedOf(batch: Batch, { results }: ImportResult, columns: Columns<Target>): Rejected[] {
  const unreadable = batch.faulty.map(({ record, faults, phone }) =>
    rejected(record, undefined, [...faults, ...readPhone(record, phone, columns)]),
  );
  const refused = results.flatMap((result, place) => {
    if (result.outcome !== "rejected") return [];
    const faults = result.errors.map(({ code, pointer, detail }) => ({
      column: columnAt(columns, pointer),
      code,
      detail,
    }));
    const { record } = batch.read[place]!;
    const phone = readPhone(record, result.borrowerPhone, columns);
    return [rejected(record, result.sourceLoanNumber, [...faults, ...phone])];
  });
  return [...unreadable, ...refused];
}

/** Returns a sentence with the phone as it would be stored, if the cell has another text. */
function readPhone({ cells }: FileRecord, phone: string | undefined, { used }: Columns<Target>): CellFault[] {
  const column = used.find(({ target }) => target === "borrowerPhone");
  if (!column || phone === undefined || cells[column.index] === phone) return [];
  return [{ column: `"${column.name}"`, code: "PHONE_READ", detail: `The phone is read as ${phone}.` }];
}

/** Returns the fields of each imported row that were left out, because their cells could not be read. */
function leftOutOf({ read }: Batch, { results }: ImportResult, columns: Columns<Target>): LeftOut[] {
  return results.flatMap((result, place) => {
    if (result.outcome === "rejected") return [];
    const { record, warnings } = read[place]!;
    const ofRow = (result.warnings ?? []).flatMap(({ code, pointer, detail }) => {
      const column = code === "FIELD_NOT_APPLIED" ? columnAt(columns, pointer) : undefined;
      return column === undefined ? [] : [{ column, code, detail }];
    });
    const ofFile = warnings.map((warning) => ({ ...warning, detail: `Left out: ${warning.detail}` }));
    const because = [...ofFile, ...ofRow].map(({ column, detail }) => `column ${column}: ${detail}`);
    return because.length === 0 ? [] : [{ line: record.line, because: because.join(" "), isNew: ofRow.length === 0 }];
  });
}

function rejected({ line, cells }: FileRecord, loan: string | null = null, faults: readonly CellFault[]): Rejected {
  const because = faults.map(({ column, detail }) => (column === undefined ? detail : `column ${column}: ${detail}`));
  return { line, cells, sourceLoanNumber: loan, because: because.join(" ") };
}

function progressOf(
  { file, fileName, reading, lender }: FileImport,
  now: Pick<FileProgress, "rowsDone" | "summary" | "startedAt"> & { readonly rejectedFile: RejectedFile },
): FileProgress {
  return {
    lenderId: lender.id,
    fileKey: fileKeyOf(file, reading),
    fileName,
    rowsDone: now.rowsDone,
    rejectedBytes: BigInt(now.rejectedFile.bytes),
    summary: now.summary,
    startedAt: now.startedAt,
    finishedAt: null,
  };
}

function audit(tx: Tx, { file, fileName, lender, reason }: FileImport, act: string, data: object): void {
  const { sha256, rows } = file;
  recordAct(tx, { lenderId: lender.id, act, reason, data: { file: fileName, sha256, rows, ...data } });
}

async function untilAvailable<Result>(attempt: () => Promise<Result>): Promise<Result> {
  for (const pauseMs of RETRY_AFTER_MS) {
    try {
      return await attempt();
    } catch (error) {
      if (!isUnavailable(error)) throw error;
      await wait(pauseMs);
    }
  }
  return attempt();
}
