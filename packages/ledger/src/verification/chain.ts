import {
  BEFORE_ALL_IDS,
  type EntityManager,
  firstIdAt,
  query,
  send,
  statement,
  type Statement,
  type Table,
  transaction,
  type Tx,
} from "@collections/database";
import type { ChainBlockColumns, ChainedTable, LedgerTables } from "../tables/ledger-tables.ts";
import { statementName } from "../tables/statement-name.ts";

/** Options of `extendChain`. */
export interface ExtendOptions {
  /** The creation time of the new blocks. Default: the time of the call. */
  readonly now?: Date;
  /** Read every row of the book, not only recent ones. Needed for rows that `verify` reports as ROW_OUTSIDE_CHAIN. */
  readonly everything?: boolean;
}

/** The newest block of a book's chain. If its hash is kept outside the database, it proves what the ledger contained. */
export interface ChainHead {
  readonly number: bigint;
  /** 64 hex digits. */
  readonly hash: string;
}

/** The blocks and rows that one call added to a book's chain. */
export interface ChainExtension {
  readonly blocks: number;
  readonly rows: number;
  /** The newest block of the book's chain. Undefined if the book has no block. */
  readonly head: ChainHead | undefined;
}

/** The maximum number of rows in a block. */
const BLOCK_ROWS = 10_000;

/** The maximum number of rows that one transaction reads. It limits the duration of a step, however long the backlog is. */
const STEP_ROWS = 200_000;

/**
 * How far back a call searches for rows that are in no block. A row becomes visible some time after its id was created.
 * These 15 minutes cover the longest transaction and the difference between the clocks of two processes.
 */
const LOOK_BACK_MS = 15 * 60_000;

/**
 * The client's time limit for a step over many rows. It is a little longer than the server's own limit for a statement.
 */
const LONG_TIMEOUT = { timeoutMs: 35_000 };

/** The SQL statements that extend the hash chains of one ledger. */
export interface Chain {
  readonly selectLastBlock: Statement;
  /** For each chained table, the property of `NextBlock` that has the ids of its rows, such as `transferIds`. */
  readonly idProperties: readonly string[];
  readonly lockChain: Statement;
  readonly selectNextBlocks: Statement;
  readonly insertBlock: Statement;
}

/** Builds the SQL statements that extend the hash chains of a ledger. */
export function chainOf(tables: LedgerTables): Chain {
  const { schema, chained } = tables;
  return {
    selectLastBlock: selectLastBlock(tables),
    idProperties: chained.map(idPropertyOf),
    lockChain: statement(
      statementName(schema, "chain-turn"),
      `select pg_advisory_xact_lock(hashtextextended('${schema}.chain/' || $1::uuid::text, 0))`,
    ),
    selectNextBlocks: selectNextBlocks(tables),
    insertBlock: insertBlock(tables),
  };
}

/** Adds the new rows of a book to its chain, in as many steps as needed. */
export async function extendChain(
  chain: Chain,
  em: EntityManager,
  book: string,
  { now = new Date(), everything = false }: ExtendOptions = {},
): Promise<ChainExtension> {
  let [blocks, rows] = [0, 0];
  let afterId = everything ? BEFORE_ALL_IDS : undefined;
  for (;;) {
    const step = await transaction(em, (tx) => extendOnce(chain, tx, book, { afterId, now }));
    blocks += step.blocks;
    rows += step.rows;
    if (step.lookedTo === null) return { blocks, rows, head: await chainHead(chain, em, book) };
    afterId = step.lookedTo;
  }
}

/** Returns the newest block of a book's chain, or undefined if the chain has no block. */
export async function chainHead(
  chain: Pick<Chain, "selectLastBlock">,
  em: EntityManager,
  book: string,
): Promise<ChainHead | undefined> {
  const head = await lastBlock(chain, em, book);
  return head ? { number: head.number, hash: Buffer.from(head.hash).toString("hex") } : undefined;
}

/** The result of one step of `extendChain`. */
export interface Step {
  readonly blocks: number;
  readonly rows: number;
  /** The last id that the step read, if it stopped before the last row; null if it read all rows. */
  readonly lookedTo: string | null;
}

