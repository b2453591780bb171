import { query, statement } from "@collections/database";
import type { EntityManager } from "@collections/entities";
import type { Disposition } from "../case/disposition.ts";
import { isLong } from "../migrations/0023-counted-visits.ts";
import type { PromiseState } from "./promise-to-pay.ts";

/** The number of visits that ended with a disposition. */
export interface DispositionCount {
  readonly disposition: Disposition;
  readonly visits: number;
}

/**
 * The promises that are due on a day. Promises that a later promise or the end of the case has replaced do not count. A
 * promise is kept or broken only after its day.
 */
export interface PromiseCounts {
  /** The number of these promises: open, kept and broken. */
  readonly due: number;
  readonly kept: number;
  readonly broken: number;
}

/** What the service received on a day about the visits of a lender's cases, and the promises that are due on this day. */
export interface DayCounts {
  /** The visits that started. */
  readonly startedVisits: number;
  /** The visits that ended, in the order of the dispositions' names. */
  readonly visits: readonly DispositionCount[];
  readonly promises: PromiseCounts;
  /** The field partners from whom the service received the start or the end of a visit. */
  readonly activeFieldPartners: number;
}

/** The number of a lender's open cases without a field partner. */
export interface UnassignedCases {
  readonly count: number;
  /** Whether all unassigned cases were read. If not, there may be more than `count`. */
  readonly isComplete: boolean;
}

/** A local day, and when it begins and ends. */
export interface CountedDay {
  /** `YYYY-MM-DD` */
  readonly day: string;
  readonly from: Date;
  readonly to: Date;
}

/** The maximum number of unassigned cases that are read by default. It limits the duration of the query. */
const MOST_READ = 20_000;

/**
 * Counts the visits and promises of a lender on successive days, and its unassigned cases, with one query. Each day begins
 * when the previous one ends. A visit counts when the service received its start or its end. The unassigned cases are the
 * current cases that have not ended and have no field partner, including cases on hold. The query reads at most the newest
 * `mostUnassigned` unassigned cases, by default 20,000, including cases that have ended. So it takes a fraction of a second
 * for every lender.
 *
 * @example
 * const day = { day: "2026-11-20", from: new Date("2026-11-19T18:30:00Z"), to: new Date("2026-11-20T18:30:00Z") };
 * const { days, unassigned } = await dayCounts(em, lenderId, [day]);
 * const undecided = days.map(({ promises: { due, kept, broken } }) => due - kept - broken);
 * console.log(unassigned.isComplete ? `${unassigned.count} unassigned cases` : `${unassigned.count} or more`);
 */
export async function dayCounts(
  em: EntityManager,
  lenderId: string,
  days: readonly CountedDay[],
  { mostUnassigned = MOST_READ }: { readonly mostUnassigned?: number | undefined } = {},
): Promise<{ readonly days: DayCounts[]; readonly unassigned: UnassignedCases }> {
  const bounds = [...days.map(({ from }) => from), days.at(-1)!.to].map((at) => at.toISOString());
  const names = days.map(({ day }) => day);
  const values = [lenderId, bounds, names, mostUnassigned];
  const rows = await query<CountRow>(em, selectCounts, values);
  const countOf = (figure: CountRow["figure"], day: number | null, key: string | null = null) =>
    rows.find((row) => row.figure === figure && row.day === day && row.key === key)?.count ?? 0;
  return {
    days: days.map((_, index) => {
      const day = index + 1;
      const promised = (state: PromiseState) => countOf("promises", day, state);
      const [open, kept, broken] = [promised("open"), promised("kept"), promised("broken")];
      return {
        startedVisits: countOf("started", day),
        visits: rows
          .filter((row) => row.figure === "ended" && row.day === day)
          .map(({ key, count }) => ({ disposition: key as Disposition, visits: count }))
          .toSorted((a, b) => (a.disposition < b.disposition ? -1 : 1)),
        promises: { due: open + kept + broken, kept, broken },
        activeFieldPartners: countOf("active", day),
      };
    }),
    unassigned: { count: countOf("unassigned", null), isComplete: countOf("read", null) < mostUnassigned },
  };
}

