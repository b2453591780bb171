import { query, readSnapshot, statement } from "@collections/database";
import type { EntityManager } from "@collections/entities";
import { type CaseSearch, filterOf, hasTextAndMore } from "./case-search.ts";
import { fewestOf, idsOfKeys, MOST_KEYED } from "./counted-indexes.ts";
import {
  endsWith,
  type FoundCase,
  hasColumns,
  hasName,
  keyedBy,
  lastOf,
  MOST_READ,
  RAISE_MEMORY,
  rowsOf,
  SEARCHED_WORDS,
  searchIn,
} from "./found-rows.ts";
import type { CasesAfter } from "./list-cases.ts";
import { bandOf, groupsOf } from "./search-groups.ts";

/** The cases that one search found, and where the search ended. */
export interface FoundCases {
  readonly cases: readonly FoundCase[];
  /**
   * The id at which the search ended. Undefined if the search reached the end of the list, or found as many items as
   * the limit allows.
   */
  readonly searchedTo: string | undefined;
}

/**
 * Returns the first current cases of a lender after the id `after` that match the search, ordered by id. The search may
 * end at `searchedTo`, before it has found `limit` cases, so that its duration does not grow with the number of cases
 * that do not match. A search by field partner (or none), branch, postal code, promise, days past due, status, last visit or text
 * finds few cases among many by an index. So does a search by two of status, days past due, last visit and "unassigned". For
 * a status that payments set, see `keepRareStatuses`.
 *
 * @example
 * const first = { after: "00000000-0000-0000-0000-000000000000", limit: 50 };
 * const { cases, searchedTo } = await searchCases(em, lenderId, { holderId: null, dpd: { from: 31, to: 60 } }, first);
 * const isComplete = cases.length < 50 && searchedTo === undefined;
 */
export async function searchCases(
  em: EntityManager,
  lenderId: string,
  search: CaseSearch,
  { after, limit }: CasesAfter,
): Promise<FoundCases> {
  // For example, no field partner has a new case.
  if (groupsOf(search).length === 0) return { cases: [], searchedTo: undefined };
  const { source, all, key = null } = sourceOf(search);
  const values = [lenderId, after, key, limit, ...filterOf(search)];
  // All queries must see the same rows. Otherwise a row that is removed from the source in between would move the end of
  // the search beyond the last row that the first query has read.
  return readSnapshot(em, async (tx) => {
    const few = await fewestOf(tx, { lenderId, after }, search);
    if (few) {
      const cases = await query<FoundCase>(tx, few.select, [...values.with(2, null), ...few.values]);
      return { cases, searchedTo: undefined };
    }
    if (all) {
      const cases = await query<FoundCase>(tx, all, values);
      return { cases: cases.toSorted((a, b) => (a.id < b.id ? -1 : 1)), searchedTo: undefined };
    }
    const cases = await query<FoundCase>(tx, source.select, values);
    if (cases.length >= limit) return { cases, searchedTo: undefined };
    const [last] = await query<{ id: string }>(tx, source.selectLast, [lenderId, after, key]);
    return { cases, searchedTo: last?.id };
  });
}

/** The maximum number of groups, and of bands in groups, whose cases a search merges in the order of ids. */
const MOST_GROUPS = 4;
const MOST_BANDS = 8;
/** The number of rows that a search reads of merged bands, and at most of each band. */
const MOST_READ_OF_BANDS = 4_000;

const LIMITED = `limit (select ${MOST_READ})`;

// Each source reads at most MOST_READ rows of one index, in the order of the case ids. The number of the LIMIT is in a
// sub-select, so that PostgreSQL prefers the index that returns the rows in this order, also without statistics: see
// list-cases.ts, which also explains why there is no index on the status. A daily import changes the days past due of
// every case, so they have no index either: see counted-indexes.ts. With an index on a changed column, an update writes all indexes
// of the case: on a million cases 430 to 740 µs and 17 to 34 KB of WAL, instead of 80 to 115 µs and 1 to 5 KB. $3 is the
// key of the source, as text.
const OF_LENDER = ofLenderAfter("$2");

const UNASSIGNED = `from cases.collection_case p
  where p.lender_id = $1 and p.is_current and p.assigned_field_partner_id is null and p.id > $2 and $3::text is null
  order by p.id`;

const OF_GROUPS = `from unnest($3::text::text[]) u (status_group) cross join lateral (
    select p.case_id from cases.search_state p
    where p.lender_id = $1 and p.status_group = u.status_group and p.visited_at is not null and p.case_id > $2
    order by p.case_id ${LIMITED}
  ) p order by p.case_id`;

// An element of the key is a group and a band, such as `closed/3`.
const OF_BANDS = `from unnest($3::text::text[]) u (place) cross join lateral (
    select p.case_id from cases.search_state p
    where p.lender_id = $1 and p.status_group = split_part(u.place, '/', 1)
      and p.dpd_band = split_part(u.place, '/', 2)::integer and p.case_id > $2
    order by p.case_id limit (select ${MOST_READ_OF_BANDS})
  ) p order by p.case_id`;

