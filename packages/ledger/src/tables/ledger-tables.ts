import type { Table } from "@collections/database";
import type { DigestedTable } from "./append-only-table.ts";

/** The columns that the blocks of every chain have. A block also has a column of ids for each chained table. */
export interface ChainBlockColumns {
  lenderId: string;
  number: bigint;
  rowCount: number;
  lastId: string;
  createdAt: Date;
  hash: Uint8Array;
}

/** The columns of the last anchored block of a chain. */
export interface AnchorColumns {
  lenderId: string;
  number: bigint;
  hash: Uint8Array;
  anchoredAt: Date;
}

/** A table whose rows are hashed into the chain. */
export interface ChainedTable {
  /**
   * The noun for one row, such as `transfer`. A block then has a column `transfer_ids`, and a verification counts
   * `transfers`.
   */
  readonly noun: string;
  readonly table: DigestedTable;
}

/**
 * The tables of one ledger. They are in one PostgreSQL schema, which also has a table `account`, a table `transfer` and
 * a function `chain_block_hash`. The column `lender_id` of each table has the id of the book, because
 * `@collections/database` distributes tables by this column.
 */
export interface LedgerTables {
  /** The name of the PostgreSQL schema in SQL texts. The names of the statements begin with it. */
  readonly schema: string;
  readonly chainBlock: Table<ChainBlockColumns>;
  readonly anchor: Table<AnchorColumns>;
  /** The tables whose rows are chained. */
  readonly chained: readonly ChainedTable[];
}