interface StepOptions {
  /** The step reads the rows whose ids are greater than this id. If it is undefined, the step reads recent rows. */
  readonly afterId: string | undefined;
  /** The maximum number of rows that the step reads. */
  readonly maxRows?: number;
  /** The creation time of the step's blocks. */
  readonly now: Date;
}

/**
 * Runs one step: reads the first rows after `afterId`, ordered by id, and makes blocks of those rows that
 * are in no block yet.
 */
export async function extendOnce(chain: Chain, tx: Tx, book: string, options: StepOptions): Promise<Step> {
  const { afterId, maxRows = STEP_ROWS, now } = options;
  await query(tx, chain.lockChain, [book], LONG_TIMEOUT);
  const fromId = afterId ?? searchFrom(await lastBlock(chain, tx, book));
  const values = [book, fromId, BLOCK_ROWS, maxRows, now.toISOString()];
  const found = await query<FoundBlock>(tx, chain.selectNextBlocks, values, LONG_TIMEOUT);
  const blocks = found.filter((block) => block.number !== null);
  for (const block of blocks) addBlock(chain, tx, book, block, now);
  const rows = blocks.reduce((sum, { rowCount }) => sum + rowCount, 0);
  return { blocks: blocks.length, rows, lookedTo: found[0]!.lookedTo };
}

/**
 * A block to be written. For each chained table, it also has a property such as `transferIds` with up to 10,000 ids.
 * Its value is a PostgreSQL array literal, which this process does not parse.
 */
interface NextBlock {
  readonly number: bigint;
  readonly rowCount: number;
  readonly rowsHash: Buffer;
  readonly previousHash: Buffer;
  readonly lastId: string;
  readonly hash: Buffer;
}

/** A row of `selectNextBlocks`. If no block is to be written, there is one row with only `lookedTo`. */
type FoundBlock = (NextBlock | { readonly number: null }) & Pick<Step, "lookedTo">;

function addBlock({ insertBlock, idProperties }: Chain, tx: Tx, book: string, block: NextBlock, now: Date): void {
  const { number, rowCount, rowsHash, previousHash, lastId, hash } = block;
  const ids = idProperties.map((property) => (block as NextBlock & Record<string, unknown>)[property]);
  const hashed = [rowCount, rowsHash, previousHash, lastId, now.toISOString(), hash];
  send(tx, insertBlock, [book, number.toString(), ...ids, ...hashed]);
}

const LAST_BLOCK = ["number", "hash", "createdAt", "lastId"] as const;
type LastBlock = Pick<ChainBlockColumns, (typeof LAST_BLOCK)[number]>;

async function lastBlock(
  { selectLastBlock }: Pick<Chain, "selectLastBlock">,
  em: EntityManager,
  book: string,
): Promise<LastBlock | undefined> {
  const [last] = await query<LastBlock>(em, selectLastBlock, [book]);
  return last;
}

function selectLastBlock({ schema, chainBlock }: LedgerTables): Statement {
  return statement(
    statementName(schema, "last-block"),
    `select ${chainBlock.selectList("b", LAST_BLOCK)} from ${chainBlock.name} b
     where b.lender_id = $1 order by b.number desc limit 1`,
  );
}

/**
 * Returns the id after which to search for rows that are in no block. Such rows have two causes. Either the last call
 * was interrupted: then their ids are higher than the id of the last row of the last block. Or they became visible only
 * after the last block was created. To find both, the search starts LOOK_BACK_MS before the last row's time or the
 * block's creation, whichever is earlier.
 */
function searchFrom(last: LastBlock | undefined): string {
  if (last === undefined) return BEFORE_ALL_IDS;
  const { createdAt, lastId } = last;
  const lastIdMs = Number.parseInt(lastId.replaceAll("-", "").slice(0, 12), 16);
  const fromMs = Math.min(createdAt.getTime(), lastIdMs) - LOOK_BACK_MS;
  return firstIdAt(new Date(fromMs));
}

/**
 * SQL expression for the bytes that are hashed to `rows_hash`: the digests of the block's rows, ordered by the rows'
 * ids. The order is unambiguous, because no two rows have the same id, even in different chained tables.
 */