interface CountRow {
  readonly figure: "ended" | "started" | "active" | "promises" | "unassigned" | "read";
  /** The number of the day, from 1. Null for a count of now. */
  readonly day: number | null;
  /** The disposition of visits, or the state of promises. */
  readonly key: string | null;
  readonly count: number;
}

/** When the short visits that started on a day have ended. */
const END_OF_SHORT = "d.until + interval '1 hour'";

// Reads each visit once. A visit that started on a day usually ended on this day, or within an hour after it, so the index on
// the end finds it. A partial index finds the other visits that started: see isLong.
//
// An inner ORDER BY makes every plan use the index on the time or the day. With the primary key, a plan would read all
// visits or promises of the lender. Each day is a range of its own, so that PostgreSQL need not compute the day of each visit.
// `visited` has one row for each day, field partner and disposition, and one for each long visit.
// The number of the LIMIT is in a sub-select, so that PostgreSQL prefers the index that
// returns the unassigned cases in this order, also without statistics: see list/list-cases.ts. No index names closed_at, because
// a confirmation changes it. So the query reads the ended cases too.
export const selectCounts = statement(
  "cases.day-counts",
  `with days as materialized (
     select u.day::integer as day, ($2::timestamptz[])[u.day] as since, ($2::timestamptz[])[u.day + 1] as until
     from generate_series(1, cardinality($2::timestamptz[]) - 1) u (day)
   ), visited as materialized (
     select d.day, e.field_partner_id, e.disposition, e.started, e.ended
     from days d cross join lateral (
       select v.field_partner_id, v.disposition, count(*) filter (where v.completion_received_at < d.until) as ended,
         count(*) filter (where v.start_received_at >= d.since and v.start_received_at < d.until) as started
       from (
         select p.field_partner_id, p.disposition, p.start_received_at, p.completion_received_at from cases.visit p
         where p.lender_id = $1 and p.completion_received_at >= d.since and p.completion_received_at < ${END_OF_SHORT}
         order by p.completion_received_at offset 0
       ) v
       group by v.field_partner_id, v.disposition
     ) e
     union all
     select d.day, l.field_partner_id, null, 1, 0
     from days d cross join lateral (
       select p.field_partner_id from cases.visit p
       where p.lender_id = $1 and p.start_received_at >= d.since and p.start_received_at < d.until and ${isLong("p.")}
         and (p.completion_received_at >= d.since and p.completion_received_at < ${END_OF_SHORT}) is not true
       order by p.start_received_at offset 0
     ) l
   ), unassigned as materialized (
     select (count(*) filter (where c.closed_at is null))::integer as open, count(*)::integer as read
     from (
       select p.closed_at from cases.collection_case p
       where p.lender_id = $1 and p.is_current and p.assigned_field_partner_id is null
       order by p.id desc limit (select $4::bigint)
     ) c
   )
   select 'started' as figure, v.day, null as key, sum(v.started)::integer as count from visited v group by v.day
   union all
   select 'ended', v.day, v.disposition, sum(v.ended)::integer from visited v where v.ended > 0 group by v.day, v.disposition
   union all
   select 'active', a.day, null, count(*)::integer
   from (select distinct v.day, v.field_partner_id from visited v where v.started > 0 or v.ended > 0) a
   group by a.day
   union all
   select 'promises', array_position($3::date[], d.due_on), d.state, count(*)::integer
   from (
     select o.due_on, o.state from cases.promise o
     where o.lender_id = $1 and o.due_on >= ($3::date[])[1] and o.due_on <= ($3::date[])[cardinality($3::date[])]
     order by o.due_on, o.state offset 0
   ) d
   group by d.due_on, d.state
   union all
   select 'unassigned', null, null, u.open from unassigned u
   union all
   select 'read', null, null, u.read from unassigned u`,
);
