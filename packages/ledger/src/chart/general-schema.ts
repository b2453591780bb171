import { inSchema, type PackageSchema } from "@collections/database";
import type { CurrencyCode } from "@collections/money";
import { defineEntity, p } from "@mikro-orm/core";
import { balanceMigration } from "./balance-migration.ts";
import type { TransferMetadata } from "./chart.ts";
import { holdMigration } from "./hold-migration.ts";
import { metadataMigration } from "./metadata-migration.ts";
import { minimumMigration } from "./minimum-migration.ts";
import { correctionMigration, generalMigration, postingKeyMigration } from "./general-migration.ts";

/** The name of the schema of a chart that sets none. `ledger` is the schema of `@collections/bookings`. */
export const DEFAULT_SCHEMA = "general_ledger";

/** The entities of the tables of one chart. */
export type GeneralTables = ReturnType<typeof makeTables>;

const tablesByName = new Map<string, GeneralTables>();

/** Returns the entities of the tables in a schema. A process may have several charts, each in a schema of its own. */
export function generalTables(name: string): GeneralTables {
  const tables = tablesByName.get(name) ?? makeTables(name);
  tablesByName.set(name, tables);
  return tables;
}

/** The first columns of transfers and of holds. */
function postingColumns() {
  return {
    lenderId: p.uuid().primary(),
    id: p.uuid().primary(),
    debitAccount: p.text(),
    creditAccount: p.text(),
    amountMinor: p.bigint(),
    currency: p.character().length(3).$type<CurrencyCode>(),
    kind: p.text(),
    subjectId: p.uuid().strictNullable(),
  };
}

function makeTables(name: string) {
  const suffix = name === DEFAULT_SCHEMA ? "" : `_${name}`;
  /** An account of a book: `revenue/<owner>/EUR`. */
  const account = defineEntity({
    name: `GeneralAccount${suffix}`,
    schema: name,
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
  const transfer = defineEntity({
    name: `GeneralTransfer${suffix}`,
    schema: name,
    tableName: "transfer",
    indexes: [
      { name: "transfer_subjects", properties: ["lenderId", "subjectId", "id"] },
      { name: "transfer_debited", properties: ["lenderId", "debitAccount", "writtenIn"] },
      { name: "transfer_credited", properties: ["lenderId", "creditAccount", "writtenIn"] },
      { name: "transfer_debit_days", properties: ["lenderId", "debitAccount", "effectiveAt", "id"] },
      { name: "transfer_credit_days", properties: ["lenderId", "creditAccount", "effectiveAt", "id"] },
      { name: "transfer_corrects", properties: ["lenderId", "corrects"], where: "corrects is not null" },
    ],
    properties: {
      ...postingColumns(),
      corrects: p.uuid().strictNullable(),
      memo: p.text(),
      effectiveAt: p.datetime().columnType("timestamptz"),
      recordedAt: p.datetime().columnType("timestamptz"),
      digest: p.blob(),
      /** The transaction that inserted the row. PostgreSQL fills it. */
      writtenIn: p.string().columnType("xid8"),
      metadata: p.json<TransferMetadata>().strictNullable(),
    },
  });

  /** A block of a book's hash chain. */
  const chainBlock = defineEntity({
    name: `GeneralChainBlock${suffix}`,
    schema: name,
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
  const anchor = defineEntity({
    name: `GeneralAnchor${suffix}`,
    schema: name,
    tableName: "anchor",
    properties: {
      lenderId: p.uuid().primary(),
      number: p.bigint(),
      hash: p.blob(),
      anchoredAt: p.datetime().columnType("timestamptz"),
    },
  });

  /** The transfers that were posted under a key. */
  const postingKey = defineEntity({
    name: `GeneralPostingKey${suffix}`,
    schema: name,
    tableName: "posting_key",
    properties: {
      lenderId: p.uuid().primary(),
      key: p.text().primary(),
      contentHash: p.blob(),
      transferIds: p.array().columnType("uuid[]"),
      recordedAt: p.datetime().columnType("timestamptz"),
    },
  });

  /** The sums of an account's transfers up to a transaction. They can be taken again at any time. */
  const balanceSnapshot = defineEntity({
    name: `GeneralBalanceSnapshot${suffix}`,
    schema: name,
    tableName: "balance_snapshot",
    properties: {
      lenderId: p.uuid().primary(),
      account: p.text().primary(),
      serverId: p.bigint(),
      coversBefore: p.string().columnType("xid8"),
      debitMinor: p.decimal().columnType("numeric"),
      creditMinor: p.decimal().columnType("numeric"),
      takenAt: p.datetime().columnType("timestamptz"),
    },
  });

  /** A transfer that is pending. */
  const hold = defineEntity({
    name: `GeneralHold${suffix}`,
    schema: name,
    tableName: "hold",
    indexes: [
      { name: "hold_debited", properties: ["lenderId", "debitAccount", "expiresAt"] },
      { name: "hold_credited", properties: ["lenderId", "creditAccount", "expiresAt"] },
    ],
    properties: {
      ...postingColumns(),
      memo: p.text(),
      metadata: p.json<TransferMetadata>().strictNullable(),
      expiresAt: p.datetime().columnType("timestamptz"),
      recordedAt: p.datetime().columnType("timestamptz"),
    },
  });

  /** The end of a hold by its transfer, or without one if it was voided. */
  const holdEnd = defineEntity({
    name: `GeneralHoldEnd${suffix}`,
    schema: name,
    tableName: "hold_end",
    properties: {
      lenderId: p.uuid().primary(),
      holdId: p.uuid().primary(),
      transferId: p.uuid().strictNullable(),
      recordedAt: p.datetime().columnType("timestamptz"),
    },
  });

  return { account, transfer, chainBlock, anchor, postingKey, balanceSnapshot, hold, holdEnd };
}

/**
 * Returns the tables that every chart has, without the rules of one chart. Its migrations have the schema's name, so that
 * no SQL text is renamed when it is sent.
 */
export function generalSchema(name: string, rules: Pick<PackageSchema, "migrations" | "check">): PackageSchema {
  const tables = generalTables(name);
  const { migrations, check } = rules;
  const schema: PackageSchema = {
    name: DEFAULT_SCHEMA,
    entities: Object.values(tables),
    migrations: [
      { name: "0001", statements: generalMigration },
      { name: "0002-corrections", statements: correctionMigration },
      { name: "0003-posting-keys", statements: postingKeyMigration },
      { name: "0004-balances", statements: balanceMigration },
      { name: "0005-metadata", statements: metadataMigration },
      { name: "0006-holds", statements: holdMigration },
      { name: "0007-minimums", statements: minimumMigration },
      ...migrations,
    ],
    appendOnly: ["account", "transfer", "chain_block", "posting_key", "hold", "hold_end"].map(
      (table) => `${DEFAULT_SCHEMA}.${table}`,
    ),
    exportedAs: "chart.schema",
    ...(check && { check }),
  };
  if (name === DEFAULT_SCHEMA) return schema;
  const { renamedFrom: _, ...named } = inSchema(schema, name);
  return named;
}
