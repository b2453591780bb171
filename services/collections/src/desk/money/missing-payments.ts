import { differencesOf, reconciliationRun, type ReconciliationDifference } from "@collections/bookings";
import { parsePublicId, publicId } from "@collections/database";
import { KnownSequences, type Reconciliation, ReconciliationChangedError } from "@collections/flows";
import type { Lender } from "@collections/lenders";
import { timeIn } from "@collections/local-time";
import type { DeskOutcome } from "../acts.ts";
import { amountText } from "../amount-text.ts";
import {
  compareAgain,
  type ComparedFile,
  comparedUpload,
  type UploadActing,
  type UploadName,
} from "../files/uploads.ts";
import { bookMissing, type Confirmed } from "./book-missing.ts";
import { type SecondConfirmation, withAsker } from "./changes.ts";

/** The most missing payments that the console books. A request books them, so it may not take long. */
export const MOST_BOOKED = 500;
/** A longer text is refused and not cut, because a cut number would name another line. */
const MAX_LINES_CHARACTERS = 500;
/** The most rows that a page shows. */
const MOST_SHOWN = 20;

/** An order to book the payments that a comparison found only in the lender's file. */
export interface BookingOrder {
  readonly kind: "booking";
  readonly lenderCode: string;
  readonly uploadId: string;
  /** The public id of the stored comparison. */
  readonly runId: string;
  readonly digest: string;
  readonly fileName: string;
  readonly sha256: string;
  /** Lines whose amounts are right although they look like minor units, with blanks or commas between them. */
  readonly majorUnits: string;
  readonly note: string;
}

/** A form that asks to book missing payments. `version` names the comparison that was shown. */
export interface BookingForm extends UploadName {
  readonly version: string;
  readonly majorUnits: string;
  readonly note: string;
}

type Refused = Exclude<DeskOutcome, { kind: "done" }>;

/** The outcome of a booking. A refused row has the number of its line. */
export type BookingOutcome = Refused | ({ readonly kind: "booked"; readonly order: BookingOrder } & Confirmed);

/** Returns what a booking needs to know about a comparison. */
export function comparedOf({ run, differences }: Reconciliation, known: KnownSequences): ComparedFile {
  const loans = new Set(differences.onlyYours.map(({ loan }) => loan!));
  const sequences = [...loans].map((loan) => [loan, known.of(loan)] as const).filter(([, sequence]) => sequence > 0n);
  return {
    missing: run.totals.lists.onlyYours,
    digest: run.digest && run.digest.toString("hex"),
    known: sequences.map(([loan, sequence]) => [loan, String(sequence)]),
  };
}

/** Returns what a form shows that books the missing payments of an uploaded file. */
export async function missingFromDesk(acting: UploadActing, name: UploadName) {
  const found = await comparedUpload(acting, name);
  if (!found) return undefined;
  const { lender, upload, compared } = found;
  const rehearsal = await rehearseBooking(acting, orderOf(found, { majorUnits: "", note: "" }));
  const { fileName } = upload;
  return {
    lenderCode: lender.code,
    uploadId: upload.id,
    version: String(upload.version),
    fileName,
    timeZone: lender.timeZone,
    missing: compared.missing,
    rehearsal,
  };
}

/** Reads the order of a form. Refuses it if the file was compared again since the form was made. */
export async function bookingOrderOf(acting: UploadActing, form: BookingForm): Promise<BookingOrder | Refused> {
  const found = await comparedUpload(acting, form);
  if (!found) return { kind: "not_found" };
  if (String(found.upload.version) !== form.version)
    return refused("The file was compared again in the meantime. Look at the differences again.");
  if (linesIn(form.majorUnits) === undefined)
    return refused("Give the lines as numbers with commas between them, such as 17, 40.");
  if (form.majorUnits.length > MAX_LINES_CHARACTERS)
    return refused(`Give the lines in at most ${MAX_LINES_CHARACTERS} characters, and the others after this booking.`);
  return orderOf(found, form);
}

function orderOf(
  { lender, upload, compared }: NonNullable<Awaited<ReturnType<typeof comparedUpload>>>,
  { majorUnits, note }: Pick<BookingForm, "majorUnits" | "note">,
): BookingOrder {
  return {
    kind: "booking",
    lenderCode: lender.code,
    uploadId: upload.id,
    runId: publicId("rec", upload.runId!),
    digest: compared.digest ?? "",
    fileName: upload.fileName,
    sha256: upload.sha256,
    majorUnits,
    note,
  };
}

