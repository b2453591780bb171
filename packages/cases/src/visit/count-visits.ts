import { type EntityManager, query, statement } from "@collections/database";
import type { Disposition } from "../case/disposition.ts";

/** A period of time, from `from` (included) to `to` (excluded). */
export interface ReceivedIn {
  readonly from: Date;
  readonly to: Date;
}

/** The number of visits that ended with a disposition. */
export interface DispositionCount {
  readonly disposition: Disposition;
  readonly visits: number;
}

/**
 * The promises that are due on a day. Promises that a later promise or the end of the case has replaced do not count.
 */
export interface PromiseCounts {
  /** The number of these promises: open, kept and broken. */
  readonly due: number;
  readonly kept: number;
  readonly broken: number;
}

/**
 * Counts the visits of a lender whose end the service received in a period. Returns a count for each disposition, in
 * the order of the dispositions' names.
 *
 * @example
 * const day = { from: new Date("2026-11-19T18:30:00Z"), to: new Date("2026-11-20T18:30:00Z") };
 * const counts = await visitsByDisposition(em, lenderId, day);
 * const notAtHome = counts.find(({ disposition }) => disposition === "NOT_AT_HOME")?.visits ?? 0;
 */
export async function visitsByDisposition(
  em: EntityManager,
  lenderId: string,
  { from, to }: ReceivedIn,
): Promise<DispositionCount[]> {
  return query(em, selectByDisposition, [lenderId, from.toISOString(), to.toISOString()]);
}

/**
 * Counts the field partners who were active for this lender in a period: the service received the start or the end of a
 * visit from them.
 *
 * @example
 * const day = { from: new Date("2026-11-19T18:30:00Z"), to: new Date("2026-11-20T18:30:00Z") };
 * const activeFieldPartners = await countActiveFieldPartners(em, lenderId, day);
 */
export async function countActiveFieldPartners(
  em: EntityManager,
  lenderId: string,
  { from, to }: ReceivedIn,
): Promise<number> {
  const [row] = await query<{ people: number }>(em, selectActive, [lenderId, from.toISOString(), to.toISOString()]);
  return row!.people;
}

/**
 * Counts the promises of a lender that are due on a day (`YYYY-MM-DD`, in the lender's time zone). A promise is kept or
 * broken only after its day.
 *
 * @example
 * const { due, kept, broken } = await countPromises(em, lenderId, "2026-11-20");
 * const undecided = due - kept - broken;
 */
export async function countPromises(em: EntityManager, lenderId: string, day: string): Promise<PromiseCounts> {
  const [counts] = await query<PromiseCounts>(em, selectPromiseCounts, [lenderId, day]);
  return counts!;
}

// In all three queries an inner ORDER BY makes every plan use the index on the time or the day. With the primary key, a
// plan would read all visits or promises of the lender.
const ENDED = `select p.disposition, p.field_partner_id from cases.visit p
     where p.lender_id = $1 and p.completion_received_at >= $2::timestamptz and p.completion_received_at < $3::timestamptz
     order by p.completion_received_at offset 0`;

const STARTED = `select p.field_partner_id from cases.visit p
     where p.lender_id = $1 and p.start_received_at >= $2::timestamptz and p.start_received_at < $3::timestamptz
     order by p.start_received_at offset 0`;

export const selectByDisposition = statement(
  "cases.visits-by-disposition",
  `select v.disposition, count(*)::integer as visits from (${ENDED}) v group by v.disposition order by v.disposition`,
);

export const selectActive = statement(
  "cases.count-active-field-partners",
  `select count(*)::integer as people
   from (select s.field_partner_id from (${STARTED}) s union select e.field_partner_id from (${ENDED}) e) a`,
);

export const selectPromiseCounts = statement(
  "cases.count-promises",
  `select (count(*) filter (where p.state <> 'replaced'))::integer as due,
     (count(*) filter (where p.state = 'kept'))::integer as kept,
     (count(*) filter (where p.state = 'broken'))::integer as broken
   from (
     select o.state from cases.promise o where o.lender_id = $1 and o.due_on >= $2::date and o.due_on <= $2::date
     order by o.due_on, o.state offset 0
   ) p`,
);
