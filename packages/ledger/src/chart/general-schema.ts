import { defineTable, inSchema, type PackageSchema } from "@collections/database";
import type { CurrencyCode } from "@collections/money";
import type { AnchorColumns, ChainBlockColumns } from "../tables/ledger-tables.ts";
import { balanceMigration } from "./balance-migration.ts";
import type { TransferMetadata } from "./chart.ts";
import { holdMigration } from "./hold-migration.ts";
import { metadataMigration } from "./metadata-migration.ts";
import { minimumMigration, minimumsByKindMigration } from "./minimum-migration.ts";
import { correctionMigration, generalMigration, postingKeyMigration } from "./general-migration.ts";

/** The name of the schema of a chart that sets none. `ledger` is the schema of `@collections/bookings`. */
export const DEFAULT_SCHEMA = "general_ledger";

/** The tables of one chart. */
export type GeneralTables = ReturnType<typeof makeTables>;

const tablesByName = new Map<string, GeneralTables>();

/** Returns the tables in a schema. A process may have several charts, each in a schema of its own. */
export function generalTables(name: string): GeneralTables {
  const tables = tablesByName.get(name) ?? makeTables(name);
  tablesByName.set(name, tables);
  return tables;
}

/** An account of a book: `revenue/<owner>/EUR`. */
export interface AccountRow {
  lenderId: string;
  id: string;
  kind: string;
  ownerId: string;
  currency: CurrencyCode;
  exponent: number;
  createdAt: Date;
}

/** The first columns of transfers and of holds. */
export interface PostingRow {
  lenderId: string;
  id: string;
  debitAccount: string;
  creditAccount: string;
  amountMinor: bigint;
  currency: CurrencyCode;
  kind: string;
  subjectId: string | null;
}

/** One amount that moved from one account to another. */
export interface TransferRow extends PostingRow {
  corrects: string | null;
  memo: string;
  effectiveAt: Date;
  recordedAt: Date;
  digest: Uint8Array;
  /** The transaction that inserted the row. PostgreSQL fills it. */
  writtenIn: string;
  metadata: TransferMetadata | null;
}

/** A block of a book's hash chain. */
export interface ChainBlockRow extends ChainBlockColumns {
  transferIds: string[];
  rowsHash: Uint8Array;
  previousHash: Uint8Array;
}

/** The transfers that were posted under a key. */
export interface PostingKeyRow {
  lenderId: string;
  key: string;
  contentHash: Uint8Array;
  transferIds: string[];
  recordedAt: Date;
}

/** The sums of an account's transfers up to a transaction. They can be taken again at any time. */
export interface BalanceSnapshotRow {
  lenderId: string;
  account: string;
  serverId: bigint;
  coversBefore: string;
  debitMinor: string;
  creditMinor: string;
  takenAt: Date;
}

/** A transfer that is pending. */
export interface HoldRow extends PostingRow {
  memo: string;
  metadata: TransferMetadata | null;
  expiresAt: Date;
  recordedAt: Date;
}

/** The end of a hold by its transfer, or without one if it was voided. */
export interface HoldEndRow {
  lenderId: string;
  holdId: string;
  transferId: string | null;
  recordedAt: Date;
}

const POSTING_TYPES = {
  lenderId: "uuid",
  id: "uuid",
  debitAccount: "text",
  creditAccount: "text",
  amountMinor: "bigint",
  currency: "char(3)",
  kind: "text",
  subjectId: "uuid null",
} as const;

function makeTables(name: string) {
  return {
    account: defineTable<AccountRow>(`${name}.account`, {
      lenderId: "uuid",
      id: "text",
      kind: "text",
      ownerId: "uuid",
      currency: "char(3)",
      exponent: "smallint",
      createdAt: "timestamptz",
    }),
    transfer: defineTable<TransferRow>(`${name}.transfer`, {
      ...POSTING_TYPES,
      corrects: "uuid null",
      memo: "text",
      effectiveAt: "timestamptz",
      recordedAt: "timestamptz",
      digest: "bytea",
      writtenIn: "xid8",
      metadata: "jsonb null",
    }),
    chainBlock: defineTable<ChainBlockRow>(`${name}.chain_block`, {
      lenderId: "uuid",
      number: "bigint",
      transferIds: "uuid[]",
      rowCount: "integer",
      rowsHash: "bytea",
      previousHash: "bytea",
      lastId: "uuid",
      createdAt: "timestamptz",
      hash: "bytea",
    }),
    /** The last block of a book's chain that was anchored outside the database. */
    anchor: defineTable<AnchorColumns>(`${name}.anchor`, {
      lenderId: "uuid",
      number: "bigint",
      hash: "bytea",
      anchoredAt: "timestamptz",
    }),
    postingKey: defineTable<PostingKeyRow>(`${name}.posting_key`, {
      lenderId: "uuid",
      key: "text",
      contentHash: "bytea",
      transferIds: "uuid[]",
      recordedAt: "timestamptz",
    }),
    balanceSnapshot: defineTable<BalanceSnapshotRow>(`${name}.balance_snapshot`, {
      lenderId: "uuid",
      account: "text",
      serverId: "bigint",
      coversBefore: "xid8",
      debitMinor: "numeric",
      creditMinor: "numeric",
      takenAt: "timestamptz",
    }),
    hold: defineTable<HoldRow>(`${name}.hold`, {
      ...POSTING_TYPES,
      memo: "text",
      metadata: "jsonb null",
      expiresAt: "timestamptz",
      recordedAt: "timestamptz",
    }),
    holdEnd: defineTable<HoldEndRow>(`${name}.hold_end`, {
      lenderId: "uuid",
      holdId: "uuid",
      transferId: "uuid null",
      recordedAt: "timestamptz",
    }),
  };
}

/**
 * Returns the tables that every chart has, without the rules of one chart. Its migrations have the schema's name, so that
 * no SQL text is renamed when it is sent.
 */
export function generalSchema(name: string, rules: Pick<PackageSchema, "migrations" | "check">): PackageSchema {
  const { migrations, check } = rules;
  const schema: PackageSchema = {
    name: DEFAULT_SCHEMA,
    tables: Object.values(generalTables(name)),
    migrations: [
      { name: "0001", statements: generalMigration },
      { name: "0002-corrections", statements: correctionMigration },
      { name: "0003-posting-keys", statements: postingKeyMigration },
      { name: "0004-balances", statements: balanceMigration },
      { name: "0005-metadata", statements: metadataMigration },
      { name: "0006-holds", statements: holdMigration },
      { name: "0007-minimums", statements: minimumMigration },
      { name: "0008-minimums-by-kind", statements: minimumsByKindMigration },
      ...migrations,
    ],
    appendOnly: ["account", "transfer", "chain_block", "posting_key", "hold", "hold_end"].map(
      (table) => `${DEFAULT_SCHEMA}.${table}`,
    ),
    exportedAs: "chart.schema",
    // The check of the chart refuses a changed name.
    another: true,
    ...(check && { check }),
  };
  if (name === DEFAULT_SCHEMA) return schema;
  const { renamedFrom: _, ...named } = inSchema(schema, name);
  return named;
}
