import type { CurrencyCode } from "@collections/money";
import { defineEntity, type InferEntity, p } from "@mikro-orm/core";
import type { CaseStatus, CloseReason, FieldWork } from "./case-status.ts";
import type { Address, Consent } from "../fields/contact-readers.ts";
import type { Disposition } from "./disposition.ts";

/** One cycle of collecting a loan. Amounts are in minor units of `currency`. */
export const Case = defineEntity({
  name: "Case",
  tableName: "collection_case",
  schema: "cases",
  properties: {
    lenderId: p.uuid().primary(),
    id: p.uuid().primary(),
    sourceLoanNumber: p.text(),
    cycle: p.integer(),
    isCurrent: p.boolean(),

    currency: p.string().columnType("char(3)").$type<CurrencyCode>(),
    placedMinor: p.bigint(),
    outstandingMinor: p.bigint(),
    totalCollectedMinor: p.bigint(),
    totalReversedMinor: p.bigint().default(0),
    excessMinor: p.bigint(),
    peakMinor: p.bigint().strictNullable(),
    balanceMinor: p.bigint().strictNullable(),
    balanceAsOf: p.datetime().columnType("timestamptz").strictNullable(),
    balanceSequence: p.bigint().strictNullable(),
    lastPaymentAt: p.datetime().columnType("timestamptz").strictNullable(),

    status: p.text().$type<CaseStatus>(),
    statusReason: p.text().strictNullable(),
    statusBeforeHold: p.text().$type<CaseStatus>().strictNullable(),
    fieldWork: p.text().$type<FieldWork>(),
    blockedAt: p.datetime().columnType("timestamptz").strictNullable(),
    workBegun: p.boolean(),
    settledByLender: p.boolean(),

    assignedFieldPartnerId: p.uuid().strictNullable(),
    assignedSince: p.datetime().columnType("timestamptz").strictNullable(),
    lastVisitId: p.uuid().strictNullable(),
    lastDisposition: p.text().$type<Disposition>().strictNullable(),

    sequence: p.bigint(),
    closedAt: p.datetime().columnType("timestamptz").strictNullable(),
    closeReason: p.text().$type<CloseReason>().strictNullable(),

    allocationRef: p.text().strictNullable(),
    tags: p.array().columnType("text[]"),
    minimumMinor: p.bigint().strictNullable(),
    outstandingAsOf: p.datetime().columnType("timestamptz").strictNullable(),
    productType: p.text().strictNullable(),
    branchCode: p.text().strictNullable(),
    emiMinor: p.bigint().strictNullable(),
    nextDueDate: p.date().strictNullable(),
    overdueSince: p.date().strictNullable(),
    dpd: p.integer().strictNullable(),
    bucket: p.text().strictNullable(),

    borrowerName: p.text(),
    borrowerPhone: p.text(),
    alternatePhones: p.array().columnType("text[]"),
    borrowerEmail: p.text().strictNullable(),
    language: p.text().strictNullable(),
    addresses: p.json<Address[]>(),
    consent: p.json<Consent>(),
    doNotContactUntil: p.date().strictNullable(),
    metadata: p.json<Record<string, string>>(),
    /** When the borrower's personal data were erased. Null if the case has them. */
    erasedAt: p.datetime().columnType("timestamptz").strictNullable(),

    createdAt: p.datetime().columnType("timestamptz"),
    updatedAt: p.datetime().columnType("timestamptz"),
  },
});

/** A case: its balance, its state and the details from the lender's rows. Amounts are in minor units of `currency`. */
export type Case = InferEntity<typeof Case>;