/** Finds out which payments an order would book. Changes nothing. */
export async function rehearseBooking(acting: UploadActing, order: BookingOrder) {
  const named = await namedRun(acting, order);
  if (!named) return NOT_FOUND;
  const { lender, run, key } = named;
  if (run.digest?.toString("hex") !== order.digest) return refused(new ReconciliationChangedError().message);
  const count = run.totals.lists.onlyYours;
  if (count === 0) return refused("No payment is missing.");
  if (count > MOST_BOOKED) {
    return refused(
      `The console books at most ${MOST_BOOKED} missing payments, and ${count.toLocaleString("en")} are missing. Use the command payment reconcile --confirm-missing.`,
    );
  }
  const rows = await differencesOf(acting.em(), key, "onlyYours", { after: undefined, limit: MOST_BOOKED });
  const amountMinor = rows.reduce((sum, { rowMinor }) => sum + rowMinor!, 0n);
  const currency = rows[0]!.rowCurrency!;
  const withoutTime = rows.filter(({ rowPaidAt }) => rowPaidAt === null).length;
  return {
    kind: "possible" as const,
    order,
    facts: [
      ["Payments", count.toLocaleString("en")],
      ["Sum", amountText(amountMinor, currency)],
      ...(withoutTime === 0 ? [] : [["Without a time, not booked", withoutTime.toLocaleString("en")] as const]),
    ] satisfies (readonly [string, string])[],
    rows: rows.slice(0, MOST_SHOWN).map((row) => shownRow(lender, row)),
    amountMinor,
    currency,
  };
}

function shownRow(
  { timeZone }: Lender,
  { position, loan, reference, rowMinor, rowCurrency, rowPaidAt }: ReconciliationDifference,
) {
  return {
    line: String(position),
    loan: loan!,
    reference: reference!,
    amount: amountText(rowMinor!, rowCurrency!),
    paidAt: rowPaidAt && timeIn(timeZone, rowPaidAt),
  };
}

/**
 * Books missing payments. If a second person confirmed, the confirmation is recorded in the transaction that begins the booking.
 * Then the file is compared again, so that its page shows what is still missing. A repeat books the payments that are left, each once.
 */
export async function bookFromDesk(
  acting: UploadActing,
  order: BookingOrder,
  confirmation?: SecondConfirmation,
): Promise<BookingOutcome> {
  const named = await namedRun(acting, order);
  if (!named) return NOT_FOUND;
  const { lender, run } = named;
  const found = await comparedUpload(acting, order);
  const upload = found?.upload.runId === run.id ? found.upload : undefined;
  const { parts } = upload?.options ?? {};
  const wanted = {
    lender,
    runId: run.id,
    digest: Buffer.from(order.digest, "hex"),
    missing: run.totals.lists.onlyYours,
    reason: withAsker(order.note, confirmation),
    file: { file: order.fileName, sha256: order.sha256, ...(parts !== undefined && { parts }) },
    known: knownOf(upload && found ? found.compared : undefined),
    inMajorUnits: new Set(linesIn(order.majorUnits)),
    environment: acting.environment,
  };
  try {
    const confirmed = await bookMissing(acting.em, wanted, {
      mostRefused: MOST_BOOKED,
      alsoWrite: confirmation?.record,
    });
    if (upload) await compareAgain(acting, upload);
    return { kind: "booked", order, ...confirmed };
  } catch (error) {
    if (error instanceof ReconciliationChangedError) return refused(error.message);
    throw error;
  }
}

/**
 * Returns the sequences that the run knew. Without the file, no sequence is known: then a row beside another payment of the
 * same amount and day is refused, and never booked twice.
 */
function knownOf(compared: ComparedFile | undefined): KnownSequences {
  const known = new KnownSequences();
  for (const [loan, sequence] of compared?.known ?? []) known.add(loan, BigInt(sequence));
  return known;
}

async function namedRun({ em, lenders }: UploadActing, { lenderCode, runId: given }: BookingOrder) {
  const lender = (await lenders()).find(({ code }) => code === lenderCode);
  const runId = parsePublicId("rec", given);
  if (!lender || runId === undefined) return undefined;
  const key = { lenderId: lender.id, runId };
  const run = await reconciliationRun(em(), key);
  return run && { lender, run, key };
}

/** Returns the numbers of lines in a text, or undefined if it has something else. */
function linesIn(text: string): number[] | undefined {
  const lines = text.split(/[\s,]+/).filter((part) => part !== "");
  return lines.every((line) => /^[1-9]\d{0,8}$/.test(line)) ? lines.map(Number) : undefined;
}

const NOT_FOUND = { kind: "not_found" } as const;

function refused(detail: string) {
  return { kind: "refused" as const, detail };
}
