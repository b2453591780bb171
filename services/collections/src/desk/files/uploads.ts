import { createHash } from "node:crypto";
import { currentActor, newId, transaction } from "@collections/database";
import { type Lender, recordAct, SealedValueError, type Vault } from "@collections/lenders";
import { timeIn } from "@collections/local-time";
import { outcomeContext, partContext, sealFile } from "../../table-file/upload/sealed-parts.ts";
import { readImportOptions } from "../../case-file/import-options.ts";
import { readComparisonOptions } from "../../payment-file/comparison-options.ts";
import { type TypedOptions, typedOptions } from "../../table-file/upload/upload-options.ts";
import type { Upload, UploadKind } from "../../table-file/upload/upload-schema.ts";
import {
  applyUpload,
  checkAgain,
  countUploads,
  partsOf,
  storeUpload,
  type UploadKey,
  uploadOf,
  uploadsOf,
} from "../../table-file/upload/uploads.ts";
import { ENCODINGS } from "../../table-file/file-text.ts";
import type { Acting, DeskOutcome } from "../acts.ts";
import { actorText } from "../actor-text.ts";
import { FIELD_LABELS, inFieldWords } from "../words/field-words.ts";
import { withLocalTimes } from "../words/local-times.ts";
import { readClockMoment } from "./clock-moment.ts";
import type { FileWords } from "./file-words.ts";
import type { ImportWords } from "./import-words.ts";
import type { ReconciliationWords } from "./reconciliation-words.ts";

/** The parts that reads and changes of uploads need. */
export interface UploadActing extends Acting {
  readonly vault: Vault;
}

/** The facts of a comparison that a booking of the missing payments needs. They are stored with the uploaded file. */
export interface ComparedFile {
  /** The number of payments that only the file has. */
  readonly missing: number;
  /** The digest of the stored run, as hexadecimal digits. */
  readonly digest: string | null;
  /** The sequences of loans that the run knew, of which `KnownSequences` is made. */
  readonly known: readonly (readonly [loan: string, sequence: string])[];
}

/** The outcome of a check or of an import, in words. */
export interface UploadOutcome {
  /** Why the file cannot be applied. */
  readonly problem?: string;
  readonly file?: FileWords;
  /** Sentences about the file and earlier imports. */
  readonly notes?: readonly string[];
  readonly changes?: ImportWords;
  readonly reconciliation?: ReconciliationWords;
  /** The facts that a booking of the missing payments needs. No page shows them. */
  readonly compared?: ComparedFile;
}

/** Names an upload. */
export interface UploadName {
  readonly lenderCode: string;
  readonly uploadId: string;
}

/** The most bytes of an uploaded file. */
export const MAX_UPLOAD_BYTES = 16 * 1_024 * 1_024;
/** The most uploads of a lender at a time. The limit keeps a lender from filling the database. */
const MOST_UPLOADS = 30;
const MOST_NAME_CHARACTERS = 100;

/** Returns the lenders to choose from, and the newest uploads of one of them: of the lender `code`, or of the first. */
export async function uploadsOfChosen(
  { em, lenders: all }: UploadActing,
  { lender: code, kind }: { readonly lender: string | undefined; readonly kind: UploadKind },
) {
  const lenders = (await all()).toSorted((a, b) => (a.code < b.code ? -1 : 1));
  const chosen = code === undefined ? lenders[0] : lenders.find((lender) => lender.code === code);
  const uploads = chosen ? await uploadsOf(em(), { lenderId: chosen.id, kind }, new Date()) : [];
  return {
    lenderCodes: lenders.map((lender) => lender.code),
    lenderCode: chosen?.code,
    kind,
    timeZone: chosen?.timeZone,
    mostBytes: MAX_UPLOAD_BYTES,
    encodings: ENCODINGS,
    labels: FIELD_LABELS,
    uploads: uploads.map(({ id, fileName, state, uploadedBy, createdAt }) => ({
      uploadId: id,
      fileName,
      state,
      uploadedBy: actorText(uploadedBy),
      createdAt: timeIn(chosen!.timeZone, createdAt),
    })),
  };
}

