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
 * leaves an anchor that is made twice, which does no harm.
 *
 * @example
 * const keys = createAnchorKeys({ masterKey });
 * const append = (line: string) => appendFile("/var/lib/anchors.jsonl", `${line}\n`, { flush: true });
 * await extendChain(em, lenderId, { now });
 * const anchored = await anchorHeads(em, { lenderIds: [lenderId], keys, environment: "live", now, append });
 */
export async function anchorHeads(em: EntityManager, options: AnchorHeadsOptions): Promise<number> {
  const { lenderIds, keys, environment, now, append } = options;
  let anchored = 0;
  for (let from = 0; from < lenderIds.length; from += HEADS_PER_ANCHOR) {
    const page = lenderIds.slice(from, from + HEADS_PER_ANCHOR);
    const heads = await query<AnchoredHead>(em, selectUnanchored, [page]);
    if (heads.length === 0) continue;
    await append(anchorLine({ environment, at: now, heads }, keys));
    const columns = [
      heads.map(({ lenderId }) => lenderId),
      heads.map(({ number }) => number.toString()),
      heads.map(({ hash }) => hash),
    ];
    await query(em, recordAnchored, [...columns, now.toISOString()]);
    anchored += heads.length;
  }
  return anchored;
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
  "ledger.unanchored-heads",
  `select l.id as "lenderId", h.number, encode(h.hash, 'hex') as hash
   from unnest($1::uuid[]) as l (id)
   cross join lateral (
     select number, hash from ledger.chain_block where lender_id = l.id order by number desc limit 1
   ) h
   left join ledger.anchor a on a.lender_id = l.id
   where a.lender_id is null or a.number <> h.number or a.hash <> h.hash
   order by l.id`,
);

const recordAnchored = statement(
  "ledger.record-anchored",
  `insert into ledger.anchor (lender_id, number, hash, anchored_at)
   select lender_id, number, decode(hash, 'hex'), $4
   from unnest($1::uuid[], $2::bigint[], $3::text[]) as h (lender_id, number, hash)
   order by lender_id
   on conflict (lender_id) do update
   set number = excluded.number, hash = excluded.hash, anchored_at = excluded.anchored_at`,
);

const selectState = statement(
  "ledger.anchor-state",
  `select max(a.anchored_at) as "anchoredAt", min(b.created_at) as "unanchoredSince"
   from unnest($1::uuid[]) as l (id)
   left join ledger.anchor a on a.lender_id = l.id
   left join lateral (
     select created_at from ledger.chain_block
     where lender_id = l.id and number > coalesce(a.number, 0) order by number limit 1
   ) b on true`,
);
