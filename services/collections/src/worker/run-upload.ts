import { randomUUID } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileProgress } from "@collections/cases";
import { actingAs, databaseTime, enqueue, type Job, transaction, type Tx } from "@collections/database";
import { type Lender, lenderById, LenderSuspendedError, SealedValueError } from "@collections/lenders";
import { timeIn } from "@collections/local-time";
import type { App } from "../app.ts";
import { CASE_COLUMNS, type Target } from "../case-file/case-columns.ts";
import { fileKeyOf, importFile } from "../case-file/import-file.ts";
import { refuseSimilarLoans, SimilarLoansError } from "../case-file/similar-loans.ts";
import { openFile, outcomeContext, partContext } from "../case-file/upload/sealed-parts.ts";
import { readUploadOptions, type UploadOptions } from "../case-file/upload/upload-options.ts";
import { type Upload, type UploadJob, uploadQueue } from "../case-file/upload/upload-schema.ts";
import {
  addRejected,
  type Claim,
  claimUpload,
  partsOf,
  releaseClaim,
  renewClaim,
  settleUpload,
  uploadOf,
} from "../case-file/upload/uploads.ts";
import { readClockMoment } from "../desk/clock-moment.ts";
import { fileWords } from "../desk/file-words.ts";
import { importedBeforeText, importWords, missingAsOfText } from "../desk/import-words.ts";
import type { UploadOutcome } from "../desk/uploads.ts";
import { ColumnsNotUnderstoodError } from "../table-file/columns.ts";
import { FileNotReadableError } from "../table-file/file-text.ts";
import { openLenderFile, surveyLenderFile } from "../table-file/lender-file.ts";
import { type RejectedFormat, rejectedHead, rejectedLines, type RejectedPlace } from "../table-file/rejected-file.ts";
import { ColumnContradictionError, type SurveyedFile } from "../table-file/survey.ts";

/** Another worker has the upload, because this one did not renew its claim in time. */
class ClaimLostError extends Error {
  override readonly name = "ClaimLostError";
}

/** The upload cannot be processed. The message is for the person who uploaded it. */
class UploadRefusedError extends Error {
  override readonly name = "UploadRefusedError";
}

/** Errors whose messages say what is wrong with the file. */
const REFUSALS = [
  ColumnContradictionError,
  ColumnsNotUnderstoodError,
  FileNotReadableError,
  LenderSuspendedError,
  SimilarLoansError,
  UploadRefusedError,
];

const GAVE_UP =
  "The service could not read or apply the file, although it tried several times. Its log has the cause. Check the file again.";

type Parts = Pick<App, "database" | "vault" | "config">;

/**
 * Checks or applies an uploaded file, as its state says. Does nothing if the upload is settled or has expired. If another
 * worker has the upload, looks again when the claim of that worker ends.
 */
export async function runUpload(
  parts: Parts,
  { data: { lenderId, uploadId }, attempt }: Pick<Job<UploadJob>, "data" | "attempt">,
): Promise<void> {
  const em = () => parts.database.em();
  const claim: Claim = { lenderId, uploadId, claim: randomUUID() };
  const isClaimed = await claimUpload(em(), claim, await databaseTime(em()));
  const upload = await uploadOf(em(), claim, await databaseTime(em()));
  if (!upload || (upload.state !== "waiting" && upload.state !== "applying")) return;
  if (!isClaimed) {
    const { claimedUntil } = upload;
    if (claimedUntil) {
      await transaction(em(), (tx) =>
        enqueue(tx, uploadQueue, { lenderId, uploadId }, { startAfter: new Date(claimedUntil.getTime() + 1_000) }),
      );
    }
    return;
  }
  try {
    const outcome = await outcomeOf(parts, claim, upload);
    await settle(parts, claim, { state: upload.state === "waiting" ? "checked" : "applied", outcome });
  } catch (error) {
    if (error instanceof ClaimLostError) return;
    const problem = problemOf(error);
    if (problem === undefined) {
      if (attempt > uploadQueue.options.retryLimit) {
        await settle(parts, claim, { state: "refused", outcome: { problem: GAVE_UP } });
      }
      await releaseClaim(em(), claim).catch(() => {});
      throw error;
    }
    await settle(parts, claim, { state: "refused", outcome: { problem } });
  }
}

/** Returns what is wrong with the file, or undefined for an error of the service, after which the job is tried again. */
function problemOf(error: unknown): string | undefined {
  if (error instanceof SealedValueError) {
    return "The file cannot be read any more, because the service has another master key now. Upload the file again.";
  }
  return REFUSALS.some((kind) => error instanceof kind) ? (error as Error).message : undefined;
}

async function settle(
  { database, vault }: Parts,
  claim: Claim,
  { state, outcome }: { state: "checked" | "refused" | "applied"; outcome: UploadOutcome },
): Promise<void> {
  const sealed = vault.seal(JSON.stringify(outcome), outcomeContext(claim));
  const now = await databaseTime(database.em());
  await transaction(database.em(), (tx) => settleUpload(tx, claim, { state, outcome: sealed, now }));
}

