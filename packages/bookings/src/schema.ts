import type { PackageSchema } from "@collections/database";
import type { CurrencyCode, Percent } from "@collections/money";
import { defineEntity, type InferEntity, p } from "@mikro-orm/core";
import { migration0001 } from "./migrations/0001.ts";
import { migration0002 } from "./migrations/0002-payments-in-balance.ts";
import { migration0003 } from "./migrations/0003-anchors.ts";
import { migration0004 } from "./migrations/0004-digests-by-trigger.ts";
import { migration0005 } from "./migrations/0005-payment-reversals.ts";
import { migration0006 } from "./migrations/0006-reconciliation.ts";
import { migration0007 } from "./migrations/0007-row-rules.ts";
import { migration0008 } from "./migrations/0008-rates-parts-and-cycles.ts";
import { migration0009 } from "./migrations/0009-reconciliation-lists.ts";
import { migration0010 } from "./migrations/0010-gone-differences.ts";
import { migration0011 } from "./migrations/0011-reconciliations-as-evidence.ts";
import { migration0012 } from "./migrations/0012-reconciliation-matches.ts";
import { migration0013 } from "./migrations/0013-by-reference.ts";
import { ReconciliationCostEntity } from "./reconciliation/allowance.ts";
import { ReconciliationDifferenceEntity } from "./reconciliation/difference.ts";
import { ReconciliationGoneEntity, ReconciliationMarkEntity } from "./reconciliation/gone.ts";
import { ReconciliationLeftoverEntity } from "./reconciliation/leftover.ts";
import { ReconciliationMatchEntity } from "./reconciliation/match.ts";
import { ReconciliationRowEntity } from "./reconciliation/reconciliation-row.ts";
import { ReconciliationRunEntity } from "./reconciliation/reconciliation-run.ts";

/**
 * The kind of an account. A case has `receivable` and `excess`. A lender has `placed`, `settled_direct` and
 * `commission_expense`. A field partner has `pending`, `credited` and `paid` with each lender.
 */
export type AccountKind =
  | "receivable"
  | "excess"
  | "placed"
  | "settled_direct"
  | "commission_expense"
  | "pending"
  | "credited"
  | "paid";

/**
 * The kind of a transfer. A CHECK of the table allows each kind to move money only between certain kinds of account. A
 * `correction` may move money between any two accounts.
 */
export type TransferKind =
  | "placement"
  | "adjustment"
  | "payment"
  | "excess"
  | "commission"
  | "earning_credited"
  | "payout"
  | "correction";

/** How a payment was attributed to a field partner. contract: Payment confirmation request */
export type Attribution = "exact" | "inferred" | "none";

/** An irregularity in a confirmation that was booked nevertheless. */
export interface BookingWarning {
  readonly code: string;
  readonly pointer: string;
  readonly detail: string;
}

/** An account in a lender's ledger: `receivable/<case>`, `placed/<lender>/INR` and so on. */
export const AccountEntity = defineEntity({
  name: "Account",
  schema: "ledger",
  tableName: "account",
  properties: {
    lenderId: p.uuid().primary(),
    id: p.text().primary(),
    kind: p.text().$type<AccountKind>(),
    ownerId: p.uuid(),
    currency: p.character().length(3).$type<CurrencyCode>(),
    exponent: p.smallint(),
    createdAt: p.datetime().columnType("timestamptz"),
  },
});
/** A row of `ledger.account`. `exponent` is the number of decimals of the account's currency. */
export type AccountRow = InferEntity<typeof AccountEntity>;

/** One amount that moved from one account to another. */
export const TransferEntity = defineEntity({
  name: "Transfer",
  schema: "ledger",
  tableName: "transfer",
  indexes: [{ name: "transfer_case", properties: ["lenderId", "caseId"] }],
  properties: {
    lenderId: p.uuid().primary(),
    id: p.uuid().primary(),
    debitAccount: p.text(),
    creditAccount: p.text(),
    amountMinor: p.bigint(),
    currency: p.character().length(3).$type<CurrencyCode>(),
    kind: p.text().$type<TransferKind>(),
    caseId: p.uuid().strictNullable(),
    bookingId: p.uuid().strictNullable(),
    corrects: p.uuid().strictNullable(),
    sequence: p.bigint().strictNullable(),
    memo: p.text(),
    effectiveAt: p.datetime().columnType("timestamptz"),
    recordedAt: p.datetime().columnType("timestamptz"),
    digest: p.blob(),
  },
});
/** A row of `ledger.transfer`. `digest` is the SHA-256 of the other columns. */
export type TransferRow = InferEntity<typeof TransferEntity>;

