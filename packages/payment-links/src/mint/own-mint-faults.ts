import { firstIdAt, query, statement } from "@collections/database";
import type { EntityManager } from "@collections/entities";

/** Mint calls of a lender that our own DNS or network has failed. */
export interface OwnMintFaults {
  readonly count: number;
  readonly since: Date;
  /** Why the last call failed, in a sentence. */
  readonly detail: string;
}

/** How far back mint calls are read. */
const READ_BACK_MS = 900_000;
/** Our own DNS or network has to fail for this time to be a fault. */
const OWN_FAULT_MS = 60_000;
/**
 * The greatest difference between the time in a link's id and the end of its mint call: a request waits for ten minutes
 * at most, and the id has the time of another clock.
 */
const ID_DIFFERS_MS = 3_600_000;

/**
 * Returns the mint calls of the last 15 minutes that failed on our own side, if they have failed for a minute at least
 * and the newest call failed so too. Otherwise returns undefined.
 *
 * @example
 * const faults = await ownMintFaults(em, lenderId, now);
 * if (faults) console.error(`${faults.count} mint calls failed since ${faults.since.toISOString()}: ${faults.detail}`);
 */
export async function ownMintFaults(
  em: EntityManager,
  lenderId: string,
  now: Date,
): Promise<OwnMintFaults | undefined> {
  const from = new Date(now.getTime() - READ_BACK_MS);
  const firstId = firstIdAt(new Date(from.getTime() - ID_DIFFERS_MS));
  const [read] = await query<ReadFaults>(em, selectOwnFaults, [lenderId, firstId, from.toISOString()]);
  const { count, since, until, newest } = read!;
  if (since === null || until === null || until.getTime() - since.getTime() < OWN_FAULT_MS) return undefined;
  return newest === null ? undefined : { count, since, detail: newest };
}

/** The first and the last failure of our own, and the error of the newest call, or null if that call is no such failure. */
interface ReadFaults {
  readonly count: number;
  readonly since: Date | null;
  readonly until: Date | null;
  readonly newest: string | null;
}

// A link that an older version recorded has no `unavailable_own_fault`. Its detail begins with "Our own" if our own side
// has failed. A link with one of the other reasons had no mint call, or its outcome is unknown. The inner ORDER BY with
// OFFSET makes every plan use the primary key.
export const selectOwnFaults = statement(
  "payment-links.own-mint-faults",
  `select count(*) filter (where l.is_ours)::integer as count,
     min(l.ended_at) filter (where l.is_ours) as since,
     max(l.ended_at) filter (where l.is_ours) as until,
     (array_agg(case when l.is_ours then l.detail end order by l.ended_at desc))[1] as newest
   from (
     select coalesce(p.minted_at, p.unavailable_at) as ended_at, p.unavailable_detail as detail,
       coalesce(p.unavailable_own_fault, p.unavailable_detail like 'Our own %', false) as is_ours
     from payment_links.payment_link p
     where p.lender_id = $1 and p.id >= $2
       and (p.minted_at is not null or p.unavailable_reason in ('timeout', 'non_2xx', 'refused', 'bad_answer', 'bad_url',
         'connect', 'dns', 'tls'))
     order by p.id offset 0
   ) l
   where l.ended_at > $3::timestamptz`,
);
