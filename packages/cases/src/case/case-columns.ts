import { DETAIL_PROPERTIES } from "./case-details.ts";
import type { ImportedCase } from "./locked-case.ts";

/** The column types of all properties of a case that the SQL statements of this package read and write. */
const COLUMN_TYPES = {
  lenderId: "uuid",
  id: "uuid",
  sourceLoanNumber: "text",
  cycle: "integer",
  isCurrent: "boolean",
  currency: "text",
  placedMinor: "bigint",
  outstandingMinor: "bigint",
  totalCollectedMinor: "bigint",
  excessMinor: "bigint",
  peakMinor: "bigint",
  lastPaymentAt: "timestamptz",
  status: "text",
  statusReason: "text",
  statusBeforeHold: "text",
  fieldWork: "text",
  blockedAt: "timestamptz",
  workBegun: "boolean",
  settledByLender: "boolean",
  assignedFieldPartnerId: "uuid",
  assignedSince: "timestamptz",
  lastVisitId: "uuid",
  lastDisposition: "text",
  sequence: "bigint",
  closedAt: "timestamptz",
  closeReason: "text",
  allocationRef: "text",
  tags: "text[]",
  minimumMinor: "bigint",
  outstandingAsOf: "timestamptz",
  productType: "text",
  branchCode: "text",
  emiMinor: "bigint",
  nextDueDate: "date",
  overdueSince: "date",
  dpd: "integer",
  bucket: "text",
  borrowerName: "text",
  borrowerPhone: "text",
  alternatePhones: "text[]",
  borrowerEmail: "text",
  language: "text",
  addresses: "jsonb",
  consent: "jsonb",
  doNotContactUntil: "date",
  metadata: "jsonb",
} as const satisfies { readonly [Property in keyof ImportedCase]: string };

export type CaseProperty = keyof typeof COLUMN_TYPES;

/** The properties of an ImportedCase. */
export const IMPORTED_PROPERTIES = Object.keys(COLUMN_TYPES) as readonly CaseProperty[];

/** The details that confirmations, visits and links need too, so a LockedCase has them. */
const LOCKED_DETAILS: ReadonlySet<CaseProperty> = new Set(["minimumMinor", "outstandingAsOf", "doNotContactUntil"]);
const NOT_LOCKED: ReadonlySet<CaseProperty> = new Set(
  DETAIL_PROPERTIES.filter((property) => !LOCKED_DETAILS.has(property)),
);

/** The properties of a LockedCase: all except the details that only imports need. */
export const LOCKED_PROPERTIES = IMPORTED_PROPERTIES.filter((property) => !NOT_LOCKED.has(property));

export function columnOf(property: CaseProperty): string {
  return property.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

export function columnTypeOf(property: CaseProperty): (typeof COLUMN_TYPES)[CaseProperty] {
  return COLUMN_TYPES[property];
}

/** Returns a SELECT list that renames the columns of `c` to these properties. */
export function selectList(properties: readonly CaseProperty[]): string {
  return properties.map((property) => `c.${columnOf(property)} as "${property}"`).join(", ");
}
