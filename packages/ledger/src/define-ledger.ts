import type { EntityManager, Table } from "@collections/database";
import type { AnchorColumns, ChainBlockColumns, ChainedTable } from "./tables/ledger-tables.ts";
import { schemaOf } from "./tables/statement-name.ts";
import {
  anchorHeads,
  type AnchorHeadsOptions,
  anchorsOf,
  anchorState,
  type AnchorState,
} from "./verification/anchor-heads.ts";
import { anchoredLedgerOf } from "./verification/anchored-books.ts";
import { booksToExtend, extendEach, growingBooks } from "./verification/growing-books.ts";
import {
  type ChainExtension,
  type ChainHead,
  chainHead,
  chainOf,
  extendChain,
  type ExtendOptions,
} from "./verification/chain.ts";
import {
  type AnchorLine,
  type AnchorVerification,
  verifyAnchors,
  type VerifyAnchorsOptions,
} from "./verification/verify-anchors.ts";
import type { LedgerCheck } from "./verification/verify-checks.ts";
import { type LedgerVerification, verificationOf, verify, type VerifyOptions } from "./verification/verify.ts";

/**
 * Extends and anchors the hash chains of a ledger, and verifies the ledger. Each tenant has one book, and the parameter
 * `book` is the tenant's UUID.
 */
export interface Ledger<OwnCode extends string = never, OwnCount extends string = never> {
  /**
   * Adds a book's new rows to its hash chain. If there are none, it writes nothing. A block lists the ids of its rows, so
   * the order in which transactions commit does not matter: a row that becomes visible late goes into a later block. A lock
   * per book makes concurrent calls run one after the other.
   */
  extendChain(em: EntityManager, book: string, options?: ExtendOptions): Promise<ChainExtension>;
  /**
   * Calls `extendChain` for each book that has rows since its last block or had some in the last 20 minutes, and returns the
   * number of rows added. If some books fail, it extends all others first and then throws the first error.
   */
  extendChains(em: EntityManager, options?: Pick<ExtendOptions, "now">): Promise<number>;
  /** Returns the newest block of a book's chain, or undefined if the chain has no block. */
  chainHead(em: EntityManager, book: string): Promise<ChainHead | undefined>;
  /**
   * Checks the whole ledger and reports each problem: a row that differs from its digest, debits that differ from
   * credits, a transfer with a missing account or another currency than its accounts, a correction of a transfer that
   * does not exist, and a block that does not match its rows or the previous block.
   *
   * It only reads. It may run while the ledger is in use, because each query reads one consistent state of the database.
   */
  verify(em: EntityManager, options?: VerifyOptions): Promise<LedgerVerification<OwnCode, OwnCount>>;
  /**
   * Signs the newest block of each chain that has grown since its last anchor, and passes the signed line to `append`.
   * Returns the number of chains anchored. Without new blocks it appends nothing.
   *
   * If `append` fails, the call fails. The next call then anchors the newest block, which covers the same rows too. If
   * the process dies after `append` and before the anchor is recorded in the database, the next call anchors the same
   * chains again, which is harmless. If some chains cannot be read, the call anchors all others first and then throws
   * the first error.
   */
  anchorHeads(em: EntityManager, options: AnchorHeadsOptions): Promise<number>;
  /** Returns when the chains of these books were last anchored, and when their oldest unanchored block was created. */
  anchorState(em: EntityManager, books: readonly string[]): Promise<AnchorState>;
  /**
   * Compares the hash chains with anchors that were kept outside the database, and reports the anchors that do not match.
   * It finds a chain that was recomputed, truncated or restored from an older backup, and an anchor with an invalid
   * signature. It compares only the hashes of blocks. Run `verify` as well, which compares the rows with the blocks.
   */
  verifyAnchors(
    em: EntityManager,
    lines: AsyncIterable<AnchorLine>,
    options: VerifyAnchorsOptions,
  ): Promise<AnchorVerification>;
}