// The keys of branches and postal codes contain the lender. These queries do not compare the lender itself, so that
// PostgreSQL cannot use an index on it instead. `rowsOf` excludes the rows of other lenders: those with the same key, and
// those of the same field partner.
const OF_HOLDER = `from cases.collection_case p
  where p.assigned_field_partner_id = $3::text::uuid and p.is_current and p.id > $2 and $1::uuid is not null order by p.id`;

const OF_BRANCH = `from cases.collection_case p
  where cases.search_key(p.lender_id, p.branch_code) = cases.search_key($1, $3::text) and p.id > $2 order by p.id`;

const OF_POSTAL_CODE = `from cases.collection_case p
  where cases.search_key(p.lender_id, p.addresses #>> '{0,postalCode}') = cases.search_key($1, $3::text) and p.id > $2
  order by p.id`;

const PROMISED = `from cases.promise p
  where p.lender_id = $1 and p.state = 'open' and p.case_id > $2 and $3::text is null order by p.case_id`;

interface Source {
  readonly select: ReturnType<typeof statement>;
  /** Selects the id of the last row that `select` reads if it does not read the whole source. */
  readonly selectLast: ReturnType<typeof statement>;
}

/** Creates a source whose rows are `rows`. `from` is what it reads in the order of the case ids. */
function sourceFrom(name: string, from: string, rows: string): Source {
  return {
    select: statement(name, searchIn(rows)),
    selectLast: statement(`${name}-to`, lastOf(from, "p.id")),
  };
}

/** Creates a source of rows of `cases.search_state`. */
function sourceOfStates(name: string, from: string, most: number): Source {
  return {
    select: statement(name, searchIn(rowsOf(`select p.case_id ${from} limit (select ${most})`))),
    selectLast: statement(`${name}-to`, lastOf(from, "p.case_id", most)),
  };
}

const idsOfCases = (from: string) => rowsOf(`select p.id as case_id ${from} ${LIMITED}`);

const rowsOfLender = (from: string, limit = LIMITED) => `select p.*, p.id as place ${from} ${limit}`;

export const SOURCES = {
  lender: sourceFrom("cases.search-of-lender", OF_LENDER, rowsOfLender(OF_LENDER)),
  holder: sourceFrom("cases.search-of-holder", OF_HOLDER, idsOfCases(OF_HOLDER)),
  unassigned: sourceFrom("cases.search-unassigned", UNASSIGNED, `select p.*, p.id as place ${UNASSIGNED} ${LIMITED}`),
  groups: sourceOfStates("cases.search-of-groups", OF_GROUPS, MOST_READ),
  bands: sourceOfStates("cases.search-of-bands", OF_BANDS, MOST_READ_OF_BANDS),
  branch: sourceFrom("cases.search-of-branch", OF_BRANCH, idsOfCases(OF_BRANCH)),
  postalCode: sourceFrom("cases.search-of-postal-code", OF_POSTAL_CODE, idsOfCases(OF_POSTAL_CODE)),
} as const;

/** The id of the last row that the query with this name has read. */
const endOf = (name: string) => `(select e.id from ${name} e)`;
const LAST_READ = endOf("last_read");

export const selectPromisedByDay = statement(
  "cases.search-promised-by-day",
  `with ${searchAll(PROMISED, {
    id: "p.case_id",
    rows: `${rowsOf(`select p.case_id, p.due_on ${PROMISED} ${LIMITED}`)}
      where s.due_on >= $11::date and s.due_on <= $12::date`,
    rest: rowsOf(`select p.case_id from cases.promise p
      where p.lender_id = $1 and p.state = 'open' and p.due_on >= $11::date and p.due_on <= $12::date
        and (p.case_id > ${LAST_READ}) is true and $3::text is null
      order by p.case_id`),
  })}`,
);

// The other filters are compared before each name, which takes longer.
const REST_OF_TEXT = rowsOf(`select p.id as case_id from ${keyedBy(SEARCHED_WORDS)}
      and (p.id > ${LAST_READ}) is true and $3::text is null and ${hasColumns("p")} and ${hasName("p")}
    union
    select p.id from ${endsWith("$14")} and (p.id > ${LAST_READ}) is true`);

export const selectOfTextAndMore = statement(
  "cases.search-of-text-and-more",
  `with ${searchAll(OF_LENDER, {
    id: "p.id",
    rows: rowsOfLender(OF_LENDER),
    rest: REST_OF_TEXT,
    beforeRest: `${RAISE_MEMORY} is not null`,
  })}`,
);

/** The number of cases in which a search for a text alone looks for a common name, before it reads an index. */
const MOST_READ_AT_ONCE = 1_000;
const OF_LENDER_LATER = ofLenderAfter(endOf("begin_end"));
const WANTED = "$4::bigint - (select count(*) from begin_rows)";

/** Whether a common name may have the text. A name seldom has digits alone, and then the first cases need not be read. */
const MAY_BE_COMMON = "$14::text ~ '[^0-9]'";