export const ROW_DIGESTS = `string_agg(digest, ''::bytea order by id)`;

/** SQL expression for the `previous_hash` of a chain's first block: 32 zero bytes. */
export const GENESIS = `decode(repeat('00', 32), 'hex')`;

// If there is nothing to write, the result is one row that has only `lookedTo`. The blocks are inserted by a separate
// statement, because Citus rejects a statement that contains a recursive query and also inserts.
function selectNextBlocks({ schema, chained }: LedgerTables): Statement {
  const each = (text: (table: ChainedTable, index: number) => string, separator: string) =>
    chained.map(text).join(separator);
  return statement(
    statementName(schema, "next-blocks"),
    `with recursive member as (
     select unnest(${each(({ noun }) => `${noun}_ids`, " || ")}) as id
     from ${schema}.chain_block where lender_id = $1 and last_id > $2
   ), looked as materialized (
     select * from (
       ${each(
         ({ table }, index) => `(select '${sourceOf(table)}'${asInFirst(index, "source")}, id, digest from ${table.name}
        where lender_id = $1 and id > $2 order by id limit $4)`,
         `
       union all
       `,
       )}
     ) first_of_both order by id limit $4
   ), fresh as (
     select * from looked where not exists (select 1 from member where member.id = looked.id)
   ), numbered as (
     select *, (row_number() over (order by id) - 1) / $3 + 1 as part from fresh
   ), part as materialized (
     select part,
       ${each(
         ({ noun, table }) =>
           `coalesce(array_agg(id order by id) filter (where source = '${sourceOf(table)}'), '{}') as ${noun}_ids,`,
         `
       `,
       )}
       count(*)::integer as row_count, sha256(${ROW_DIGESTS}) as rows_hash, (array_agg(id order by id desc))[1] as last_id
     from numbered group by part
   ), head as (
     select number, hash from ${schema}.chain_block where lender_id = $1 order by number desc limit 1
   ), link as (
     select 0::bigint as part, coalesce((select number from head), 0) as number, ${GENESIS} as previous_hash,
       coalesce((select hash from head), ${GENESIS}) as hash
     union all
     select p.part, l.number + 1, l.hash,
       ${schema}.chain_block_hash($1, l.number + 1, p.row_count, p.rows_hash, l.hash, p.last_id, $5::timestamptz)
     from link l join part p on p.part = l.part + 1
   )
   select l.number, ${each(({ noun }) => `p.${noun}_ids::text as "${noun}Ids"`, ", ")},
     p.row_count as "rowCount", p.rows_hash as "rowsHash", l.previous_hash as "previousHash", p.last_id as "lastId",
     l.hash, step.looked_to as "lookedTo"
   from (
     select case when (select count(*) from looked) = $4 then (select id from looked order by id desc limit 1) end
       as looked_to
   ) step
   left join (link l join part p on p.part = l.part) on true
   order by l.number`,
  );
}

/** Returns the name of a chained table without its schema, as it appears in `LedgerProblem.table`. */
export function sourceOf({ name }: ChainedTable["table"]): string {
  return name.slice(name.indexOf(".") + 1);
}

/**
 * Returns ` as <name>` for the first SELECT of a UNION, and an empty text for the others, which need no column names.
 */
export function asInFirst(index: number, name: string): string {
  return index === 0 ? ` as ${name}` : "";
}

function insertBlock({ schema, chainBlock, chained }: LedgerTables): Statement {
  const table = chainBlock as unknown as Table<Record<string, unknown>>;
  // The columns of a block, in the order in which `addBlock` sends their values.
  const ids = chained.map(idPropertyOf);
  const inserted = [
    "lenderId",
    "number",
    ...ids,
    "rowCount",
    "rowsHash",
    "previousHash",
    "lastId",
    "createdAt",
    "hash",
  ];
  return statement(
    statementName(schema, "add-block"),
    `insert into ${table.name}
     (${table.columnList(inserted)})
   values (${table.parameterList(inserted)})`,
  );
}

function idPropertyOf({ noun }: ChainedTable): string {
  return `${noun}Ids`;
}