/** A captured payment and the outcome of booking it. */
export const PaymentBookingEntity = defineEntity({
  name: "PaymentBooking",
  schema: "ledger",
  tableName: "payment_booking",
  indexes: [{ name: "payment_booking_field_partner", properties: ["fieldPartnerId", "recordedAt"] }],
  uniques: [{ properties: ["lenderId", "sourceLoanNumber", "reference"] }],
  properties: {
    lenderId: p.uuid().primary(),
    id: p.uuid().primary(),
    sourceLoanNumber: p.text(),
    reference: p.text(),
    caseId: p.uuid(),
    cycle: p.integer(),
    amountMinor: p.bigint(),
    currency: p.character().length(3).$type<CurrencyCode>(),
    mode: p.text(),
    rawMode: p.text(),
    paidAt: p.datetime().columnType("timestamptz"),
    linkId: p.text().strictNullable(),
    visitId: p.uuid().strictNullable(),
    fieldPartnerId: p.uuid().strictNullable(),
    attribution: p.text().$type<Attribution>(),
    appliedMinor: p.bigint(),
    excessMinor: p.bigint(),
    outstandingAfterMinor: p.bigint(),
    totalCollectedAfterMinor: p.bigint(),
    statusAfter: p.text().$type<"in_progress" | "collected">(),
    sequence: p.bigint(),
    warnings: p.json<BookingWarning[]>(),
    recordedAt: p.datetime().columnType("timestamptz"),
    inBalanceMinor: p.bigint().strictNullable(),
    partOf: p.text().strictNullable(),
    commissionPercent: p.bigint().$type<Percent>().strictNullable(),
    digest: p.blob(),
  },
});
/** A row of `ledger.payment_booking`. `digest` is the SHA-256 of the other columns. */
export type PaymentBookingRow = InferEntity<typeof PaymentBookingEntity>;

/** The reason of a reversal, one of REVERSAL_REASONS. contract: Payment reversal request */
export type ReversalReason =
  | "bank_reversed"
  | "chargeback"
  | "bounced"
  | "duplicate"
  | "wrong_loan"
  | "entered_by_mistake"
  | "other";

/** Excess of another payment that a reversal applied to the amount that is owed again. */
export interface ReappliedExcess {
  /** The booking of the payment that held the excess. */
  readonly bookingId: string;
  /** The applied amount in minor units, as decimal digits: JSON has no bigint. */
  readonly amountMinor: string;
}

/** Money of a captured payment that was returned, wholly or in part, and the outcome of recording it. */
export const PaymentReversalEntity = defineEntity({
  name: "PaymentReversal",
  schema: "ledger",
  tableName: "payment_reversal",
  uniques: [{ properties: ["lenderId", "sourceLoanNumber", "reversalReference"] }],
  properties: {
    lenderId: p.uuid().primary(),
    id: p.uuid().primary(),
    bookingId: p.uuid(),
    sourceLoanNumber: p.text(),
    reference: p.text(),
    reversalReference: p.text(),
    caseId: p.uuid(),
    cycle: p.integer(),
    amountMinor: p.bigint(),
    currency: p.character().length(3).$type<CurrencyCode>(),
    reversedAt: p.datetime().columnType("timestamptz"),
    reason: p.text().$type<ReversalReason>(),
    note: p.text().strictNullable(),
    appliedMinor: p.bigint(),
    excessMinor: p.bigint(),
    inBalance: p.boolean(),
    adjustmentMinor: p.bigint(),
    reapplied: p.json<ReappliedExcess[]>(),
    outstandingAfterMinor: p.bigint(),
    totalCollectedAfterMinor: p.bigint(),
    totalReversedAfterMinor: p.bigint(),
    excessAfterMinor: p.bigint(),
    statusAfter: p.text(),
    sequence: p.bigint(),
    warnings: p.json<BookingWarning[]>(),
    recordedAt: p.datetime().columnType("timestamptz"),
    currentCaseId: p.uuid().strictNullable(),
    currentAdjustmentMinor: p.bigint().strictNullable(),
    digest: p.blob(),
  },
});
/** A row of `ledger.payment_reversal`. `digest` is the SHA-256 of the other columns. */
export type PaymentReversalRow = InferEntity<typeof PaymentReversalEntity>;

