import {
  BEFORE_ALL_IDS,
  type EntityManager,
  query,
  send,
  statement,
  transaction,
  type Tx,
} from "@collections/database";

/** How far a call of `extendChain` looks, and the moment that its blocks carry. */
export interface ExtendOptions {
  readonly now: Date;
  /** Look at every row of the lender, not only at recent ones: for rows that `verify` names as outside the chain. */
  readonly everything?: boolean;
}

/** The newest block of a lender's chain. Kept outside the database, its hash proves what was there. */
export interface ChainHead {
  readonly number: bigint;
  /** 64 hex digits. */
  readonly hash: string;
}

/** What one call added to a lender's chain. */
export interface ChainExtension {
  readonly blocks: number;
  readonly rows: number;
  /** Undefined while the lender has no block at all. */
  readonly head: ChainHead | undefined;
}

/** Rows of a block at most. */
const BLOCK_ROWS = 10_000;

/** Rows that one transaction looks at, at most: however many wait, a step takes no longer. */
const STEP_ROWS = 200_000;

/**
 * How long after its id was made a row may become visible and still be found: the longest transaction, and the
 * difference between the clocks of two processes.
 */
const LOOK_BACK_MS = 15 * 60_000;

/** For a step of many rows: as long as the server itself allows a statement. */
const PATIENT = { timeoutMs: 35_000 };

/**
 * Adds a lender's new transfers and bookings to its hash chain. A block lists the ids of its rows, so the order in
 * which transactions commit does not matter: a row that appears late is in a later block. Processes that call this at
 * once take turns; with nothing new it writes nothing.
 *
 * @example
 * const { rows, head } = await extendChain(em, lenderId, { now: new Date() });
 * if (rows > 0) console.log(`Books of ${lenderId}: block ${head?.number}, hash ${head?.hash}`);
 */
export async function extendChain(
  em: EntityManager,
  lenderId: string,
  { now, everything = false }: ExtendOptions,
): Promise<ChainExtension> {
  let [blocks, rows] = [0, 0];
  let afterId = everything ? BEFORE_ALL_IDS : undefined;
  for (;;) {
    const step = await transaction(em, (tx) => extendOnce(tx, lenderId, { afterId, now }));
    blocks += step.blocks;
    rows += step.rows;
    if (step.lookedTo === null) return { blocks, rows, head: await chainHead(em, lenderId) };
    afterId = step.lookedTo;
  }
}

/**
 * The newest block of a lender's chain, undefined while there is none.
 *
 * @example
 * const head = await chainHead(em, lenderId);
 * const receipt = head && `${head.number} ${head.hash}`;
 */
export async function chainHead(em: EntityManager, lenderId: string): Promise<ChainHead | undefined> {
  const [head] = await query<ChainHead>(em, selectHead, [lenderId]);
  return head;
}

/** What one step did. */
export interface Step {
  readonly blocks: number;
  readonly rows: number;
  /** Rows beyond this id were not looked at; null when all were. */
  readonly lookedTo: string | null;
}

/** Where a step begins (default: at recent rows), how many rows it looks at, and the moment that its blocks carry. */
interface StepOptions {
  readonly afterId: string | undefined;
  readonly maxRows?: number;
  readonly now: Date;
}

/** Looks at the first rows after `afterId`, in the order of their ids, and takes up those that are in no block. */
export async function extendOnce(tx: Tx, lenderId: string, options: StepOptions): Promise<Step> {
  const { afterId, maxRows = STEP_ROWS, now } = options;
  await query(tx, takeTurn, [lenderId], PATIENT);
  const fromId = afterId ?? searchFrom(await query<LastBlock>(tx, selectLast, [lenderId]));
  const values = [lenderId, fromId, BLOCK_ROWS, maxRows, now.toISOString()];
  const found = await query<FoundBlock>(tx, selectNextBlocks, values, PATIENT);
  const blocks = found.filter((block) => block.number !== null);
  for (const block of blocks) addBlock(tx, lenderId, block, now);
  const rows = blocks.reduce((sum, { rowCount }) => sum + rowCount, 0);
  return { blocks: blocks.length, rows, lookedTo: found[0]!.lookedTo };
}

/** A block to be written. */
interface NextBlock {
  readonly number: bigint;
  /** Array literals: up to 10,000 ids, which this process has no need to read. */
  readonly transferIds: string;
  readonly bookingIds: string;
  readonly rowCount: number;
  readonly rowsHash: Buffer;
  readonly previousHash: Buffer;
  readonly lastId: string;
  readonly hash: Buffer;
}

/** A row of `selectNextBlocks`: a block, or only how far it looked. */
type FoundBlock = (NextBlock | { readonly number: null }) & Pick<Step, "lookedTo">;