/** Returns an upload with the outcome of its last check or of its import. */
export async function uploadFromDesk(acting: UploadActing, name: UploadName) {
  const found = await findUpload(acting, name);
  if (!found) return undefined;
  const { lender, upload, key } = found;
  const { compared, ...outcome } = outcomeOf(acting.vault, upload, key);
  const local = (at: Date) => timeIn(lender.timeZone, at);
  return {
    lenderCode: lender.code,
    uploadId: upload.id,
    kind: upload.kind,
    fileName: upload.fileName,
    byteCount: upload.byteCount,
    sha256: upload.sha256,
    uploadedBy: actorText(upload.uploadedBy),
    appliedBy: upload.appliedBy === null ? null : actorText(upload.appliedBy),
    createdAt: local(upload.createdAt),
    expiresAt: local(upload.expiresAt),
    timeZone: lender.timeZone,
    state: upload.state,
    version: String(upload.version),
    rowsDone: upload.rowsDone,
    rows: upload.rows,
    options: upload.options,
    encodings: ENCODINGS,
    labels: FIELD_LABELS,
    ...onPage(outcome, lender.timeZone),
    ...(compared && { missing: compared.missing }),
  };
}

/** Returns the upload of a file of payments that a worker has compared, or undefined. */
export async function comparedUpload(acting: UploadActing, name: UploadName) {
  const found = await findUpload(acting, name);
  if (!found || found.upload.kind !== "payments" || found.upload.state !== "checked") return undefined;
  const { lender, upload, key } = found;
  const { compared } = outcomeOf(acting.vault, upload, key);
  return compared && { lender, upload, compared };
}

/**
 * Has the file of a comparison compared again, after its missing payments were booked. Does nothing if it was compared again
 * in the meantime, or has expired.
 */
export async function compareAgain(acting: UploadActing, { lenderId, id: uploadId, version, options }: Upload) {
  const key = { lenderId, uploadId, version };
  const again = { options, runId: newId(), now: new Date() };
  await transaction(acting.em(), (tx) => checkAgain(tx, key, again));
}

/** Returns the rejected rows of an import as a CSV file, or undefined if there are none. */
export async function rejectedFromDesk(acting: UploadActing, name: UploadName) {
  const found = await findUpload(acting, name);
  if (!found) return undefined;
  const { upload, key } = found;
  const parts = await partsOf(acting.em(), key, "rejected");
  if (parts.length === 0) return undefined;
  try {
    const texts = parts.map(({ place, sealed }) => acting.vault.open(sealed, partContext(key, "rejected", place)));
    return { fileName: `${upload.fileName.replace(/\.(?:csv|xlsx)$/i, "")}.rejected.csv`, text: texts.join("") };
  } catch (error) {
    // The master key was replaced in this hour.
    if (error instanceof SealedValueError) return undefined;
    throw error;
  }
}

/** Stores a file of cases or payments of a lender, and has it checked. */
export async function storeFileFromDesk(
  acting: UploadActing,
  {
    fields,
    file,
    kind,
    ...name
  }: UploadName & {
    readonly kind: UploadKind;
    readonly file: { readonly name: string; readonly bytes: Buffer };
    readonly fields: Readonly<Record<string, string>>;
  },
): Promise<DeskOutcome> {
  const lender = await lenderNamed(acting, name.lenderCode);
  if (!lender || !isUuid(name.uploadId)) return NOT_FOUND;
  if (file.bytes.length === 0) return refused("The file is empty. Choose a file with a header and rows.");
  const options = typedOptions(fields);
  const problem = problemOf(kind, options, lender);
  if (problem !== undefined) return refused(problem);
  const key = { lenderId: lender.id, uploadId: name.uploadId };
  if ((await countUploads(acting.em(), lender.id, new Date())) >= MOST_UPLOADS) {
    return refused(
      `${lender.code} has ${MOST_UPLOADS} uploads. Wait until the oldest is deleted, an hour after it was sent.`,
    );
  }
  const sha256 = createHash("sha256").update(file.bytes).digest("hex");
  const parts = await sealFile(acting.vault, key, file.bytes);
  const now = new Date();
  const upload = {
    kind,
    fileName: shownFileName(file.name),
    sha256,
    byteCount: file.bytes.length,
    uploadedBy: currentActor(),
    options,
  };
  await transaction(acting.em(), async (tx) => {
    const data = { file: upload.fileName, sha256, bytes: upload.byteCount };
    const act = kind === "cases" ? "case_file.uploaded" : "payment_file.uploaded";
    recordAct(tx, { lenderId: lender.id, act, data });
    await storeUpload(tx, key, upload, { parts, now });
  });
  return DONE;
}

/** Has an uploaded file checked again, with other options. */
export async function checkFileFromDesk(
  acting: UploadActing,
  { version, fields, ...name }: UploadName & { readonly version: string; readonly fields: Record<string, string> },
): Promise<DeskOutcome> {
  const found = await findUpload(acting, name);
  if (!found) return NOT_FOUND;
  const options = typedOptions(fields);
  const { kind } = found.upload;
  const problem = problemOf(kind, options, found.lender);
  if (problem !== undefined) return refused(problem);
  const key = { ...found.key, version: Number(version) };
  const runId = kind === "payments" ? newId() : null;
  const isAsked = await transaction(acting.em(), (tx) => checkAgain(tx, key, { options, runId, now: new Date() }));
  return isAsked ? DONE : refused(CHANGED);
}