/** The tables of a ledger, and the checks that its verification makes in addition to the general ones. */
export interface LedgerDefinition<Block extends ChainBlockColumns, Anchor extends AnchorColumns> {
  /**
   * The table `chain_block`: `lenderId`, `number`, an array of ids for each chained table such as `transferIds`,
   * `rowCount`, `rowsHash`, `previousHash`, `lastId`, `createdAt` and `hash`.
   */
  readonly chainBlock: Table<Block>;
  /** The table `anchor`: `lenderId`, `number`, `hash` and `anchoredAt`. */
  readonly anchor: Table<Anchor>;
  /** The tables whose rows are chained: `transfer`, and others. Each has a column of ids in `chain_block`. */
  readonly chained: readonly ChainedTable[];
  readonly checks?: readonly LedgerCheck[];
  /** Called after each `extendChain`, also if it added no block. */
  readonly onExtended?: (em: EntityManager, book: string, extension: ChainExtension) => Promise<void>;
}

/**
 * Defines a ledger for a package that has its own tables. Most hosts need only `defineChart`.
 *
 * The PostgreSQL schema of `chainBlock` must also have a table `account`, a table `transfer` and a function
 * `chain_block_hash`. The column `lender_id` of each table has the id of the book, because `@collections/database`
 * distributes tables by this column. Declare the type of the result as in the example: first the codes of your own
 * checks, then the names of the counts of the chained tables other than `transfer`.
 *
 * @example
 * const shopLedger: Ledger<"NOT_SHIPPED", "shipments"> = defineLedger({
 *   chainBlock: chainBlockColumns,
 *   anchor: anchorColumns,
 *   chained: [
 *     { noun: "transfer", table: appendOnlyTable(transferColumns) },
 *     { noun: "shipment", table: appendOnlyTable(shipmentColumns) },
 *   ],
 *   checks: [unshipped],
 * });
 * const { head } = await shopLedger.extendChain(em, book);
 */
export function defineLedger<
  OwnCode extends string = never,
  OwnCount extends string = never,
  Block extends ChainBlockColumns = ChainBlockColumns,
  Anchor extends AnchorColumns = AnchorColumns,
>({
  chainBlock,
  anchor,
  chained,
  checks = [],
  onExtended,
}: LedgerDefinition<Block, Anchor>): Ledger<OwnCode, OwnCount> {
  const tables = {
    schema: schemaOf(chainBlock) || "public",
    chainBlock: chainBlock as unknown as Table<ChainBlockColumns>,
    anchor: anchor as unknown as Table<AnchorColumns>,
    chained,
  };
  const chain = chainOf(tables);
  const verification = verificationOf(tables, checks);
  const growing = growingBooks(tables, verification.listBooks);
  const anchors = anchorsOf(tables);
  const anchored = anchoredLedgerOf(tables, verification.listBooks);
  const extend = async (em: EntityManager, book: string, options?: ExtendOptions): Promise<ChainExtension> => {
    const extension = await extendChain(chain, em, book, options);
    await onExtended?.(em, book, extension);
    return extension;
  };
  return {
    extendChain: extend,
    async extendChains(em, options) {
      const books = await booksToExtend(growing, em, options?.now);
      return extendEach(books, (book) => extend(em, book, options));
    },
    chainHead: (em, book) => chainHead(chain, em, book),
    // The cast is needed because the compiler cannot derive `OwnCode` and `OwnCount`. The caller of `defineLedger`
    // declares them: the codes of its own checks, and the names of the counts of its chained tables.
    verify: async (em, options = {}) =>
      (await verify(verification, em, options)) as unknown as LedgerVerification<OwnCode, OwnCount>,
    anchorHeads: (em, options) => anchorHeads(anchors, em, options),
    anchorState: (em, books) => anchorState(anchors, em, books),
    verifyAnchors: (em, lines, options) => verifyAnchors(anchored, em, lines, options),
  };
}
