import { type EntityManager, query, statement, tableOf } from "@collections/database";
import { AnchorEntity } from "../schema.ts";
import { type AnchoredHead, anchorLine } from "./anchor.ts";
import type { AnchorKeys } from "./anchor-keys.ts";

/** The chains to anchor, the signing key, and where to keep the anchor. */
export interface AnchorHeadsOptions {
  readonly lenderIds: readonly string[];
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

/** How much of the lenders' chains is anchored. */
export interface AnchorState {
  /** When the last anchor of any of these chains was made; null if there is no anchor. */
  readonly anchoredAt: Date | null;
  /** When the oldest block that no anchor covers was created; null if anchors cover all blocks. */
  readonly unanchoredSince: Date | null;
}

/** The maximum number of heads in one anchor. It keeps a line below 150 KB. */
const HEADS_PER_ANCHOR = 1_000;

/**
 * Signs the newest block of each chain that has grown since its last anchor, and passes the signed line to `append`.
 * Returns the number of chains anchored. Without new blocks it appends nothing.
 *
 * If `append` fails, the call fails. The next call anchors the block that is the newest by then, which covers the same
 * rows. If the process dies after `append` and before the anchor is recorded in the database, the next call makes the
 * same anchor again, which is harmless. If some chains cannot be read, the call anchors all others first and then
 * throws the first error.
 *
 * @example
 * const keys = createAnchorKeys({ masterKey });
 * const append = (line: string) => appendFile("/var/lib/anchors.jsonl", `${line}\n`, { flush: true });
 * await extendChain(em, lenderId, { now });
 * const anchored = await anchorHeads(em, { lenderIds: [lenderId], keys, environment: "live", now, append });
 */
export async function anchorHeads(em: EntityManager, options: AnchorHeadsOptions): Promise<number> {
  const { lenderIds, keys, environment, now, append } = options;
  const failures: unknown[] = [];
  let anchored = 0;
  for (let from = 0; from < lenderIds.length; from += HEADS_PER_ANCHOR) {
    const page = lenderIds.slice(from, from + HEADS_PER_ANCHOR);
    const heads = await eachLender(page, failures, (lenderId) => unanchoredHead(em, lenderId));
    if (heads.length === 0) continue;
    await append(anchorLine({ environment, at: now, heads }, keys));
    await eachLender(heads, failures, ({ lenderId, number, hash }) =>
      query(em, recordAnchored, [lenderId, number.toString(), hash, now.toISOString()]),
    );
    anchored += heads.length;
  }
  if (failures.length > 0) throw failures[0];
  return anchored;
}

/**
 * Runs a query for each item. Returns the rows of the queries that succeed, and adds the errors of the others to
 * `failures`. On a cluster the rows of a lender are on one node, which may be unavailable while other nodes work.
 */
async function eachLender<Item, Row>(
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

/** Returns the newest block of a chain, or no row if that block is already anchored. */
function unanchoredHead(em: EntityManager, lenderId: string): Promise<AnchoredHead[]> {
  return query<AnchoredHead>(em, selectUnanchored, [lenderId]);
}

/**
 * Returns when the chains of these lenders were last anchored, and when their oldest unanchored block was created.
 *
 * @example
 * const { unanchoredSince } = await anchorState(em, [lenderId]);
 * const isLate = unanchoredSince !== null && Date.now() - unanchoredSince.getTime() > 900_000;
 */
export async function anchorState(em: EntityManager, lenderIds: readonly string[]): Promise<AnchorState> {
  const [state] = await query<AnchorState>(em, selectState, [lenderIds]);
  return state!;
}

// The query also returns a head that differs from the anchored block without being newer, as after a restore of the
// database.
const selectUnanchored = statement(
  "ledger.unanchored-head",
  `select h.lender_id as "lenderId", h.number, encode(h.hash, 'hex') as hash
   from (select lender_id, number, hash from ledger.chain_block where lender_id = $1 order by number desc limit 1) h
   left join ledger.anchor a on a.lender_id = $1
   where a.lender_id is null or a.number <> h.number or a.hash <> h.hash`,
);

const table = tableOf(AnchorEntity);

const recordAnchored = statement(
  "ledger.record-anchored",
  `insert into ${table.name} (${table.columnList(table.properties)}) values ($1, $2, decode($3, 'hex'), $4)
   on conflict (lender_id) do update
   set ${table.assignFrom("excluded", ["number", "hash", "anchoredAt"])}`,
);

// Block numbers have no gaps. So the oldest unanchored block is the one after the anchored block, or block 1 of a chain
// without any anchor. Both are found by primary key.
const selectState = statement(
  "ledger.anchor-state",
  `select max(anchored_at) as "anchoredAt", min(unanchored_since) as "unanchoredSince"
   from (
     select a.anchored_at, b.created_at as unanchored_since
     from ledger.anchor a
     left join ledger.chain_block b on b.lender_id = a.lender_id and b.number = a.number + 1
     where a.lender_id = any ($1::uuid[])
     union all
     select null, b.created_at
     from ledger.chain_block b
     left join ledger.anchor a on a.lender_id = b.lender_id
     where b.lender_id = any ($1::uuid[]) and b.number = 1 and a.lender_id is null
   ) chains`,
);