/** Checks the file, or applies it in the name of the person who asked for it. */
async function outcomeOf(parts: Parts, claim: Claim, upload: Upload): Promise<UploadOutcome> {
  const { database, vault } = parts;
  const lender = await lenderById(database.em(), upload.lenderId);
  if (!lender) throw new UploadRefusedError("The lender does not exist any more.");
  const read = readUploadOptions(upload.options, (text) => readClockMoment(text)?.(lender.timeZone));
  if ("problem" in read) throw new UploadRefusedError(read.problem);
  const { options } = read;
  const stored = await partsOf(database.em(), claim, "file");
  const sealed = stored.map((part) => part.sealed);
  const bytes = await openFile(vault, claim, sealed);
  const asked = { names: CASE_COLUMNS, lender, options };
  const table = await withPrivateFile(bytes, (path) => openLenderFile(path, asked));
  await using _ = table.bytes;
  const surveyed = await surveyLenderFile(table, asked);
  await renewed(parts, claim, { rows: surveyed.file.rows });
  const importing = { parts, claim, upload, lender, options, surveyed };
  return await (upload.state === "waiting" ? check(importing) : actingAs(upload.appliedBy!, () => apply(importing)));
}

interface Importing {
  readonly parts: Parts;
  readonly claim: Claim;
  readonly upload: Upload;
  readonly lender: Lender;
  readonly options: UploadOptions;
  readonly surveyed: SurveyedFile<Target>;
}

async function check(importing: Importing): Promise<UploadOutcome> {
  const { parts, lender, options, surveyed } = importing;
  const em = () => parts.database.em();
  const reading = readingOf(importing);
  const earlier = await fileProgress(em(), lender.id, fileKeyOf(surveyed.file, reading));
  if (!options.allowSimilarLoans) await refuseSimilarLoans(em, lender.id, surveyed);
  const rehearsed = await importFile({ ...requestOf(importing), dryRun: true, from: undefined });
  const missingAsOf = missingAsOfText(reading.columns, reading.asOf);
  const finishedAt = earlier?.finishedAt;
  const { timeZone } = lender;
  return {
    file: fileWords(surveyed),
    notes: [
      ...(missingAsOf === undefined ? [] : [missingAsOf]),
      ...(finishedAt ? [importedBeforeText(`${timeIn(timeZone, finishedAt)} ${timeZone}`)] : []),
    ],
    changes: importWords(rehearsed),
  };
}

/** Applies the file. Continues after the rows that an earlier run for the same upload has applied. */
async function apply(importing: Importing): Promise<UploadOutcome> {
  const { parts, lender, upload, surveyed } = importing;
  const startedAt = upload.appliedAt!;
  const earlier = await fileProgress(parts.database.em(), lender.id, fileKeyOf(surveyed.file, readingOf(importing)));
  const from = earlier?.startedAt.getTime() === startedAt.getTime() ? earlier : undefined;
  const outcome = await importFile({ ...requestOf(importing), dryRun: false, from, startedAt });
  return { changes: importWords(outcome) };
}

function readingOf({ lender, options: { asOf }, surveyed: { columns, readings } }: Importing) {
  return { columns, lender, readings, asOf };
}

function requestOf(importing: Importing) {
  const { parts, claim, upload, lender, surveyed } = importing;
  return {
    file: surveyed.file,
    fileName: upload.fileName,
    rejectedPlace: inDatabase(parts, claim),
    reading: readingOf(importing),
    lender,
    environment: parts.config.environment,
    reason: upload.reason ?? undefined,
    em: () => parts.database.em(),
    onProgress: (rowsDone: number) => renewed(parts, claim, { rowsDone }),
  };
}

/** Renews the claim. Throws ClaimLostError if another worker has the upload. */
async function renewed(
  { database }: Parts,
  claim: Claim,
  progress: { readonly rows?: number; readonly rowsDone?: number },
  tx?: Tx,
): Promise<void> {
  const now = await databaseTime(database.em());
  if (!(await renewClaim(tx ?? database.em(), claim, { ...progress, now }))) throw new ClaimLostError();
}

/**
 * Stores the rejected rows sealed beside the upload, in the transaction of their batch. The transaction fails if another
 * worker has the upload, so each batch is applied by one worker.
 */
function inDatabase(parts: Parts, claim: Claim): RejectedPlace {
  const path = "rejected.csv";
  return {
    earlierPath: () => Promise.resolve(path),
    async open(format: RejectedFormat & { readonly bytes: number }) {
      let length = format.bytes;
      return {
        get path() {
          return length > 0 ? path : undefined;
        },
        get bytes() {
          return length;
        },
        async write(position, rows, tx) {
          if (!tx) throw new Error("Rejected rows of an upload are written in the transaction of their batch.");
          await renewed(parts, claim, {}, tx);
          length = position;
          const text =
            rows.length === 0 ? "" : (position === 0 ? rejectedHead(format) : "") + rejectedLines(format, rows);
          const sealed = text === "" ? undefined : parts.vault.seal(text, partContext(claim, "rejected", position));
          await addRejected(tx, claim, { place: position, sealed });
          length += Buffer.byteLength(text);
        },
        close: () => Promise.resolve(),
      };
    },
  };
}

/** Writes bytes to a file that only this process can read, and that has no name any more when `use` has opened it. */
async function withPrivateFile<Result>(bytes: Buffer, use: (path: string) => Promise<Result>): Promise<Result> {
  const folder = await mkdtemp(join(tmpdir(), "collections-upload-"));
  try {
    const path = join(folder, "file");
    await writeFile(path, bytes, { mode: 0o600, flag: "wx" });
    return await use(path);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