/** Has a checked file applied by a worker. */
export async function applyFileFromDesk(
  acting: UploadActing,
  { version, reason, ...name }: UploadName & { readonly version: string; readonly reason: string },
): Promise<DeskOutcome> {
  const found = await findUpload(acting, name);
  if (!found) return NOT_FOUND;
  const key = { ...found.key, version: Number(version) };
  const asked = { by: currentActor(), reason: reason === "" ? null : reason, now: new Date() };
  const isAsked = await transaction(acting.em(), (tx) => applyUpload(tx, key, asked));
  return isAsked ? DONE : refused(CHANGED);
}

const DONE = { kind: "done" } as const;
const NOT_FOUND = { kind: "not_found" } as const;
const CHANGED = "The file was checked or applied in the meantime. Look at the page again.";

function refused(detail: string): DeskOutcome {
  return { kind: "refused", detail };
}

async function lenderNamed({ lenders }: UploadActing, code: string): Promise<Lender | undefined> {
  return (await lenders()).find((lender) => lender.code === code);
}

async function findUpload(acting: UploadActing, { lenderCode, uploadId }: UploadName) {
  const lender = isUuid(uploadId) ? await lenderNamed(acting, lenderCode) : undefined;
  if (!lender) return undefined;
  const key: UploadKey = { lenderId: lender.id, uploadId };
  const upload = await uploadOf(acting.em(), key, new Date());
  return upload && { lender, upload, key };
}

function problemOf(kind: UploadKind, options: TypedOptions, { timeZone }: Lender): string | undefined {
  const read =
    kind === "payments"
      ? readComparisonOptions(options)
      : readImportOptions(options, (text) => readClockMoment(text)?.(timeZone));
  return "problem" in read ? inFieldWords(read.problem) : undefined;
}

/**
 * Returns an outcome with the fields of the forms instead of the options of the commands, and with local times. Sentences
 * quote cells of the file and calls of the API, so their times stay as they are.
 */
function onPage(outcome: UploadOutcome, timeZone: string): UploadOutcome {
  const { problem, file, notes, changes, reconciliation } = outcome;
  const texts = (sentences: readonly string[]) => sentences.map(inFieldWords);
  const local = (line: string) => withLocalTimes(line, timeZone);
  return {
    ...(problem !== undefined && { problem: inFieldWords(problem) }),
    ...(file && { file: { ...file, ignored: texts(file.ignored), notices: texts(file.notices) } }),
    ...(notes && { notes: texts(notes) }),
    ...(changes && {
      changes: {
        ...changes,
        changed: changes.changed.map(({ kind, lines }) => ({ kind, lines: lines.map(local) })),
        rejected: texts(changes.rejected),
        leftOut: texts(changes.leftOut),
      },
    }),
    ...(reconciliation && {
      reconciliation: {
        ...reconciliation,
        title: local(reconciliation.title).replace(/:$/, "."),
        lists: reconciliation.lists.map(({ rows, lines, ...list }) => ({
          ...list,
          rows: rows.map(
            ([line, loan, reference, inFile, booked, reversed, paidAt]) =>
              [line, loan, reference, inFile, booked, reversed, local(paidAt)] as const,
          ),
          lines: texts(lines),
        })),
        advice: reconciliation.advice.map((one) => ({ text: inFieldWords(one.text), lines: texts(one.lines) })),
      },
    }),
  };
}

function outcomeOf(vault: Vault, { outcome }: Upload, key: UploadKey): UploadOutcome {
  if (outcome === null) return {};
  try {
    return JSON.parse(vault.open(outcome, outcomeContext(key))) as UploadOutcome;
  } catch (error) {
    if (!(error instanceof SealedValueError)) throw error;
    return {
      problem:
        "This page cannot be shown any more, because the service has another master key now. Upload the file again.",
    };
  }
}

function isUuid(text: string): boolean {
  return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text);
}

/** Returns the name of a file without its folder. Shows invisible characters as codes, and cuts off a long name. */
function shownFileName(name: string): string {
  const last = name.normalize().toWellFormed().split(/[/\\]/).at(-1)!;
  const shown = last.replaceAll(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, (character) => {
    return `<U+${character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0")}>`;
  });
  const text = shown.length <= MOST_NAME_CHARACTERS ? shown : `${shown.slice(0, MOST_NAME_CHARACTERS).toWellFormed()}…`;
  return text === "" ? "file" : text;
}