/** A block of a lender's hash chain, which covers its transfers, bookings and reversals. */
export const ChainBlockEntity = defineEntity({
  name: "ChainBlock",
  schema: "ledger",
  tableName: "chain_block",
  properties: {
    lenderId: p.uuid().primary(),
    number: p.bigint().primary(),
    transferIds: p.array().columnType("uuid[]"),
    bookingIds: p.array().columnType("uuid[]"),
    reversalIds: p.array().columnType("uuid[]").default([]),
    rowCount: p.integer(),
    rowsHash: p.blob(),
    previousHash: p.blob(),
    lastId: p.uuid(),
    createdAt: p.datetime().columnType("timestamptz"),
    hash: p.blob(),
  },
});
/** A row of `ledger.chain_block`: the ids of the block's transfers, bookings and reversals, and SHA-256 hashes of 32 bytes. */
export type ChainBlockRow = InferEntity<typeof ChainBlockEntity>;

/** The last block of a lender's chain that was anchored outside the database. */
export const AnchorEntity = defineEntity({
  name: "LedgerAnchor",
  schema: "ledger",
  tableName: "anchor",
  properties: {
    lenderId: p.uuid().primary(),
    number: p.bigint(),
    hash: p.blob(),
    anchoredAt: p.datetime().columnType("timestamptz"),
  },
});

/**
 * The PostgreSQL schema `ledger`: accounts, transfers, payment bookings, reversals and hash chains, all append-only. It
 * also records the last anchored block of each chain, and runs of reconciliations. The schema keeps the name under which
 * it was released, although the package has another name.
 *
 * @example
 * await migrate({ url: process.env["DATABASE_URL"]!, schemas: [bookingsSchema] });
 */
export const bookingsSchema: PackageSchema = {
  name: "ledger",
  entities: [
    AccountEntity,
    TransferEntity,
    PaymentBookingEntity,
    PaymentReversalEntity,
    ChainBlockEntity,
    AnchorEntity,
    ReconciliationRunEntity,
    ReconciliationRowEntity,
    ReconciliationLeftoverEntity,
    ReconciliationDifferenceEntity,
    ReconciliationMarkEntity,
    ReconciliationGoneEntity,
    ReconciliationMatchEntity,
    ReconciliationCostEntity,
  ],
  migrations: [
    { name: "0001", statements: migration0001 },
    { name: "0002-payments-in-balance", statements: migration0002 },
    { name: "0003-anchors", statements: migration0003 },
    { name: "0004-digests-by-trigger", statements: migration0004 },
    { name: "0005-payment-reversals", statements: migration0005 },
    { name: "0006-reconciliation", statements: migration0006 },
    { name: "0007-row-rules", statements: migration0007 },
    { name: "0008-rates-parts-and-cycles", statements: migration0008 },
    { name: "0009-reconciliation-lists", statements: migration0009 },
    { name: "0010-gone-differences", statements: migration0010 },
    { name: "0011-reconciliations-as-evidence", statements: migration0011 },
    { name: "0012-reconciliation-matches", statements: migration0012 },
    { name: "0013-by-reference", statements: migration0013 },
  ],
  appendOnly: [
    "ledger.account",
    "ledger.transfer",
    "ledger.payment_booking",
    "ledger.payment_reversal",
    "ledger.chain_block",
    "ledger.reconciliation_run",
    "ledger.reconciliation_difference",
    "ledger.reconciliation_gone",
  ],
};
