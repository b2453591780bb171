import { type EntityManager, query, send, statement, transaction } from "@collections/database";
import { AnchorEntity } from "../schema.ts";
import { lendersInLedger, setVerificationLimits, VERIFICATION_TIMEOUT } from "./verify.ts";

/** A head from an anchor, with the place of the anchor's line. */
export interface HeadToCompare {
  readonly lenderId: string;
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

/** The head of a lender's chain, and the number of rows that the newest matching anchor does not cover. */
export interface ChainCoverage {
  readonly lenderId: string;
  readonly headNumber: bigint | null;
  readonly headAt: Date | null;
  readonly unprovenRows: bigint;
}

/** A lender's last anchor as recorded in the database by the worker that made it. */
export interface RecordedAnchor {
  readonly number: bigint;
  readonly anchoredAt: Date;
}

/** Returns the block that each head names, in the same order. */
export async function blocksAt(em: EntityManager, heads: readonly HeadToCompare[]): Promise<Block[]> {
  if (heads.length === 0) return [];
  const values = [heads.map(({ lenderId }) => lenderId), heads.map(({ number }) => number.toString())];
  return query<Block>(em, selectBlocks, values, { timeoutMs: 35_000 });
}

/** Returns the recorded last anchor by lender, for `onlyLenderId` or for all lenders. */
export async function recordedAnchors(
  em: EntityManager,
  onlyLenderId: string | undefined,
): Promise<ReadonlyMap<string, RecordedAnchor>> {
  const where = onlyLenderId === undefined ? {} : { lenderId: onlyLenderId };
  const rows = await em.find(AnchorEntity, where, { disableIdentityMap: true });
  return new Map(rows.map(({ lenderId, number, anchoredAt }) => [lenderId, { number, anchoredAt }]));
}

/**
 * Returns the coverage of each lender that appears in the ledger or in an anchor. `provenBlocks` is the number of the newest
 * matching block by lender, or 0 if no anchor matches.
 */
export async function chainCoverages(
  em: EntityManager,
  onlyLenderId: string | undefined,
  provenBlocks: ReadonlyMap<string, bigint>,
): Promise<ChainCoverage[]> {
  return transaction(em, async (tx) => {
    send(tx, setVerificationLimits, []);
    const inLedger = onlyLenderId === undefined ? await lendersInLedger(tx) : [onlyLenderId];
    const coverages: ChainCoverage[] = [];
    for (const lenderId of new Set([...inLedger, ...provenBlocks.keys()])) {
      const values = [lenderId, (provenBlocks.get(lenderId) ?? 0n).toString()];
      const [row] = await query<Omit<ChainCoverage, "lenderId">>(tx, selectCoverage, values, VERIFICATION_TIMEOUT);
      coverages.push({ lenderId, ...row! });
    }
    return coverages;
  });
}

const selectBlocks = statement(
  "ledger.blocks-at",
  `select encode(b.hash, 'hex') as hash, b.created_at as "chainedAt"
   from unnest($1::uuid[], $2::bigint[]) with ordinality as h (lender_id, number, place)
   left join ledger.chain_block b on b.lender_id = h.lender_id and b.number = h.number
   order by h.place`,
);

const selectCoverage = statement(
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
