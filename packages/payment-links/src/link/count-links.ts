import { firstIdAt, query, statement } from "@collections/database";
import type { EntityManager } from "@collections/entities";

/** The number of links that were requested in a period, and what has become of them until now. */
export interface LinkCounts {
  readonly requested: number;
  /** Links that the lender has minted, whatever happened to them afterwards. */
  readonly minted: number;
  /** Links that became unavailable, even if they were paid later. */
  readonly unavailable: number;
  /** The visits on which the links were requested. A visit with several links counts once. */
  readonly visits: LinkVisits;
}

/** Visits with a link, and what has become of the links until now. */
export interface LinkVisits {
  readonly withLink: number;
  /** Visits with a link that was sent to the borrower, whatever happened to it afterwards. */
  readonly withSentLink: number;
  /** Visits with a link that was paid, even if the payment was reversed later. */
  readonly withPaidLink: number;
}

/** The greatest difference that is assumed between the time in a link's id and its `createdAt`, from another clock. */
const ID_DIFFERS_MS = 3_600_000;

/**
 * Counts the links of a lender that were requested in successive periods, with one query. `bounds` has two times or more,
 * in ascending order: a period begins at each time (included), and ends at the next time (excluded). The query's time grows
 * with the number of links of the periods only.
 *
 * @example
 * const bounds = [new Date("2026-11-19T18:30:00Z"), new Date("2026-11-20T18:30:00Z")];
 * const [{ requested, unavailable }] = (await countLinks(em, lenderId, bounds)) as [LinkCounts];
 * if (unavailable > requested / 10) console.log("More than a tenth of the links are unavailable.");
 */
export async function countLinks(em: EntityManager, lenderId: string, bounds: readonly Date[]): Promise<LinkCounts[]> {
  const [from, to] = [bounds[0]!.getTime(), bounds.at(-1)!.getTime()];
  const ids = [from - ID_DIFFERS_MS, to + ID_DIFFERS_MS].map((at) => firstIdAt(new Date(at)));
  const values = [lenderId, ...ids, bounds.map((at) => at.toISOString())];
  const rows = await query<CountRow>(em, selectLinkCounts, values);
  return bounds.slice(1).map((_, index) => countsOf(rows.find(({ period }) => period === index + 1) ?? NO_LINKS));
}

interface CountRow extends Omit<LinkCounts, "visits">, LinkVisits {
  /** The number of the period, from 1. */
  readonly period: number;
}

const NO_LINKS = { requested: 0, minted: 0, unavailable: 0, withLink: 0, withSentLink: 0, withPaidLink: 0 };

function countsOf({ requested, minted, unavailable, ...row }: Omit<CountRow, "period">): LinkCounts {
  const { withLink, withSentLink, withPaidLink } = row;
  return { requested, minted, unavailable, visits: { withLink, withSentLink, withPaidLink } };
}

// A link's id contains the time at which it was made, so the primary key finds the links of a period. The inner ORDER BY
// with OFFSET makes every plan use the primary key.
const selectLinkCounts = statement(
  "payment-links.count-links",
  `select l.period, count(*)::integer as requested, count(l.minted_at)::integer as minted,
     count(l.unavailable_at)::integer as unavailable,
     count(distinct l.visit_id)::integer as "withLink",
     (count(distinct l.visit_id) filter (where l.sent_at is not null))::integer as "withSentLink",
     (count(distinct l.visit_id) filter (where l.paid_at is not null))::integer as "withPaidLink"
   from (
     select width_bucket(p.created_at, $4::timestamptz[]) as period, p.visit_id, p.minted_at, p.unavailable_at, p.sent_at,
       p.paid_at
     from payment_links.payment_link p
     where p.lender_id = $1 and p.id >= $2 and p.id < $3 order by p.id offset 0
   ) l
   where l.period > 0 and l.period < cardinality($4::timestamptz[])
   group by l.period`,
);
