import { type EntityManager, query, statement } from "@collections/database";
import { type AnchoredHead, anchorLine } from "./anchor.ts";
import type { AnchorKeys } from "./anchor-keys.ts";

/** Which chains to anchor, and where. */
export interface AnchorHeadsOptions {
  readonly lenderIds: readonly string[];
  readonly keys: AnchorKeys;
  /** The deployment's name, as it stands in the anchor. */
  readonly environment: string;
  readonly now: Date;
  /** Keeps one line (no newline at its end) outside the database. It resolves once the line is safe there. */
  append(line: string): Promise<void>;
}

/** How far the chains of lenders are anchored. */
export interface AnchorState {
  /** When the last anchor of any of them was kept; null before the first. */
  readonly anchoredAt: Date | null;
  /** When the oldest block was made that no anchor covers; null when anchors cover all blocks. */
  readonly unanchoredSince: Date | null;
}

/** Heads in one anchor at most: a line stays below 150 KB. */
const HEADS_PER_ANCHOR = 1_000;

/**
 * Signs the newest block of each chain that has grown since its last anchor, and keeps it outside the database. Returns
 * how many chains were anchored; without new blocks it appends nothing. When `append` fails, the call fails and the next
 * one anchors the head of that time, which covers the same rows. A process that dies between `append` and its record
 * leaves an anchor that is made twice, which does no harm. Chains that cannot be read do not hold up the others: the call
 * anchors those and then fails with the first reason.
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

/** The rows of all that succeed. On a cluster the rows of a lender are on one node, which may be away. */
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

/** The newest block of a chain unless it is the anchored one: no row or one. */
function unanchoredHead(em: EntityManager, lenderId: string): Promise<AnchoredHead[]> {
  return query<AnchoredHead>(em, selectUnanchored, [lenderId]);
}

/**
 * When the chains of these lenders were last anchored, and how old the oldest block is that is not.
 *
 * @example
 * const { unanchoredSince } = await anchorState(em, [lenderId]);
 * const isLate = unanchoredSince !== null && Date.now() - unanchoredSince.getTime() > 900_000;
 */
export async function anchorState(em: EntityManager, lenderIds: readonly string[]): Promise<AnchorState> {
  const [state] = await query<AnchorState>(em, selectState, [lenderIds]);
  return state!;
}

// A head that differs from the anchored one without being newer follows on a restore: it is anchored too.
const selectUnanchored = statement(
  "ledger.unanchored-head",
  `select h.lender_id as "lenderId", h.number, encode(h.hash, 'hex') as hash
   from (select lender_id, number, hash from ledger.chain_block where lender_id = $1 order by number desc limit 1) h
   left join ledger.anchor a on a.lender_id = $1
   where a.lender_id is null or a.number <> h.number or a.hash <> h.hash`,
);

const recordAnchored = statement(
  "ledger.record-anchored",
  `insert into ledger.anchor (lender_id, number, hash, anchored_at) values ($1, $2, decode($3, 'hex'), $4)
   on conflict (lender_id) do update
   set number = excluded.number, hash = excluded.hash, anchored_at = excluded.anchored_at`,
);

// Numbers of blocks follow one another, so the first block without an anchor is the one behind the anchored block, or
// the first block of a chain that has no anchor at all. Both are found by their key.
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
