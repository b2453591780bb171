import { query, statement } from "@collections/database";
import type { EntityManager } from "@collections/entities";
import { CASE_STATUSES, type CaseStatus } from "../case/case-status.ts";
import { AGES } from "./outstanding-by-age.ts";
import { INDEXED_STATUSES } from "./search-state.ts";

/** A bounded count: `count` is exact, or there are at least as many. */
export interface BoundedCount {
  readonly count: number;
  readonly isExact: boolean;
}

/** The filters of a list of cases. A count beside a choice of one filter respects the other filters. */
export interface ChosenFilters {
  readonly status?: CaseStatus | undefined;
  /** One of AGES. */
  readonly age?: (typeof AGES)[number] | undefined;
  readonly isUnassigned?: boolean | undefined;
}

/** The numbers of current cases that each choice of a filter would show. */
export interface FilterCounts {
  readonly all: BoundedCount;
  readonly statuses: Readonly<Record<CaseStatus, BoundedCount>>;
  readonly ages: Readonly<Record<(typeof AGES)[number], BoundedCount>>;
  readonly unassigned: BoundedCount;
}

/** The highest count. A choice with more cases has a count of 1,000 that is not exact. */
const MOST_COUNTED = 1_000;
/** The number of cases that are read in the order of ids. The counts of a lender with more cases are lower bounds. */
const MOST_READ = 10_000;

/**
 * Counts the current cases of a lender by status, by days past due and without a field partner, up to 1,000 each, with one
 * query. It reads 10,000 cases at most, so the counts of larger lenders are lower bounds, except those of a single
 * filter that has an index.
 *
 * @example
 * const { statuses } = await filterCounts(em, lenderId, { isUnassigned: true });
 * const { count, isExact } = statuses.new;
 * console.log(`${count}${isExact ? "" : " or more"} new cases are unassigned`);
 */
export async function filterCounts(
  em: EntityManager,
  lenderId: string,
  chosen: ChosenFilters = {},
): Promise<FilterCounts> {
  const rows = await query<CountRow>(em, selectCounts, [
    lenderId,
    [...INDEXED_STATUSES],
    AGES.map((_, index) => index),
  ]);
  const isCut = rows.some(({ kind }) => kind === "cut");
  const read = rows.filter(({ kind }) => kind === "read");
  const hasChoice = (name: keyof ChosenFilters) =>
    (Object.keys(chosen) as (keyof ChosenFilters)[]).some((one) => one !== name && chosen[one]);
  const indexed = (kind: CountRow["kind"], key: string) =>
    rows.find((row) => row.kind === kind && row.key === key)?.count;
  const countOf = (filters: ChosenFilters, byIndex?: number): BoundedCount => {
    const counted = read.filter((row) => matches(row, filters)).reduce((sum, { count }) => sum + count, 0);
    const count = Math.max(counted, byIndex ?? 0);
    return count > MOST_COUNTED
      ? { count: MOST_COUNTED, isExact: false }
      : { count, isExact: !isCut || byIndex !== undefined };
  };
  const ofStatus = (status: CaseStatus) =>
    countOf({ ...chosen, status }, isCut && !hasChoice("status") ? indexed("status", status) : undefined);
  const ofAge = (age: (typeof AGES)[number]) =>
    countOf({ ...chosen, age }, isCut && !hasChoice("age") ? indexed("age", String(AGES.indexOf(age))) : undefined);
  const unassigned = isCut && !hasChoice("isUnassigned") ? indexed("unassigned", "") : undefined;
  return {
    all: countOf({}),
    statuses: Object.fromEntries(CASE_STATUSES.map((status) => [status, ofStatus(status)])) as FilterCounts["statuses"],
    ages: Object.fromEntries(AGES.map((age) => [age, ofAge(age)])) as FilterCounts["ages"],
    unassigned: countOf({ ...chosen, isUnassigned: true }, unassigned),
  };
}

interface CountRow {
  /** `read` for cases that were read, `cut` if more were not read, and the name of a filter for a count by its index. */
  readonly kind: "read" | "cut" | "status" | "age" | "unassigned";
  /** The choice of the filter, of a count by an index. */
  readonly key: string;
  readonly status: CaseStatus | null;
  /** The place in AGES; null if the days past due are unknown. */
  readonly age: number | null;
  readonly isUnassigned: boolean;
  readonly count: number;
}

function matches(row: CountRow, { status, age, isUnassigned }: ChosenFilters): boolean {
  return (
    (status === undefined || row.status === status) &&
    (age === undefined || row.age === AGES.indexOf(age)) &&
    (!isUnassigned || row.isUnassigned)
  );
}

const LAST_AGE = AGES.length - 1;
/** SQL for the place in AGES of the days past due; null if they are unknown, which LEAST would ignore. */
const AGE_OF_DPD = `case when p.dpd is not null then least((p.dpd + 29) / 30, ${LAST_AGE}) end`;
const BOUNDED = `limit (select ${MOST_COUNTED + 1})`;

// The numbers of the LIMITs are in sub-selects and each index returns its rows in the order that is asked for, so that
// PostgreSQL stops after the last row that counts, also without statistics.
export const selectCounts = statement(
  "cases.filter-counts",
  `with scanned as materialized (
     select p.is_current, p.status, p.dpd, p.assigned_field_partner_id as holder from cases.collection_case p
     where p.lender_id = $1 order by p.id limit (select ${MOST_READ + 1})
   )
   select 'read' as kind, '' as key, p.status, ${AGE_OF_DPD} as age, p.holder is null as "isUnassigned",
     count(*)::integer as count
   from scanned p where p.is_current group by p.status, ${AGE_OF_DPD}, p.holder is null
   union all
   select 'cut', '', null, null, false, 1 from scanned having count(*) > ${MOST_READ}
   union all
   select 'status', u.status, null, null, false, (select count(*)::integer from (
       select 1 from unnest(array[u.status, u.status || '_unassigned']) g (status_group) cross join lateral (
         select 1 from cases.search_state p
         where p.lender_id = $1 and p.status_group = g.status_group and p.visited_at is not null order by p.case_id ${BOUNDED}
       ) s ${BOUNDED}
     ) l)
   from unnest($2::text[]) u (status)
   union all
   select 'age', u.age::text, null, null, false, (select count(*)::integer from (
       select 1 from cases.search_state p
       where p.lender_id = $1 and p.visited_at is not null and p.dpd_band >= u.age
         and p.dpd_band <= case when u.age = ${LAST_AGE} then 2147483647 else u.age end
       order by p.dpd_band, p.visited_at ${BOUNDED}
     ) l)
   from unnest($3::integer[]) u (age)
   union all
   select 'unassigned', '', null, null, false, (select count(*)::integer from (
       select 1 from cases.collection_case p
       where p.lender_id = $1 and p.is_current and p.assigned_field_partner_id is null order by p.id ${BOUNDED}
     ) l)`,
);
