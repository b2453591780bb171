import { type EntityManager, firstIdAt, query, statement } from "@collections/database";

/** The number of links that were requested in a period, and what has become of them until now. */
export interface LinkCounts {
  readonly requested: number;
  /** Links that the lender has minted, whatever happened to them afterwards. */
  readonly minted: number;
  /** Links that became unavailable, even if they were paid later. */
  readonly unavailable: number;
}

/** The greatest difference that is assumed between the time in a link's id and its `createdAt`, from another clock. */
const ID_DIFFERS_MS = 3_600_000;

/**
 * Counts the links of a lender that were requested from `from` (inclusive) to `to` (exclusive). The query's time grows
 * with the number of links of the period only.
 *
 * @example
 * const day = { from: new Date("2026-11-19T18:30:00Z"), to: new Date("2026-11-20T18:30:00Z") };
 * const { requested, unavailable } = await countLinks(em, lenderId, day);
 * if (unavailable > requested / 10) console.log("More than a tenth of the links are unavailable.");
 */
export async function countLinks(
  em: EntityManager,
  lenderId: string,
  { from, to }: { readonly from: Date; readonly to: Date },
): Promise<LinkCounts> {
  const [counts] = await query<LinkCounts>(em, selectLinkCounts, [
    lenderId,
    firstIdAt(new Date(from.getTime() - ID_DIFFERS_MS)),
    firstIdAt(new Date(to.getTime() + ID_DIFFERS_MS)),
    from.toISOString(),
    to.toISOString(),
  ]);
  return counts!;
}

// A link's id contains the time at which it was made, so the primary key finds the links of a period. The inner ORDER BY
// with OFFSET makes every plan use the primary key.
export const selectLinkCounts = statement(
  "payment-links.count-links",
  `select count(*)::integer as requested, count(l.minted_at)::integer as minted,
     count(l.unavailable_at)::integer as unavailable
   from (
     select p.created_at, p.minted_at, p.unavailable_at from payment_links.payment_link p
     where p.lender_id = $1 and p.id >= $2 and p.id < $3 order by p.id offset 0
   ) l
   where l.created_at >= $4::timestamptz and l.created_at < $5::timestamptz`,
);
