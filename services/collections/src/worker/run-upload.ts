import { randomUUID } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileProgress } from "@collections/cases";
import { KnownSequences, reconcile, reconciliationOf, ReconciliationRunningError } from "@collections/flows";
import { actingAs, databaseTime, enqueue, type Job, publicId, transaction } from "@collections/database";
import type { Tx } from "@collections/entities";
import { type Lender, lenderById, LenderSuspendedError, SealedValueError } from "@collections/lenders";
import { spanOfDay, timeIn } from "@collections/local-time";
import type { App } from "../app.ts";
import { CASE_COLUMNS, type Target } from "../case-file/case-columns.ts";
import { fileKeyOf, importFile } from "../case-file/import-file.ts";
import { refuseSimilarLoans, SimilarLoansError } from "../case-file/similar-loans.ts";
import { openFile, outcomeContext, partContext } from "../table-file/upload/sealed-parts.ts";
import { type ImportOptions, readImportOptions } from "../case-file/import-options.ts";
import { type ComparisonOptions, readComparisonOptions } from "../payment-file/comparison-options.ts";
import type { OptionsReading } from "../table-file/upload/upload-options.ts";
import { type Upload, type UploadJob, uploadQueue } from "../table-file/upload/upload-schema.ts";
import {
  addRejected,
  type Claim,
  claimUpload,
  partsOf,
  releaseClaim,
  renewClaim,
  settleUpload,
  uploadOf,
} from "../table-file/upload/uploads.ts";
import { isPortalName } from "../settings/console-url.ts";
import { readClockMoment } from "../desk/files/clock-moment.ts";
import { fileWords } from "../desk/files/file-words.ts";
import { importedBeforeText, importWords, missingAsOfText } from "../desk/files/import-words.ts";
import { reconciliationWords } from "../desk/files/reconciliation-words.ts";
import type { UploadOutcome } from "../desk/files/uploads.ts";
import { comparedOf, MOST_BOOKED } from "../desk/money/missing-payments.ts";
import { inFieldWords } from "../desk/words/field-words.ts";
import { inspectPayments } from "../payment-file/inspect-payments.ts";
import { PAYMENT_COLUMNS, type PaymentField } from "../payment-file/payment-columns.ts";
import { paymentRowsOf } from "../payment-file/payment-rows.ts";
import { writeRejectedPayments } from "../payment-file/rejected-payments.ts";
import { NoPaymentInLineError, paymentsInParts, summedParts } from "../payment-file/summed-parts.ts";
import { ColumnsNotUnderstoodError } from "../table-file/columns.ts";
import { FileNotReadableError } from "../table-file/file-text.ts";
import { type LenderFile, openLenderFile, surveyLenderFile } from "../table-file/lender-file.ts";
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
  NoPaymentInLineError,
  SimilarLoansError,
  UploadRefusedError,
];

