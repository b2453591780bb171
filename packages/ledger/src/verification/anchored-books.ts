import { type EntityManager, query, send, statement, transaction } from "@collections/database";
import { lendersInBooks, takeTime, UNHURRIED } from "./verify.ts";

/** The head of an anchor, and where the anchor stands. */
export interface PlacedHead {
  readonly lenderId: string;
  readonly number: bigint;
  readonly hash: string;
  readonly at: Date;
  readonly place: string;
}

/** A block where an anchor has one; the hash is null when there is no block of that number. */
export interface Block {
  readonly hash: string | null;
  readonly chainedAt: Date | null;
}

/** A lender's chain, and its rows that the newest fitting anchor does not cover. */
export interface Books {
  readonly lenderId: string;
  readonly headNumber: bigint | null;
  readonly headAt: Date | null;
  readonly unprovenRows: bigint;
}

/** The last anchor of a lender as the worker that wrote it has recorded it. */
export interface RecordedAnchor {
  readonly number: bigint;
  readonly anchoredAt: Date;
}

/** The block at the number of each head, in the same order. */
export async function blocksAt(em: EntityManager, heads: readonly PlacedHead[]): Promise<Block[]> {
  if (heads.length === 0) return [];
  const values = [heads.map(({ lenderId }) => lenderId), heads.map(({ number }) => number.toString())];
  return query<Block>(em, selectBlocks, values, { timeoutMs: 35_000 });
}

/** The last anchor of each lender, or of one. */
export async function recordedAnchors(
  em: EntityManager,
  only: string | undefined,
): Promise<ReadonlyMap<string, RecordedAnchor>> {
  const rows = await query<RecordedAnchor & { readonly lenderId: string }>(em, selectRecorded, [only ?? null]);
  return new Map(rows.map(({ lenderId, number, anchoredAt }) => [lenderId, { number, anchoredAt }]));
}

/** Every lender of the books or of the anchors. `provenBlocks` has the newest fitting block by lender, 0 for none. */
export async function booksOf(
  em: EntityManager,
  only: string | undefined,
  provenBlocks: ReadonlyMap<string, bigint>,
): Promise<Books[]> {
  return transaction(em, async (tx) => {
    send(tx, takeTime, []);
    const inBooks = only === undefined ? await lendersInBooks(tx) : [only];
    const books: Books[] = [];
    for (const lenderId of new Set([...inBooks, ...provenBlocks.keys()])) {
      const proven = provenBlocks.get(lenderId) ?? 0n;
      const [row] = await query<Omit<Books, "lenderId">>(tx, selectBooks, [lenderId, proven.toString()], UNHURRIED);
      books.push({ lenderId, ...row! });
    }
    return books;
  });
}

const selectBlocks = statement(
  "ledger.blocks-at",
  `select encode(b.hash, 'hex') as hash, b.created_at as "chainedAt"
   from unnest($1::uuid[], $2::bigint[]) with ordinality as h (lender_id, number, place)
   left join ledger.chain_block b on b.lender_id = h.lender_id and b.number = h.number
   order by h.place`,
);

const selectBooks = statement(
  "ledger.anchored-books",
  `select h.number as "headNumber", h.created_at as "headAt",
     greatest(0, (select count(*) from ledger.transfer where lender_id = $1)
       + (select count(*) from ledger.payment_booking where lender_id = $1)
       - coalesce((select sum(row_count) from ledger.chain_block where lender_id = $1 and number <= $2), 0)::bigint
     ) as "unprovenRows"
   from (select 1) one
   left join lateral (
     select number, created_at from ledger.chain_block where lender_id = $1 order by number desc limit 1
   ) h on true`,
);

const selectRecorded = statement(
  "ledger.recorded-anchors",
  `select lender_id as "lenderId", number, anchored_at as "anchoredAt" from ledger.anchor
   where $1::uuid is null or lender_id = $1`,
);