function addBlock(tx: Tx, lenderId: string, block: NextBlock, now: Date): void {
  const { number, transferIds, bookingIds, rowCount, rowsHash, previousHash, lastId, hash } = block;
  send(tx, insertBlock, [
    lenderId,
    number.toString(),
    transferIds,
    bookingIds,
    rowCount,
    rowsHash,
    previousHash,
    lastId,
    now.toISOString(),
    hash,
  ]);
}

interface LastBlock {
  readonly createdAt: Date;
  readonly lastId: string;
}

/**
 * The id after which rows may be in no block yet. A call that broke off has left rows above the last id behind, one
 * that came to its end rows that were not visible then: so the look back begins at the older one of the two moments.
 */
function searchFrom([last]: readonly LastBlock[]): string {
  if (last === undefined) return BEFORE_ALL_IDS;
  const { createdAt, lastId } = last;
  const lastIdMs = Number.parseInt(lastId.replaceAll("-", "").slice(0, 12), 16);
  const fromMs = Math.max(0, Math.min(createdAt.getTime(), lastIdMs) - LOOK_BACK_MS);
  const hex = fromMs.toString(16).padStart(12, "0");
  return `${hex.slice(0, 8)}-${hex.slice(8)}-0000-0000-000000000000`;
}

/** What the hash of a block's rows is made of, given their `id` and `digest`. Ids of two tables never coincide. */
export const ROW_DIGESTS = `string_agg(digest, ''::bytea order by id)`;

/** What the first block names as the hash before it. */
export const GENESIS = `decode(repeat('00', 32), 'hex')`;

const selectHead = statement(
  "ledger.chain-head",
  `select number, encode(hash, 'hex') as hash from ledger.chain_block
   where lender_id = $1 order by number desc limit 1`,
);

const takeTurn = statement(
  "ledger.chain-turn",
  `select pg_advisory_xact_lock(hashtextextended('ledger.chain/' || $1::uuid::text, 0))`,
);

const selectLast = statement(
  "ledger.chain-last",
  `select created_at as "createdAt", last_id as "lastId" from ledger.chain_block
   where lender_id = $1 order by number desc limit 1`,
);

// One row without a block says how far it looked when there is nothing to write. The blocks come back before they are
// inserted: Citus refuses the recursion in a statement that also inserts.
export const selectNextBlocks = statement(
  "ledger.next-blocks",
  `with recursive member as (
     select unnest(transfer_ids || booking_ids) as id
     from ledger.chain_block where lender_id = $1 and last_id > $2
   ), looked as materialized (
     select * from (
       (select 'transfer' as source, id, digest from ledger.transfer
        where lender_id = $1 and id > $2 order by id limit $4)
       union all
       (select 'payment_booking', id, digest from ledger.payment_booking
        where lender_id = $1 and id > $2 order by id limit $4)
     ) first_of_both order by id limit $4
   ), fresh as (
     select * from looked where not exists (select 1 from member where member.id = looked.id)
   ), numbered as (
     select *, (row_number() over (order by id) - 1) / $3 + 1 as part from fresh
   ), part as materialized (
     select part,
       coalesce(array_agg(id order by id) filter (where source = 'transfer'), '{}') as transfer_ids,
       coalesce(array_agg(id order by id) filter (where source = 'payment_booking'), '{}') as booking_ids,
       count(*)::integer as row_count, sha256(${ROW_DIGESTS}) as rows_hash, (array_agg(id order by id desc))[1] as last_id
     from numbered group by part
   ), head as (
     select number, hash from ledger.chain_block where lender_id = $1 order by number desc limit 1
   ), link as (
     select 0::bigint as part, coalesce((select number from head), 0) as number, ${GENESIS} as previous_hash,
       coalesce((select hash from head), ${GENESIS}) as hash
     union all
     select p.part, l.number + 1, l.hash,
       ledger.chain_block_hash($1, l.number + 1, p.row_count, p.rows_hash, l.hash, p.last_id, $5::timestamptz)
     from link l join part p on p.part = l.part + 1
   )
   select l.number, p.transfer_ids::text as "transferIds", p.booking_ids::text as "bookingIds",
     p.row_count as "rowCount", p.rows_hash as "rowsHash", l.previous_hash as "previousHash", p.last_id as "lastId",
     l.hash, step.looked_to as "lookedTo"
   from (
     select case when (select count(*) from looked) = $4 then (select id from looked order by id desc limit 1) end
       as looked_to
   ) step
   left join (link l join part p on p.part = l.part) on true
   order by l.number`,
);

const insertBlock = statement(
  "ledger.add-block",
  `insert into ledger.chain_block
     (lender_id, number, transfer_ids, booking_ids, row_count, rows_hash, previous_hash, last_id, created_at, hash)
   values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
);