/** When to try again while another reconciliation of the lender runs. */
const LATER_SECONDS = 5;
/** How many differences of each list are stored. */
const MOST_STORED = 1_000_000;

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
    const outcome = await actingAs(upload.appliedBy ?? upload.uploadedBy, () => outcomeOf(parts, claim, upload));
    await settle(parts, claim, { state: upload.state === "waiting" ? "checked" : "applied", outcome });
  } catch (error) {
    if (error instanceof ClaimLostError) return;
    if (error instanceof ReconciliationRunningError) return runLater(parts, claim);
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

/** Ends a claim, and asks for another try in some seconds. */
async function runLater({ database }: Parts, claim: Claim): Promise<void> {
  const { lenderId, uploadId } = claim;
  await transaction(database.em(), async (tx) => {
    await releaseClaim(tx, claim);
    await enqueue(tx, uploadQueue, { lenderId, uploadId }, { startAfterSeconds: LATER_SECONDS });
  });
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

/** Compares a file of payments. Checks or applies a file of cases, as its state says. */
async function outcomeOf(parts: Parts, claim: Claim, upload: Upload): Promise<UploadOutcome> {
  const lender = await lenderById(parts.database.em(), upload.lenderId);
  if (!lender) throw new UploadRefusedError("The lender does not exist any more.");
  const given = { parts, claim, upload, lender };
  if (upload.kind === "payments") {
    const options = optionsIn(readComparisonOptions(upload.options));
    return surveyedWith(given, { names: PAYMENT_COLUMNS, lender, options }, (surveyed) =>
      compare({ ...given, options, surveyed }),
    );
  }
  const options = optionsIn(readImportOptions(upload.options, (text) => readClockMoment(text)?.(lender.timeZone)));
  return surveyedWith(given, { names: CASE_COLUMNS, lender, options }, (surveyed) => {
    const importing = { ...given, options, surveyed };
    return upload.state === "waiting" ? check(importing) : apply(importing);
  });
}

function optionsIn<Options>(read: OptionsReading<Options>): Options {
  if ("problem" in read) throw new UploadRefusedError(read.problem);
  return read.options;
}

interface Given {
  readonly parts: Parts;
  readonly claim: Claim;
  readonly upload: Upload;
  readonly lender: Lender;
}

/** Opens the uploaded file, reads it once from end to end, and calls `use` with it. */
async function surveyedWith<Field extends string>(
  { parts, claim }: Given,
  asked: LenderFile<Field>,
  use: (surveyed: SurveyedFile<Field>) => Promise<UploadOutcome>,
): Promise<UploadOutcome> {
  const { database, vault } = parts;
  const stored = await partsOf(database.em(), claim, "file");
  const sealed = stored.map((part) => part.sealed);
  const bytes = await openFile(vault, claim, sealed);
  const table = await withPrivateFile(bytes, (path) => openLenderFile(path, { ...asked, isUploaded: true }));
  await using _ = table.bytes;
  const surveyed = await surveyLenderFile(table, asked);
  await renewed(parts, claim, { rows: surveyed.file.rows });
  return await use(surveyed);
}

interface Comparing extends Given {
  readonly options: ComparisonOptions;
  readonly surveyed: SurveyedFile<PaymentField>;
}

/** Compares the payments of a day with the booked payments, and stores the result as a run. */
async function compare({ parts, claim, upload, lender, options, surveyed }: Comparing): Promise<UploadOutcome> {
  const em = () => parts.database.em();
  const { file, columns, readings } = surveyed;
  const reading = { columns, lender, readings, paidTime: options.paidTime };
  const { hasOnlyDates } = await inspectPayments(file, reading);
  const inParts = await paymentsInParts(file, reading, options.parts);
  const run = { lenderId: lender.id, runId: upload.runId! };
  const window = spanOfDay(options.day, lender.timeZone);
  const { fileName } = upload;
  const known = new KnownSequences();
  await reconcile(em(), {
    lender,
    runId: run.runId,
    requestedBy: requesterOf(upload, lender),
    fileName,
    window,
    mostPerList: MOST_STORED,
    known,
    audited: { runId: publicId("rec", run.runId), file: fileName, sha256: file.sha256, ...window },
    rows: summedParts(renewing(paymentRowsOf(file, { ...reading, hasOnlyDates }), parts, claim), inParts),
  });
  const result = await reconciliationOf(em(), run, MOST_BOOKED);
  if (!result) throw new UploadRefusedError("The reconciliation is deleted. Check the file again.");
  await writeRejectedPayments(em(), run, file, inDatabase(parts, claim));
  const words = { file: fileWords(surveyed), reconciliation: reconciliationWords(lender, result) };
  return { ...words, compared: comparedOf(result, known) };
}

/** Returns the person for a file from the portal, as the audit names them. The lender sees no operator's name. */
function requesterOf({ uploadedBy }: Upload, { code }: Lender): string {
  return isPortalName(code, uploadedBy) ? uploadedBy : "operator";
}

/** Yields pages of rows, and renews the claim before each page. */
async function* renewing<Row>(pages: AsyncIterable<Row[]>, parts: Parts, claim: Claim): AsyncGenerator<Row[]> {
  let rowsDone = 0;
  for await (const page of pages) {
    await renewed(parts, claim, { rowsDone });
    rowsDone += page.length;
    yield page;
  }
}

interface Importing extends Given {
  readonly options: ImportOptions;
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
 * Stores the rejected rows sealed beside the upload, in the transaction of their batch if they have one. The transaction
 * fails if another worker has the upload, so each batch is applied by one worker.
 */
function inDatabase(parts: Parts, claim: Claim): RejectedPlace {
  const path = "rejected.csv";
  return {
    earlierPath: () => Promise.resolve(path),
    async open(format: RejectedFormat & { readonly bytes: number }) {
      let length = format.bytes;
      // The rows of an earlier check with other options.
      if (length === 0) await inTransaction(parts, undefined, (tx) => addRejected(tx, claim, { place: 0 }));
      return {
        get path() {
          return length > 0 ? path : undefined;
        },
        get bytes() {
          return length;
        },
        async write(position, rows, tx) {
          length = position;
          const worded = rows.map((row) => ({ ...row, because: inFieldWords(row.because) }));
          const text =
            rows.length === 0 ? "" : (position === 0 ? rejectedHead(format) : "") + rejectedLines(format, worded);
          const sealed = text === "" ? undefined : parts.vault.seal(text, partContext(claim, "rejected", position));
          await inTransaction(parts, tx, async (current) => {
            await renewed(parts, claim, {}, current);
            await addRejected(current, claim, { place: position, sealed });
          });
          length += Buffer.byteLength(text);
        },
        close: () => Promise.resolve(),
      };
    },
  };
}

function inTransaction<Result>(
  { database }: Parts,
  tx: Tx | undefined,
  work: (tx: Tx) => Promise<Result>,
): Promise<Result> {
  return tx ? work(tx) : transaction(database.em(), work);
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
