import type { PackageSchema } from "@collections/database";
import type { CurrencyCode, Percent } from "@collections/money";
import { defineEntity, type InferEntity, p } from "@mikro-orm/core";
import type { EarningStatus } from "./earning.ts";
import { migration0004 } from "./migrations/0004-reversals.ts";
import { migration0005 } from "./migrations/0005-earning-rule.ts";
import { migration0006 } from "./migrations/0006-applied-excess.ts";
import { migration0007 } from "./migrations/0007-lines-of-balances.ts";
import { migration0008 } from "./migrations/0008-credited-earnings.ts";
import { migration0009 } from "./migrations/0009-deductions.ts";

/** A field partner's commission on one payment, or what a reversal changed on it. */
export const EarningEntity = defineEntity({
  name: "Earning",
  schema: "earnings",
  tableName: "earning",
  indexes: [
    { name: "earning_pending", properties: ["lenderId", "caseId"], where: "status = 'pending'" },
    { name: "earning_field_partner", properties: ["fieldPartnerId", "earnedAt", "id"] },
    {
      name: "earning_of_balance",
      properties: ["lenderId", "bookingId"],
      where: "base_before_minor is not null and reversal_id is null",
    },
  ],
  uniques: [
    { name: "earning_of_payment", properties: ["lenderId", "bookingId"], where: "base_before_minor is null" },
    {
      name: "earning_of_one_reversal",
      properties: ["lenderId", "bookingId", "reversalId"],
      where: "reversal_id is not null",
    },
  ],
  properties: {
    lenderId: p.uuid().primary(),
    id: p.uuid().primary(),
    caseId: p.uuid(),
    bookingId: p.uuid(),
    sourceLoanNumber: p.text(),
    reference: p.text(),
    fieldPartnerId: p.uuid(),
    currency: p.character().length(3).$type<CurrencyCode>(),
    baseMinor: p.bigint(),
    percent: p.bigint().$type<Percent>(),
    amountMinor: p.bigint(),
    status: p.text().$type<EarningStatus>(),
    earnedAt: p.datetime().columnType("timestamptz"),
    creditedAt: p.datetime().columnType("timestamptz").strictNullable(),
    paidOutAt: p.datetime().columnType("timestamptz").strictNullable(),
    payoutId: p.uuid().strictNullable(),
    reversalId: p.uuid().strictNullable(),
    baseBeforeMinor: p.bigint().strictNullable(),
    reversedAt: p.datetime().columnType("timestamptz").strictNullable(),
    reversedById: p.uuid().strictNullable(),
  },
});
/** A row of `earnings.earning`. */
export type EarningRow = InferEntity<typeof EarningEntity>;

/** One lender's part of a payout to a field partner. All parts of a payout have the same id. */
export const PayoutEntity = defineEntity({
  name: "Payout",
  schema: "earnings",
  tableName: "payout",
  properties: {
    lenderId: p.uuid().primary(),
    id: p.uuid().primary(),
    fieldPartnerId: p.uuid(),
    currency: p.character().length(3).$type<CurrencyCode>(),
    reference: p.text(),
    paidOn: p.date(),
    untilDay: p.date().fieldName("credited_until").strictNullable(),
    untilInstant: p.datetime().columnType("timestamptz").fieldName("credited_until_instant").strictNullable(),
    lines: p.integer(),
    amountMinor: p.bigint(),
    recordedAt: p.datetime().columnType("timestamptz"),
  },
});

/** A row of `earnings.payout`. */
export type PayoutRow = InferEntity<typeof PayoutEntity>;

/**
 * The PostgreSQL schema `earnings`: the field partners' earnings, and the payouts that paid them.
 *
 * @example
 * await migrate({ url: process.env["DATABASE_URL"]!, schemas: [earningsSchema] });
 */
export const earningsSchema: PackageSchema = {
  name: "earnings",
  entities: [EarningEntity, PayoutEntity],
  migrations: [
    {
      name: "0001",
      statements: [
        `create schema earnings`,
        `create table earnings.earning (
           lender_id uuid not null,
           id uuid not null,
           case_id uuid not null,
           booking_id uuid not null,
           source_loan_number text not null,
           reference text not null,
           field_partner_id uuid not null,
           currency char(3) not null check (currency ~ '^[A-Z]{3}$'),
           base_minor bigint not null check (base_minor > 0),
           percent bigint not null check (percent between 1 and 1000000),
           amount_minor bigint not null check (amount_minor > 0 and amount_minor <= base_minor),
           status text not null check (status in ('pending', 'credited', 'paid_out')),
           earned_at timestamptz not null,
           credited_at timestamptz,
           paid_out_at timestamptz,
           primary key (lender_id, id),
           unique (lender_id, booking_id),
           check ((status = 'pending') = (credited_at is null)),
           check ((status = 'paid_out') = (paid_out_at is not null))
         )`,
        `create index earning_pending on earnings.earning (lender_id, case_id) where status = 'pending'`,
        `create index earning_field_partner on earnings.earning (field_partner_id, earned_at, id)`,
      ],
    },
    {
      name: "0002-payouts",
      statements: [
        `create table earnings.payout (
           lender_id uuid not null,
           id uuid not null,
           field_partner_id uuid not null,
           currency char(3) not null check (currency ~ '^[A-Z]{3}$'),
           reference text not null check (reference <> ''),
           paid_on date not null,
           credited_until date,
           lines integer not null check (lines > 0),
           amount_minor bigint not null check (amount_minor > 0),
           recorded_at timestamptz not null,
           primary key (lender_id, id),
           unique (lender_id, reference)
         )`,
        `create index payout_id on earnings.payout (id)`,
        `create index payout_reference on earnings.payout (reference)`,
        `create index payout_field_partner on earnings.payout (field_partner_id, id)`,
        `alter table earnings.earning
           add column payout_id uuid,
           add check ((status = 'paid_out') = (payout_id is not null)),
           add foreign key (lender_id, payout_id) references earnings.payout (lender_id, id)`,
      ],
    },
    {
      // The time is stored in a second column beside the day, so that processes of the previous version can still read
      // and write payouts during a rollout.
      name: "0003-payouts-until-an-instant",
      statements: [
        `alter table earnings.payout
           add column credited_until_instant timestamptz,
           add check (credited_until is null or credited_until_instant is null)`,
      ],
    },
    { name: "0004-reversals", statements: migration0004 },
    { name: "0005-earning-rule", statements: migration0005 },
    { name: "0006-applied-excess", statements: migration0006 },
    { name: "0007-lines-of-balances", statements: migration0007 },
    { name: "0008-credited-earnings", statements: migration0008 },
    { name: "0009-deductions", statements: migration0009 },
  ],
  appendOnly: ["earnings.payout"],
};
