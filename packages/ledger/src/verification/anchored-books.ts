import { type EntityManager, query, statement, type Statement, transaction } from "@collections/database";
import type { LedgerTables } from "../tables/ledger-tables.ts";
import { statementName } from "../tables/statement-name.ts";
import { type BookList, booksIn, liftVerificationLimits, VERIFICATION_TIMEOUT } from "./verify.ts";

/** A head from an anchor, with the place of the anchor's line. */
export interface HeadToCompare {
  readonly book: string;
  readonly number: bigint;
  readonly hash: string;
  readonly at: Date;
  readonly place: string;
}

/** The block that an anchored head names. Both fields are null if the chain has no block of that number. */
export interface Block {
  readonly hash: string | null;
  readonly chainedAt: Date | null;
}

/** The head of a book's chain, and the number of rows that the newest matching anchor does not cover. */
export interface ChainCoverage {
  readonly book: string;
  readonly headNumber: bigint | null;
  readonly headAt: Date | null;
  readonly unprovenRows: bigint;
}

/** A book's last anchor as recorded in the database by the worker that made it. */
export interface RecordedAnchor {
  readonly number: bigint;
  readonly anchoredAt: Date;
}

/** The statements that compare one ledger with its anchors. */
export interface AnchoredLedger {
  readonly selectAnchor: Statement;
  readonly selectAnchors: Statement;
  readonly listBooks: BookList;
  readonly selectBlocks: Statement;
  readonly selectCoverage: Statement;
}

/** Builds the statements that compare a ledger with its anchors. */
export function anchoredLedgerOf(tables: LedgerTables, listBooks: BookList): AnchoredLedger {
  return {
    selectAnchor: selectAnchors(tables, "anchor-of-book", "where lender_id = $1"),
    selectAnchors: selectAnchors(tables, "anchors", ""),
    listBooks,
    selectBlocks: selectBlocks(tables),
    selectCoverage: selectCoverage(tables),
  };
}

/** Returns the block that each head names, in the same order. */
export async function blocksAt(
  { selectBlocks }: AnchoredLedger,
  em: EntityManager,
  heads: readonly HeadToCompare[],
): Promise<Block[]> {
  if (heads.length === 0) return [];
  const values = [heads.map(({ book }) => book), heads.map(({ number }) => number.toString())];
  return query<Block>(em, selectBlocks, values, { timeoutMs: 35_000 });
}

/** Returns the last anchor that the database records, by the id of the book: for `onlyBook`, or for all books. */
export async function recordedAnchors(
  { selectAnchor, selectAnchors }: AnchoredLedger,
  em: EntityManager,
  onlyBook: string | undefined,
): Promise<ReadonlyMap<string, RecordedAnchor>> {
  type Row = RecordedAnchor & { readonly lenderId: string };
  const rows = await (onlyBook === undefined
    ? query<Row>(em, selectAnchors, [])
    : query<Row>(em, selectAnchor, [onlyBook]));
  return new Map(rows.map(({ lenderId, number, anchoredAt }) => [lenderId, { number, anchoredAt }]));
}

/**
 * Returns the coverage of each book that appears in the ledger or in an anchor. `provenBlocks` maps the id of a book to
 * the number of the newest block that matches an anchor, or to 0 if no anchor matches.
 */
export async function chainCoverages(
  { listBooks, selectCoverage }: AnchoredLedger,
  em: EntityManager,
  onlyBook: string | undefined,
  provenBlocks: ReadonlyMap<string, bigint>,
): Promise<ChainCoverage[]> {
  return transaction(em, async (tx) => {
    liftVerificationLimits(tx);
    const inLedger = onlyBook === undefined ? await booksIn(listBooks, tx) : [onlyBook];
    const coverages: ChainCoverage[] = [];
    for (const book of new Set([...inLedger, ...provenBlocks.keys()])) {
      const values = [book, (provenBlocks.get(book) ?? 0n).toString()];
      const [row] = await query<Omit<ChainCoverage, "book">>(tx, selectCoverage, values, VERIFICATION_TIMEOUT);
      coverages.push({ book, ...row! });
    }
    return coverages;
  });
}

function selectAnchors({ schema, anchor }: LedgerTables, what: string, where: string): Statement {
  return statement(
    statementName(schema, what),
    `select ${anchor.selectList("a", ["lenderId", "number", "anchoredAt"])} from ${anchor.name} a ${where}`.trimEnd(),
  );
}

function selectBlocks({ schema }: LedgerTables): Statement {
  return statement(
    statementName(schema, "blocks-at"),
    `select encode(b.hash, 'hex') as hash, b.created_at as "chainedAt"
   from unnest($1::uuid[], $2::bigint[]) with ordinality as h (lender_id, number, place)
   left join ${schema}.chain_block b on b.lender_id = h.lender_id and b.number = h.number
   order by h.place`,
  );
}

function selectCoverage({ schema, chained }: LedgerTables): Statement {
  const rows = chained.map(({ table }) => `(select count(*) from ${table.name} where lender_id = $1)`);
  return statement(
    statementName(schema, "anchored-books"),
    `select h.number as "headNumber", h.created_at as "headAt",
     greatest(0, ${rows.join(`
       + `)}
       - coalesce((select sum(row_count) from ${schema}.chain_block where lender_id = $1 and number <= $2), 0)::bigint
     ) as "unprovenRows"
   from (select 1) one
   left join lateral (
     select number, created_at from ${schema}.chain_block where lender_id = $1 order by number desc limit 1
   ) h on true`,
  );
}
