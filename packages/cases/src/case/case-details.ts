import { isDeepStrictEqual } from "node:util";
import { type CurrencyCode, toWire } from "@collections/money";
import { type Address, addresses, type Consent, consent, email, language, phone } from "../fields/contact-readers.ts";
import {
  amount,
  balanceAsOf,
  day,
  type FieldReader,
  list,
  stringPairs,
  text,
  wholeNumber,
} from "../fields/field-readers.ts";
import { refusalOfPair } from "./refused-pairs.ts";

/**
 * The details of a case, as the lender's import rows set them, without the balance. Amounts are in minor units, days
 * are `YYYY-MM-DD`.
 */
export interface CaseDetails {
  readonly allocationRef: string | null;
  readonly tags: readonly string[];
  readonly minimumMinor: bigint | null;
  readonly outstandingAsOf: Date | null;
  readonly productType: string | null;
  readonly branchCode: string | null;
  readonly emiMinor: bigint | null;
  readonly nextDueDate: string | null;
  readonly overdueSince: string | null;
  /** Days past due. */
  readonly dpd: number | null;
  /** The bucket that the lender sent. If it is null, `bucketOf` derives the bucket from `dpd`. */
  readonly bucket: string | null;
  readonly borrowerName: string;
  readonly borrowerPhone: string;
  readonly alternatePhones: readonly string[];
  readonly borrowerEmail: string | null;
  readonly language: string | null;
  readonly addresses: readonly Address[];
  readonly consent: Consent;
  /** The borrower must not be contacted before this day. */
  readonly doNotContactUntil: string | null;
  readonly metadata: Readonly<Record<string, string>>;
}

/**
 * The details that one row sets. A property that is absent here does not change. Consent is merged channel by channel.
 */
export type DetailChanges = Partial<Omit<CaseDetails, "consent">> & { readonly consent?: Partial<Consent> };

/** The value that is stored if a row sends null for the field. `REQUIRED` means that a row cannot clear the field. */
type Cleared<Value> = null extends Value ? null : Value | "REQUIRED";

interface DetailField<Property extends keyof CaseDetails> {
  /** The name of the field in the API. */
  readonly field: string;
  readonly read: FieldReader<NonNullable<NonNullable<DetailChanges[Property]>>>;
  readonly cleared: Cleared<CaseDetails[Property]>;
  /** Whether events leave out the field's values. Events contain no personal data and must stay small. */
  readonly confidential?: true;
}

/**
 * For each detail: its field in a row, the function that reads the field, and the value that is stored if a row sends
 * null. Answers list changes in the order of these entries.
 */
export const DETAIL_FIELDS: { readonly [Property in keyof CaseDetails]: DetailField<Property> } = {
  outstandingAsOf: { field: "outstandingAsOf", read: balanceAsOf, cleared: null },
  minimumMinor: { field: "minimumAmount", read: amount({ allowZero: true }), cleared: null },
  emiMinor: { field: "emiAmount", read: amount({ allowZero: true }), cleared: null },
  dpd: { field: "dpd", read: wholeNumber(0, 36_500), cleared: null },
  bucket: { field: "bucket", read: text(32), cleared: null },
  nextDueDate: { field: "nextDueDate", read: day, cleared: null },
  overdueSince: { field: "overdueSince", read: day, cleared: null },
  productType: { field: "productType", read: text(64), cleared: null },
  branchCode: { field: "branchCode", read: text(64), cleared: null },
  allocationRef: { field: "allocationRef", read: text(128), cleared: null },
  tags: { field: "tags", read: list(text(64), 20), cleared: [], confidential: true },
  borrowerName: { field: "borrowerName", read: text(200), cleared: "REQUIRED", confidential: true },
  borrowerPhone: { field: "borrowerPhone", read: phone, cleared: "REQUIRED", confidential: true },
  alternatePhones: { field: "alternatePhones", read: list(phone, 10), cleared: [], confidential: true },
  borrowerEmail: { field: "borrowerEmail", read: email, cleared: null, confidential: true },
  language: { field: "language", read: language, cleared: null },
  addresses: { field: "addresses", read: addresses, cleared: [], confidential: true },
  consent: { field: "consent", read: consent, cleared: { whatsapp: null, email: null } },
  doNotContactUntil: { field: "doNotContactUntil", read: day, cleared: null },
  metadata: {
    field: "metadata",
    read: stringPairs({ maxPairs: 20, maxName: 64, maxValue: 500, refusal: refusalOfPair }),
    cleared: {},
    confidential: true,
  },
};

