import { inTurns } from "@collections/database";
import { type CurrencyCode, isCurrency } from "@collections/money";
import { type CaseDetails, DETAIL_FIELDS, DETAIL_PROPERTIES, type DetailChanges } from "../case/case-details.ts";
import { country as readCountry } from "../fields/contact-readers.ts";
import {
  amount,
  below,
  type FieldContext,
  type FieldReader,
  isObject,
  isPrintable,
  leaveOut,
  oneOf,
  refuse,
  shown,
  text,
} from "../fields/field-readers.ts";
import { isDotSegment, MAX_LOAN_NUMBER } from "./loan-number.ts";
import { pointerTo, type RowFault, type RowFaultCode, type RowWarning } from "../fields/row-fault.ts";
import { warnOfUnknown } from "../fields/unknown-fields.ts";

/** The lender's defaults for fields that a row does not contain. */
export interface LenderDefaults {
  readonly currency: CurrencyCode;
  /** The country of national phone numbers and of addresses: two capital letters of ISO 3166. */
  readonly country: string;
  /** The language of the borrowers of new cases, a BCP 47 tag. */
  readonly language: string | null;
  /**
   * Whether an optional field with a fault is left out with the warning FIELD_NOT_APPLIED, as for files of cases. Default:
   * the row is rejected. Fields that decide about money or protect the borrower always reject the row.
   */
  readonly leaveOutFaulty?: boolean | undefined;
}

/** A row with the balance and the details of a case. */
export interface UpsertRow {
  readonly action: "upsert";
  readonly index: number;
  readonly sourceLoanNumber: string;
  readonly currency: CurrencyCode;
  readonly outstandingMinor: bigint;
  /** Why the case is settled, if this row settles it. */
  readonly reason: string | null;
  readonly details: DetailChanges & Pick<CaseDetails, "borrowerName" | "borrowerPhone">;
  /** The language that a new case gets if the row contains no language. */
  readonly defaultLanguage: string | null;
  readonly warnings: readonly RowWarning[];
}

/** A row that holds, releases or withdraws a case, and changes nothing else. */
export interface ControlRow {
  readonly action: "withdraw" | "hold" | "release";
  readonly index: number;
  readonly sourceLoanNumber: string;
  readonly reason: string | null;
  readonly warnings: readonly RowWarning[];
}

/** A valid row of an import. */
export type CaseRow = UpsertRow | ControlRow;

/**
 * The result of checking a row: the valid row, or its faults. A rejected row's `sourceLoanNumber` is undefined if it
 * could not be read.
 */
export type CheckedRow =
  | {
      readonly index: number;
      readonly sourceLoanNumber: string;
      /**
       * Whether the row contains no currency, so that its amounts were read in the lender's default currency. If the
       * loan's case has another currency, `inCurrencyOfCase` reads them again.
       */
      readonly assumesCurrency: boolean;
      readonly row: CaseRow;
    }
  | {
      readonly index: number;
      readonly sourceLoanNumber: string | undefined;
      /** True if the row contains no currency and could be valid if its amounts were read in another currency. */
      readonly assumesCurrency: boolean;
      /** The phone as it would be stored; absent if the row has none, or one that cannot be read. */
      readonly borrowerPhone?: string;
      readonly errors: readonly RowFault[];
      readonly warnings: readonly RowWarning[];
    };

const MAX_REASON = 500;
const ACTIONS = ["upsert", "withdraw", "hold", "release"] as const;
/** Optional fields that are never left out: without them, a payment could count twice or a case be worked that must not. */
const NEVER_LEFT_OUT: ReadonlySet<keyof CaseDetails> = new Set<keyof CaseDetails>([
  "outstandingAsOf",
  "consent",
  "doNotContactUntil",
]);
const CONTROL_FIELDS = ["sourceLoanNumber", "action", "reason"];
/** Faults that an amount may have in one currency but not in another. */
const IN_CURRENCY: ReadonlySet<RowFaultCode> = new Set(["AMOUNT_PRECISION", "AMOUNT_OUT_OF_RANGE"]);
const ROW_FIELDS: ReadonlySet<string> = new Set([
  ...CONTROL_FIELDS,
  "outstandingAmount",
  "currency",
  "country",
  ...Object.values(DETAIL_FIELDS).map(({ field }) => field),
]);

/**
 * Checks all rows of a request. If several rows are about one loan, only the first is accepted. `now` is the server's
 * time. An `outstandingAsOf` that is more than 5 minutes later is replaced by `now`, with a warning.
 *
 * @example
 * const { rows } = parseJson(body, AMOUNT_FIELDS) as { rows: unknown[] };
 * const checked = checkRows(rows, { currency: currency("INR"), country: "IN", language: "hi-IN" });
 * const faults = checked.flatMap((one) => ("errors" in one ? one.errors : []));
 */