// Reads in four parts: the first cases in the order of ids, where a common name fills the page; then at most MOST_KEYED
// cases by the indexes, which are all cases of a rare name or of the end of a loan number; otherwise the next cases in
// the order of ids, and all other cases by the indexes.
export const selectOfText = statement(
  "cases.search-of-text",
  `with begin_rows as materialized (
     ${searchIn(rowsOfLender(OF_LENDER, `limit (select ${MOST_READ_AT_ONCE})`), { onlyIf: MAY_BE_COMMON })}
   ),
   begin_end as materialized (
     select l.id from (${lastOf(OF_LENDER, "p.id", MOST_READ_AT_ONCE)}) l where ${MAY_BE_COMMON}
     union all
     select $2::uuid where not ${MAY_BE_COMMON}
   ),
   few as materialized (
     select t.case_id from (${idsOfKeys({ text: "$14", ...SEARCHED_WORDS }, { after: "begin_end" })}) t
     where ${WANTED} > 0
     limit (select ${MOST_KEYED} + 1)
   ),
   few_rows as materialized (
     ${searchIn(rowsOf("select distinct f.case_id from few f order by f.case_id"), {
       onlyIf: `(select count(*) from few) <= ${MOST_KEYED}`,
       limit: WANTED,
     })}
   ),
   ${searchAll(OF_LENDER_LATER, {
     id: "p.id",
     rows: rowsOfLender(OF_LENDER_LATER),
     rest: REST_OF_TEXT,
     onlyIf: `(select count(*) from few) > ${MOST_KEYED}`,
     wanted: WANTED,
   })}
   union all
   select * from begin_rows
   union all
   select * from few_rows`,
);

/** Returns the SQL that reads the cases of a lender after an id in the order of ids. */
function ofLenderAfter(id: string): string {
  return `from cases.collection_case p
  where p.lender_id = $1 and p.id > ${id} and $3::text is null order by p.id`;
}

/**
 * Returns the SQL of a search that ends at the end of the list. It reads the first rows in the order of ids. If few of
 * them match, `rest` finds the other rows by an index that is not in this order, so it reads all matching rows. IS TRUE in
 * `rest` keeps PostgreSQL from using an index on the ids. The condition on the counts has no column, so PostgreSQL checks
 * it before it reads a row of the rest.
 */
function searchAll(
  from: string,
  {
    id,
    rows,
    rest,
    onlyIf = "true",
    beforeRest = onlyIf,
    wanted = "$4::bigint",
  }: {
    readonly id: string;
    readonly rows: string;
    readonly rest: string;
    readonly onlyIf?: string;
    readonly beforeRest?: string;
    readonly wanted?: string;
  },
): string {
  return `first_rows as materialized (${searchIn(rows, { onlyIf, limit: wanted })}),
     last_read as materialized (select l.id from (${lastOf(from, id)}) l where ${beforeRest})
     select f.* from first_rows f
     union all
     select * from (${searchIn(rest, {
       onlyIf: `(select count(*) from first_rows) < ${wanted} and (select count(*) from last_read) > 0`,
       limit: `greatest(${wanted} - (select count(*) from first_rows), 0)`,
     })}) r`;
}

/** A search that reads a source step by step. */
interface StepSearch {
  /** The smallest source that contains all cases of the search. */
  readonly source: Source;
  readonly all?: undefined;
  readonly key?: string;
}

/** A search that one statement makes to the end of the list. */
interface WholeSearch {
  readonly source?: undefined;
  readonly all: ReturnType<typeof statement>;
  readonly key?: undefined;
}

/** Returns the source that a search reads step by step, with its key, or the statement that finds all its cases. */
function sourceOf(search: CaseSearch): StepSearch | WholeSearch {
  const { holderId, branchCode, postalCode, promiseDue, text, statuses, dpd } = search;
  if (typeof holderId === "string") return { source: SOURCES.holder, key: holderId };
  if (postalCode !== undefined) return { source: SOURCES.postalCode, key: postalCode };
  if (branchCode !== undefined) return { source: SOURCES.branch, key: branchCode };
  if (promiseDue) return { all: selectPromisedByDay };
  if (text !== undefined) return { all: hasTextAndMore(search) ? selectOfTextAndMore : selectOfText };
  const groups = groupsOf(search);
  const bands = dpd === undefined ? [] : bandsOf(dpd).flatMap((band) => groups.map((group) => `${group}/${band}`));
  if (bands.length > 0 && bands.length <= MOST_BANDS) return { source: SOURCES.bands, key: arrayOf(bands) };
  if (statuses !== undefined && groups.length <= MOST_GROUPS) return { source: SOURCES.groups, key: arrayOf(groups) };
  return { source: holderId === null ? SOURCES.unassigned : SOURCES.lender };
}

/** Returns the bands of a range of days past due: no more than a search merges, and one more. */
function bandsOf({ from, to }: { readonly from: number; readonly to: number }): readonly number[] {
  const [first, last] = [bandOf(from), bandOf(to)];
  return Array.from({ length: Math.min(last - first, MOST_BANDS) + 1 }, (_, index) => first + index);
}

/** Returns the SQL text of an array. The elements need no quotes. */
function arrayOf(elements: readonly string[]): string {
  return `{${elements.join(",")}}`;
}
