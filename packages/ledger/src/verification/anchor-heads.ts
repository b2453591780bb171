import { type EntityManager, query, statement, type Statement } from "@collections/database";
import type { LedgerTables } from "../tables/ledger-tables.ts";
import { statementName } from "../tables/statement-name.ts";
import { type AnchoredHead, anchorLine } from "./anchor.ts";
import type { AnchorKeys } from "./anchor-keys.ts";

/** The chains to anchor, the signing key, and where to keep the anchor. */
export interface AnchorHeadsOptions {
  readonly books: readonly string[];
  readonly keys: AnchorKeys;
  /** The deployment's name. The anchor contains it. */
  readonly environment: string;
  readonly now: Date;
  /**
   * Stores one line outside the database. The line has no newline at its end. The promise must not resolve before the line
   * is stored durably.
   */
  append(line: string): Promise<void>;
}

/** How far the chains of the given books are anchored. */
export interface AnchorState {
  /** When the last anchor of any of these chains was made; null if there is no anchor. */
  readonly anchoredAt: Date | null;
  /** When the oldest block that no anchor covers was created; null if anchors cover all blocks. */
  readonly unanchoredSince: Date | null;
}

/** The maximum number of chain heads in one anchor. It keeps the anchor's line below 150 KB. */
const HEADS_PER_ANCHOR = 1_000;

/** The SQL statements that read and record the anchors of one ledger. */
export interface Anchors {
  readonly selectUnanchored: Statement;
  readonly recordAnchored: Statement;
  readonly selectState: Statement;
}

/** Builds the SQL statements that read and record the anchors of a ledger. */
export function anchorsOf(tables: LedgerTables): Anchors {
  return {
    selectUnanchored: selectUnanchored(tables),
    recordAnchored: recordAnchored(tables),
    selectState: selectState(tables),
  };
}

/** Signs the newest block of each chain that has grown since its last anchor, and passes the signed line to `append`. */
export async function anchorHeads(
  { selectUnanchored, recordAnchored }: Anchors,
  em: EntityManager,
  options: AnchorHeadsOptions,
): Promise<number> {
  const { books, keys, environment, now, append } = options;
  const failures: unknown[] = [];
  let anchored = 0;
  for (let from = 0; from < books.length; from += HEADS_PER_ANCHOR) {
    const page = books.slice(from, from + HEADS_PER_ANCHOR);
    const heads = await eachBook(page, failures, (book) => unanchoredHead(selectUnanchored, em, book));
    if (heads.length === 0) continue;
    await append(anchorLine({ environment, at: now, heads }, keys));
    await eachBook(heads, failures, ({ book, number, hash }) =>
      query(em, recordAnchored, [book, number.toString(), hash, now.toISOString()]),
    );
    anchored += heads.length;
  }
  if (failures.length > 0) throw failures[0];
  return anchored;
}

/**
 * Runs a query for each item. Returns the rows of the queries that succeed, and adds the errors of the others to
 * `failures`. On a cluster the rows of a book are on one node, which may be unavailable while other nodes work.
 */
async function eachBook<Item, Row>(
  items: readonly Item[],
  failures: unknown[],
  act: (item: Item) => Promise<Row[]>,
): Promise<Row[]> {
  const rows: Row[] = [];
  for (const item of items) {
    try {
      rows.push(...(await act(item)));
    } catch (error) {
      failures.push(error);
    }
  }
  return rows;
}

async function unanchoredHead(select: Statement, em: EntityManager, book: string): Promise<AnchoredHead[]> {
  const heads = await query<Omit<AnchoredHead, "book">>(em, select, [book]);
  return heads.map(({ number, hash }) => ({ book, number, hash }));
}

/** Returns when the chains of these books were last anchored, and when their oldest unanchored block was created. */
export async function anchorState(
  { selectState }: Anchors,
  em: EntityManager,
  books: readonly string[],
): Promise<AnchorState> {
  const [state] = await query<AnchorState>(em, selectState, [books]);
  return state!;
}

// Returns the newest block of a chain, or no row if that block is already anchored. After a restore of the database,
// the newest block may be older than the anchored block, or have another hash. The query returns such a block too.
function selectUnanchored({ schema }: LedgerTables): Statement {
  return statement(
    statementName(schema, "unanchored-head"),
    `select h.lender_id as "lenderId", h.number, encode(h.hash, 'hex') as hash
   from (select lender_id, number, hash from ${schema}.chain_block where lender_id = $1 order by number desc limit 1) h
   left join ${schema}.anchor a on a.lender_id = $1
   where a.lender_id is null or a.number <> h.number or a.hash <> h.hash`,
  );
}

function recordAnchored({ schema, anchor: table }: LedgerTables): Statement {
  return statement(
    statementName(schema, "record-anchored"),
    `insert into ${table.name} (${table.columnList(["lenderId", "number", "hash", "anchoredAt"])}) values ($1, $2, decode($3, 'hex'), $4)
   on conflict (lender_id) do update
   set ${table.assignFrom("excluded", ["number", "hash", "anchoredAt"])}`,
  );
}

// Block numbers have no gaps. So the oldest unanchored block is the one after the anchored block, or block 1 of a chain
// without any anchor. Both are found by primary key.
function selectState({ schema }: LedgerTables): Statement {
  return statement(
    statementName(schema, "anchor-state"),
    `select max(anchored_at) as "anchoredAt", min(unanchored_since) as "unanchoredSince"
   from (
     select a.anchored_at, b.created_at as unanchored_since
     from ${schema}.anchor a
     left join ${schema}.chain_block b on b.lender_id = a.lender_id and b.number = a.number + 1
     where a.lender_id = any ($1::uuid[])
     union all
     select null, b.created_at
     from ${schema}.chain_block b
     left join ${schema}.anchor a on a.lender_id = b.lender_id
     where b.lender_id = any ($1::uuid[]) and b.number = 1 and a.lender_id is null
   ) chains`,
  );
}