export const DETAIL_PROPERTIES = Object.keys(DETAIL_FIELDS) as readonly (keyof CaseDetails)[];

/** The values of a new case's details, if its first row does not contain them. */
export const NO_DETAILS: Omit<CaseDetails, "borrowerName" | "borrowerPhone"> = {
  allocationRef: null,
  tags: [],
  minimumMinor: null,
  outstandingAsOf: null,
  productType: null,
  branchCode: null,
  emiMinor: null,
  nextDueDate: null,
  overdueSince: null,
  dpd: null,
  bucket: null,
  alternatePhones: [],
  borrowerEmail: null,
  language: null,
  addresses: [],
  consent: { whatsapp: null, email: null },
  doNotContactUntil: null,
  metadata: {},
};

/** One change that a row made. The values have the format of the API. Events omit the values of confidential fields. */
export interface FieldChange {
  readonly field: string;
  readonly from?: unknown;
  readonly to?: unknown;
}

/**
 * The names of the fields that are amounts. Parse a request with `parseJson(text, AMOUNT_FIELDS)`.
 *
 * @example
 * const { rows } = parseJson(body, AMOUNT_FIELDS) as { rows: unknown[] };
 * const checked = checkRows(rows, lender);
 */
export const AMOUNT_FIELDS: ReadonlySet<string> = new Set(["outstandingAmount", "minimumAmount", "emiAmount"]);

const CONFIDENTIAL_FIELDS: ReadonlySet<string> = new Set(
  Object.values(DETAIL_FIELDS)
    .filter(({ confidential }) => confidential)
    .map(({ field }) => field),
);

/** Returns the details after a row's changes. */
export function withChanges<Details extends CaseDetails>(details: Details, changes: DetailChanges): Details {
  return { ...details, ...changes, consent: { ...details.consent, ...changes.consent } };
}

/** Returns the differences between two versions of a case's details, with names and values as in the API. */
export function detailChanges(before: CaseDetails, after: CaseDetails, currency: CurrencyCode): FieldChange[] {
  return DETAIL_PROPERTIES.filter((property) => !isDeepStrictEqual(before[property], after[property])).map(
    (property) => ({
      field: DETAIL_FIELDS[property].field,
      from: onTheWire(before[property], currency),
      to: onTheWire(after[property], currency),
    }),
  );
}

/** Returns the changes for the body of an event, without the values of confidential fields. */
export function publicChanges(changes: readonly FieldChange[]): FieldChange[] {
  return changes.map((change) => (CONFIDENTIAL_FIELDS.has(change.field) ? { field: change.field } : change));
}

/**
 * Returns the lender's bucket if it sent one, otherwise the bucket of the days past due, otherwise null.
 *
 * @example
 * bucketOf({ bucket: null, dpd: 47 }); // "31-60"
 */
export function bucketOf({ bucket, dpd }: Pick<CaseDetails, "bucket" | "dpd">): string | null {
  if (bucket !== null || dpd === null) return bucket;
  if (dpd === 0) return "0";
  if (dpd <= 30) return "1-30";
  if (dpd <= 60) return "31-60";
  return dpd <= 90 ? "61-90" : "90+";
}

function onTheWire(value: unknown, currency: CurrencyCode): unknown {
  if (typeof value === "bigint") return toWire(value, currency);
  return value instanceof Date ? value.toISOString() : value;
}