export function checkRows(rows: readonly unknown[], defaults: LenderDefaults, now: Date = new Date()): CheckedRow[] {
  return rows.map(rowChecker(defaults, now));
}

/**
 * Checks rows like `checkRows`, but regularly lets other work of the process run, because checking 1,000 rows with all
 * fields takes half a second.
 *
 * @example
 * const { rows } = parseJson(body, AMOUNT_FIELDS) as { rows: unknown[] };
 * const checked = await checkRowsInTurns(rows, { currency: currency("INR"), country: "IN", language: "hi-IN" });
 */
export function checkRowsInTurns(
  rows: readonly unknown[],
  defaults: LenderDefaults,
  now: Date = new Date(),
): Promise<CheckedRow[]> {
  return inTurns(rows, rowChecker(defaults, now));
}

function rowChecker(defaults: LenderDefaults, now: Date): (raw: unknown, index: number) => CheckedRow {
  const firstIndexes = new Map<string, number>();
  return (raw, index) => {
    const checked = checkRow(raw, defaults, index, now);
    const loan = checked.sourceLoanNumber;
    if (loan === undefined) return checked;
    const first = firstIndexes.get(loan);
    if (first === undefined) {
      firstIndexes.set(loan, index);
      return checked;
    }
    const pointer = `/rows/${index}/sourceLoanNumber`;
    const detail = `Row ${first} is about the same loan; send one row for each loan.`;
    return {
      index,
      sourceLoanNumber: loan,
      assumesCurrency: false,
      errors: [{ code: "DUPLICATE_IN_REQUEST", pointer, detail }],
      warnings: "row" in checked ? checked.row.warnings : checked.warnings,
    };
  };
}

/**
 * Checks a row without a currency again, once the currency of the loan's case is known. The amounts of such a row are
 * in the currency of the case.
 *
 * @example
 * const { rows } = parseJson(body, AMOUNT_FIELDS) as { rows: unknown[] };
 * const checked = checkRow(rows[0], lender, 0);
 * const inItsCurrency = inCurrencyOfCase(checked, rows[0], lender, lockedCase.currency);
 */
export function inCurrencyOfCase(
  checked: CheckedRow,
  raw: unknown,
  defaults: LenderDefaults,
  ofCase: CurrencyCode,
  now: Date = new Date(),
): CheckedRow {
  if (!checked.assumesCurrency || ofCase === defaults.currency) return checked;
  return checkRow(raw, { ...defaults, currency: ofCase }, checked.index, now);
}

/**
 * Checks one row of an import. An absent field keeps its value, and null clears a field. Numbers of AMOUNT_FIELDS must
 * be an AmountLiteral of the package money. Pointers are `/rows/<index>/<field>`. An unknown field is a warning, not a
 * fault.
 *
 * @example
 * const raw = { sourceLoanNumber: "LN-1001", action: "hold", reason: "Borrower in hospital" };
 * const checked = checkRow(raw, lender, 0);
 * if ("errors" in checked) throw new Error(checked.errors.map(({ detail }) => detail).join(" "));
 */
export function checkRow(raw: unknown, defaults: LenderDefaults, index: number, now: Date = new Date()): CheckedRow {
  const faults: RowFault[] = [];
  const warnings: RowWarning[] = [];
  const root: FieldContext = { ...defaults, pointer: `/rows/${index}`, now, faults, warnings };
  if (!isObject(raw)) {
    refuse(root, "WRONG_TYPE", `Expected an object; got ${shown(raw)}.`);
    return { index, sourceLoanNumber: undefined, assumesCurrency: false, errors: faults, warnings };
  }
  const sourceLoanNumber = required(raw, root, "sourceLoanNumber", loanNumber);
  const action = optional(raw, root, "action", oneOf(ACTIONS)) ?? "upsert";
  const reason = optional(raw, root, "reason", text(MAX_REASON)) ?? null;
  warnOfUnknown(raw, root, ROW_FIELDS);
  const row =
    action === "upsert"
      ? { action, reason, ...balanceAndDetails(raw, root), defaultLanguage: defaults.language }
      : { action, reason };
  if (action !== "upsert") warnOfNotApplied(raw, root, action);
  const assumesCurrency = action === "upsert" && (isAbsent(raw, "currency") || raw["currency"] === null);
  if (sourceLoanNumber === undefined || faults.length > 0) {
    const mayPass =
      assumesCurrency && sourceLoanNumber !== undefined && faults.some(({ code }) => IN_CURRENCY.has(code));
    const borrowerPhone = "details" in row ? row.details?.borrowerPhone : undefined;
    const phone = borrowerPhone === undefined ? {} : { borrowerPhone };
    return { index, sourceLoanNumber, assumesCurrency: mayPass, ...phone, errors: faults, warnings };
  }
  // There is no fault, so every required field has a value.
  return { index, sourceLoanNumber, assumesCurrency, row: { ...row, index, sourceLoanNumber, warnings } as CaseRow };
}

