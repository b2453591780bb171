import type { PackageSchema } from "@collections/database";
import type { CurrencyCode } from "@collections/money";
import { defineEntity, p } from "@mikro-orm/core";
import { correctionMigration, generalMigration } from "./general-migration.ts";

/** An account of a book: `revenue/<owner>/EUR`. */
export const AccountEntity = defineEntity({
  name: "GeneralAccount",
  schema: "general_ledger",
  tableName: "account",
  properties: {
    lenderId: p.uuid().primary(),
    id: p.text().primary(),
    kind: p.text(),
    ownerId: p.uuid(),
    currency: p.character().length(3).$type<CurrencyCode>(),
    exponent: p.smallint(),
    createdAt: p.datetime().columnType("timestamptz"),
  },
});

/** One amount that moved from one account to another. */
export const TransferEntity = defineEntity({
  name: "GeneralTransfer",
  schema: "general_ledger",
  tableName: "transfer",
  indexes: [
    { name: "transfer_subject", properties: ["lenderId", "subjectId"] },
    { name: "transfer_debit", properties: ["lenderId", "debitAccount"] },
    { name: "transfer_credit", properties: ["lenderId", "creditAccount"] },
    { name: "transfer_corrects", properties: ["lenderId", "corrects"], where: "corrects is not null" },
  ],
  properties: {
    lenderId: p.uuid().primary(),
    id: p.uuid().primary(),
    debitAccount: p.text(),
    creditAccount: p.text(),
    amountMinor: p.bigint(),
    currency: p.character().length(3).$type<CurrencyCode>(),
    kind: p.text(),
    subjectId: p.uuid().strictNullable(),
    corrects: p.uuid().strictNullable(),
    memo: p.text(),
    effectiveAt: p.datetime().columnType("timestamptz"),
    recordedAt: p.datetime().columnType("timestamptz"),
    digest: p.blob(),
  },
});

/** A block of a book's hash chain. */
export const ChainBlockEntity = defineEntity({
  name: "GeneralChainBlock",
  schema: "general_ledger",
  tableName: "chain_block",
  properties: {
    lenderId: p.uuid().primary(),
    number: p.bigint().primary(),
    transferIds: p.array().columnType("uuid[]"),
    rowCount: p.integer(),
    rowsHash: p.blob(),
    previousHash: p.blob(),
    lastId: p.uuid(),
    createdAt: p.datetime().columnType("timestamptz"),
    hash: p.blob(),
  },
});

/** The last block of a book's chain that was anchored outside the database. */
export const AnchorEntity = defineEntity({
  name: "GeneralAnchor",
  schema: "general_ledger",
  tableName: "anchor",
  properties: {
    lenderId: p.uuid().primary(),
    number: p.bigint(),
    hash: p.blob(),
    anchoredAt: p.datetime().columnType("timestamptz"),
  },
});

/**
 * The tables that every chart has, without the rules of one chart. The schema is not named `ledger`, because that is
 * the schema of `@collections/bookings`, and a database may have both.
 */
export const generalSchema: PackageSchema = {
  name: "general_ledger",
  entities: [AccountEntity, TransferEntity, ChainBlockEntity, AnchorEntity],
  migrations: [
    { name: "0001", statements: generalMigration },
    { name: "0002-corrections", statements: correctionMigration },
  ],
  appendOnly: ["general_ledger.account", "general_ledger.transfer", "general_ledger.chain_block"],
};