function balanceAndDetails(raw: Raw, root: FieldContext): Partial<UpsertRow> {
  const context = {
    ...root,
    currency: optional(raw, root, "currency", currencyCode) ?? root.currency,
    country: optional(raw, root, "country", readCountry) ?? root.country,
    leaveOutFaulty: false,
  };
  const lenient = root.leaveOutFaulty ? { ...context, leaveOutFaulty: true } : context;
  const outstandingMinor = required(raw, context, "outstandingAmount", amount({ allowZero: true }));
  const details: Record<string, unknown> = {};
  for (const property of DETAIL_PROPERTIES) {
    const { field, read, cleared }: AnyDetailField = DETAIL_FIELDS[property];
    if (cleared === "REQUIRED") details[property] = required(raw, context, field, read);
    else if (isAbsent(raw, field)) continue;
    else if (raw[field] === null) details[property] = cleared;
    else {
      const faultsBefore = context.faults.length;
      const isLenient = lenient.leaveOutFaulty && !NEVER_LEFT_OUT.has(property);
      const value = read(raw[field], below(isLenient ? lenient : context, field));
      if (value !== undefined || !isLenient) details[property] = value;
      else leaveOut(context, faultsBefore);
    }
  }
  return {
    currency: context.currency,
    details: details as unknown as UpsertRow["details"],
    ...(outstandingMinor !== undefined && { outstandingMinor }),
  };
}

interface AnyDetailField {
  readonly field: string;
  readonly read: FieldReader<unknown>;
  readonly cleared: unknown;
}

type Raw = Readonly<Record<string, unknown>>;

function isAbsent(raw: Raw, field: string): boolean {
  return !Object.hasOwn(raw, field) || raw[field] === undefined;
}

function optional<Value>(raw: Raw, root: FieldContext, field: string, read: FieldReader<Value>): Value | undefined {
  return isAbsent(raw, field) || raw[field] === null ? undefined : read(raw[field], below(root, field));
}

function required<Value>(raw: Raw, root: FieldContext, field: string, read: FieldReader<Value>): Value | undefined {
  if (!isAbsent(raw, field) && raw[field] !== null) return read(raw[field], below(root, field));
  return refuse(below(root, field), "REQUIRED", `${field} is required.`);
}

/** Reads a loan number without changing it, because it identifies the loan in paths, events and answers. */
const loanNumber: FieldReader<string> = (value, context) => {
  if (typeof value !== "string") return refuse(context, "WRONG_TYPE", `Expected a text; got ${shown(value)}.`);
  if (value.trim() === "") return refuse(context, "REQUIRED", "Expected a loan number of 1 to 64 characters.");
  if (!isPrintable(value) || value !== value.trim()) {
    return refuse(context, "WRONG_TYPE", "Expected printable characters without spaces at the beginning or the end.");
  }
  if (isDotSegment(value)) {
    return refuse(context, "WRONG_TYPE", `Expected another loan number: "${value}" cannot be a segment of a URL path.`);
  }
  if (value.length <= MAX_LOAN_NUMBER) return value;
  return refuse(context, "TOO_LONG", `Expected at most ${MAX_LOAN_NUMBER} characters; got ${value.length}.`);
};

const currencyCode: FieldReader<CurrencyCode> = (value, context) =>
  typeof value === "string" && isCurrency(value)
    ? value
    : refuse(context, "INVALID_CURRENCY", `Expected an active ISO 4217 code such as INR; got ${shown(value)}.`);

function warnOfNotApplied(raw: Raw, root: FieldContext, action: string): void {
  for (const field of Object.keys(raw)) {
    if (!ROW_FIELDS.has(field) || CONTROL_FIELDS.includes(field)) continue;
    const detail = `A row with action ${action} does not change ${field}; send an upsert row to change it.`;
    root.warnings.push({ code: "FIELD_NOT_APPLIED", pointer: pointerTo(root.pointer, field), detail });
  }
}
