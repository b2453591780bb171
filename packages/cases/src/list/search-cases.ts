import { type EntityManager, query, readSnapshot, statement } from "@collections/database";
import { caseTable } from "../case/case-columns.ts";
import type { CaseStatus } from "../case/case-status.ts";
import type { Case } from "../case/collection-case.ts";
import { type CaseSearch, filterOf, uniqueOf } from "./case-search.ts";
import type { CasesAfter } from "./list-cases.ts";
import { STATUSES_SET_BY_PAYMENTS } from "./rare-status.ts";
import { INDEXED_STATUSES } from "./search-state.ts";

const FOUND = [
  "lenderId",
  "id",
  "sourceLoanNumber",
  "status",
  "fieldWork",
  "currency",
  "outstandingMinor",
  "dpd",
  "bucket",
  "branchCode",
  "borrowerName",
  "borrowerPhone",
  "assignedFieldPartnerId",
  "updatedAt",
] as const;

/** A case that a search found. Amounts are in minor units of `currency`. It contains personal data of the borrower. */
export interface FoundCase extends Readonly<Pick<Case, (typeof FOUND)[number]>> {
  readonly postalCode: string | null;
  /** The day of the open promise, as `YYYY-MM-DD`. */
  readonly promiseDueOn: string | null;
  /** When the service received the start of the latest visit. */
  readonly lastVisitAt: Date | null;
}

/** The cases that one search found, and where the search ended. */
export interface FoundCases {
  readonly cases: readonly FoundCase[];
  /**
   * The id at which the search ended. Undefined if the search reached the end of the list, or found as many items as
   * the limit allows.
   */
  readonly searchedTo: string | undefined;
}

/** The maximum number of rows that one query reads in the order of ids. It limits the duration of the query. */
export const MOST_READ = 10_000;
/**
 * The maximum number of cases with a status or with days past due that one query reads. If there are more, the order of
 * ids finds a page of them sooner.
 */
const MOST_OF_STATE = 20_000;
/** The same for a last visit, if the search also names a field partner, a postal code or a branch, which have an index. */
const MOST_OF_VISIT = 1_000;

/**
 * Returns the first current cases of a lender after the id `after` that match the search, ordered by id. The search may
 * end at `searchedTo`, before it has found `limit` cases, so that its duration does not grow with the number of cases
 * that do not match. A search by field partner (or none), branch, postal code, promise, days past due, status, last visit or text
 * finds few cases among many by an index. For a status that payments set, see `keepRareStatuses`.
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
  const { source, all, key = null } = sourceOf(search);
  const values = [lenderId, after, key, limit, ...filterOf(search)];
  // All queries must see the same rows. Otherwise a row that is removed from the source in between would move the end of
  // the search beyond the last row that the first query has read.
  return readSnapshot(em, async (tx) => {
    const few = await fewOf(tx, { lenderId, after, hasKey: key !== null }, search);
    if (few) return { cases: await query<FoundCase>(tx, few, values.with(2, null)), searchedTo: undefined };
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

/**
 * Returns the statement that reads the cases by the index that finds fewest of them after `after`. Returns undefined if
 * each of the indexes finds too many.
 */
async function fewOf(
  tx: EntityManager,
  { lenderId, after, hasKey }: { readonly lenderId: string; readonly after: string; readonly hasKey: boolean },
  search: CaseSearch,
) {
  let fewest: { readonly count: number; readonly select: ReturnType<typeof statement> } | undefined;
  for (const { count, select, values, most } of countedIndexes(search, hasKey)) {
    const [counted] = await query<{ count: number | null }>(tx, count, [lenderId, after, ...values]);
    const found = counted!.count;
    if (found !== null && found <= most && found < (fewest?.count ?? Infinity)) {
      fewest = { count: found, select };
    }
  }
  return fewest?.select;
}

/** Returns the indexes to count for a search, with the values from the parameter $3 on of their counts. */
function countedIndexes({ statuses, dpd, notVisitedSince }: CaseSearch, hasKey: boolean) {
  const isIndexed = statuses?.every((status) => COUNTED_STATUSES.has(status)) ?? false;
  const mostOfVisit = hasKey ? MOST_OF_VISIT : MOST_OF_STATE;
  return [
    ...(isIndexed ? [{ ...STATES.status, values: [uniqueOf(statuses)], most: MOST_OF_STATE }] : []),
    ...(dpd ? [{ ...STATES.dpd, values: [dpd.from, dpd.to], most: MOST_OF_STATE }] : []),
    ...(notVisitedSince
      ? [{ ...STATES.visit, values: [notVisitedSince.toISOString(), mostOfVisit], most: mostOfVisit }]
      : []),
  ];
}

/** The statuses of which an index may find the cases. Cases with the status `new` are found as unassigned cases. */
const COUNTED_STATUSES: ReadonlySet<CaseStatus> = new Set([...INDEXED_STATUSES, ...STATUSES_SET_BY_PAYMENTS]);

const LIMITED = `limit (select ${MOST_READ})`;

// Each source reads at most MOST_READ rows of one index, in the order of the case ids. The number of the LIMIT is in a
// sub-select, so that PostgreSQL prefers the index that returns the rows in this order, also without statistics: see
// list-cases.ts, which also explains why there is no index on the status. A daily import changes the days past due of
// every case, so they have no index either: see STATES. With an index on a changed column, an update writes all indexes
// of the case: on a million cases 430 to 740 µs and 17 to 34 KB of WAL, instead of 80 to 115 µs and 1 to 5 KB. $3 is the
// key of the source, as text.
const OF_LENDER = `from cases.collection_case p
  where p.lender_id = $1 and p.id > $2 and $3::text is null order by p.id`;

const UNASSIGNED = `from cases.collection_case p
  where p.lender_id = $1 and p.is_current and p.assigned_field_partner_id is null and p.id > $2 and $3::text is null
  order by p.id`;

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

/**
 * Returns a sub-query of the rows of cases whose ids, as `case_id`, `ids` selects. `place` is the id. If `ids` is in
 * ascending order, an ORDER BY of `place` needs no sort, and PostgreSQL stops after the last row of the page.
 */
function rowsOf(ids: string): string {
  return `select k.*, s.case_id as place from (${ids}) s
   cross join lateral (
     select * from cases.collection_case r
     where r.lender_id = $1 and r.id >= s.case_id and r.id <= s.case_id order by r.id limit 1
   ) k`;
}

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

/** Returns the SQL that selects the last of the MOST_READ rows of `from`, if it has as many. */
export function lastOf(from: string, id: string): string {
  return `select ${id} as id ${from} offset (select ${MOST_READ - 1}) limit 1`;
}

const idsFrom = (from: string) => rowsOf(`select p.id as case_id ${from} ${LIMITED}`);

const LENDER_ROWS = `select p.*, p.id as place ${OF_LENDER} ${LIMITED}`;

export const SOURCES = {
  lender: sourceFrom("cases.search-of-lender", OF_LENDER, LENDER_ROWS),
  holder: sourceFrom("cases.search-of-holder", OF_HOLDER, idsFrom(OF_HOLDER)),
  unassigned: sourceFrom("cases.search-unassigned", UNASSIGNED, `select p.*, p.id as place ${UNASSIGNED} ${LIMITED}`),
  branch: sourceFrom("cases.search-of-branch", OF_BRANCH, idsFrom(OF_BRANCH)),
  postalCode: sourceFrom("cases.search-of-postal-code", OF_POSTAL_CODE, idsFrom(OF_POSTAL_CODE)),
} as const;

/** The id of the last row that `first_rows` has read. */
const LAST_READ = "(select l.id from last_read l)";

export const selectPromisedByDay = searchAll("cases.search-promised-by-day", PROMISED, {
  id: "p.case_id",
  rows: `${rowsOf(`select p.case_id, p.due_on ${PROMISED} ${LIMITED}`)}
    where s.due_on >= $11::date and s.due_on <= $12::date`,
  rest: rowsOf(`select p.case_id from cases.promise p
    where p.lender_id = $1 and p.state = 'open' and p.due_on >= $11::date and p.due_on <= $12::date
      and (p.case_id > ${LAST_READ}) is true and $3::text is null
    order by p.case_id`),
});
export const selectOfText = searchAll("cases.search-of-text", OF_LENDER, {
  id: "p.id",
  rows: LENDER_ROWS,
  rest: rowsOf(`select p.id as case_id from cases.collection_case p
    where cases.folded_name_keys(p.lender_id, p.borrower_name) @> cases.folded_name_keys($1, array_to_string($15::text[], ' '))
      and (p.id > ${LAST_READ}) is true and $3::text is null and ${hasName("p")}
    union
    select p.id from cases.collection_case p
    where reverse(lower(p.source_loan_number)) collate "C" >= reverse(lower($14::text)) collate "C"
      and reverse(lower(p.source_loan_number)) collate "C" < (reverse(lower($14::text)) || chr(1114111)) collate "C"
      and (p.id > ${LAST_READ}) is true`),
});

/**
 * Creates the statement of a search that ends at the end of the list. It reads the first rows in the order of ids. If few of
 * them match, `rest` finds the other rows by an index that is not in this order, so it reads all matching rows. IS TRUE in
 * `rest` keeps PostgreSQL from using an index on the ids. The condition on the counts has no column, so PostgreSQL checks
 * it before it reads a row of the rest.
 */
function searchAll(
  name: string,
  from: string,
  { id, rows, rest }: { readonly id: string; readonly rows: string; readonly rest: string },
) {
  return statement(
    name,
    `with first_rows as materialized (${searchIn(rows)}),
     last_read as materialized (${lastOf(from, id)})
     select f.* from first_rows f
     union all
     select * from (${searchIn(rest, {
       onlyIf: `(select count(*) from first_rows) < $4::bigint and (select count(*) from last_read) > 0`,
       limit: `greatest($4::bigint - (select count(*) from first_rows), 0)`,
     })}) r`,
  );
}

// `cases.search_state` has the cases with a status that no payment sets, and the bands of days past due. Its rows change
// seldom: a daily import changes the band of one case in thirty, and a confirmation usually changes nothing. So both
// updates of a case stay heap-only: 48 µs of a processor and 430 bytes of WAL for a confirmation (without the table 48 to
// 54 µs and 404 to 410 bytes), and 51 µs and 439 to 447 bytes for an imported row (47 µs and 416 to 418 bytes). As in
// the sources, ORDER BY with a LIMIT in a sub-select makes PostgreSQL prefer the index.
export const STATES = {
  status: indexOfState("status", {
    counted: idsOfStatus("$3"),
    read: idsOfStatus("$5"),
    // A status that payments set is counted only if it is rare: see keep-rare-statuses.ts.
    onlyIf: `not exists (
      select 1 from unnest($3::text[]) w (status)
      where w.status in ('assigned', 'in_progress', 'collected') and not exists (
        select 1 from cases.rare_status s where s.lender_id = $1 and s.status = w.status and s.complete
      )
    )`,
  }),
  visit: indexOfState("visit", { counted: idsOfVisit("$3", "$4::bigint"), read: idsOfVisit("$13", MOST_OF_STATE) }),
  dpd: indexOfState("dpd", { counted: idsOfDpd("$3", "$4"), read: idsOfDpd("$9", "$10") }),
} as const;

function idsOfStatus(statuses: string): string {
  const idsIn = (table: string) => `(
      select p.case_id from ${table} p
      where p.lender_id = $1 and p.status = u.status and p.case_id > $2
      order by p.case_id limit (select ${MOST_OF_STATE + 1})
    )`;
  return `select l.case_id from unnest(${statuses}::text[]) u (status) cross join lateral (
      ${idsIn("cases.search_state")} union all ${idsIn("cases.rare_case")}
    ) l`;
}

function idsOfVisit(since: string, most: string | number): string {
  return `select p.case_id from cases.search_state p
    where p.lender_id = $1 and p.visited_at < ${since}::timestamptz and (p.case_id > $2) is true
    order by p.visited_at limit (select ${most} + 1)`;
}

function idsOfDpd(from: string, to: string): string {
  return `select p.case_id from cases.search_state p
    where p.lender_id = $1 and p.dpd_band >= (${from}::integer + 29) / 30 and p.dpd_band <= (${to}::integer + 29) / 30
      and (p.case_id > $2) is true
    order by p.dpd_band limit (select ${MOST_OF_STATE + 1})`;
}

/**
 * Creates the statements of an index: the number of its matches, or null unless `onlyIf` is true, and the cases found by
 * it.
 */
function indexOfState(
  name: string,
  { onlyIf = "true", ...ids }: { readonly counted: string; readonly read: string; readonly onlyIf?: string },
) {
  return {
    count: statement(
      `cases.count-of-${name}`,
      `select case when ${onlyIf} then (select count(*)::integer from (${ids.counted}) i) end as count`,
    ),
    select: statement(
      `cases.search-of-${name}`,
      searchIn(rowsOf(`select i.case_id from (${ids.read}) i where $3::text is null order by i.case_id`)),
    ),
  };
}

/**
 * Returns the SQL condition that the borrower's name has every word of $15. PostgreSQL folds the words once, in the
 * sub-select, and each name once.
 */
function hasName(row: "p" | "c"): string {
  return `' ' || cases.folded_name(${row}.borrower_name) || ' ' like all ((
    select coalesce(array_agg('% ' || regexp_replace(f.word, '([%_\\\\])', '\\\\\\1', 'g') || f.ending || '%'), '{}') from (
      select cases.folded_name(w) as word, case when length(cases.folded_name(w)) < 3 then ' ' else '' end as ending
      from unnest($15::text[]) w
    ) f
  )::text[])`;
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
  const { holderId, branchCode, postalCode, promiseDue, text, statuses } = search;
  if (typeof holderId === "string") return { source: SOURCES.holder, key: holderId };
  if (postalCode !== undefined) return { source: SOURCES.postalCode, key: postalCode };
  if (branchCode !== undefined) return { source: SOURCES.branch, key: branchCode };
  if (holderId === null) return { source: SOURCES.unassigned };
  if (promiseDue) return { all: selectPromisedByDay };
  if (text !== undefined) return { all: selectOfText };
  // Every transition to `new` leaves the case unassigned.
  if (statuses?.every((status) => status === "new")) return { source: SOURCES.unassigned };
  return { source: SOURCES.lender };
}

/**
 * Returns the SQL that searches some rows. `rows` selects rows of cases, and their ids as `place`. Nothing is found
 * unless `onlyIf` is true. `direction` is that of `place`.
 */
export function searchIn(rows: string, { onlyIf = "true", limit = "$4::bigint", direction = "asc" } = {}): string {
  return `select ${caseTable.selectList("c", FOUND)}, c.addresses #>> '{0,postalCode}' as "postalCode",
       o.due_on::text as "promiseDueOn", v.start_received_at as "lastVisitAt"
     from (${rows}) c
     left join lateral (
       select p.due_on from cases.promise p
       where p.lender_id = $1 and p.case_id = c.id and p.state = 'open' limit 1
     ) o on true
     left join lateral (
       select p.start_received_at from cases.visit p
       where p.lender_id = $1 and p.case_id = c.id order by p.start_received_at desc limit 1
     ) v on true
     where c.is_current and ${onlyIf}
       and ($16::uuid is null or c.assigned_field_partner_id = $16::uuid)
       and ($5::text[] is null or c.status = any ($5::text[]))
       and (not $6::boolean or c.assigned_field_partner_id is null)
       and ($7::text is null or c.branch_code = $7::text)
       and ($8::text is null
         or replace(lower(c.addresses #>> '{0,postalCode}'), ' ', '') = replace(lower($8::text), ' ', ''))
       and ($9::integer is null or c.dpd >= $9::integer)
       and ($10::integer is null or c.dpd <= $10::integer)
       and ($11::date is null or o.due_on >= $11::date)
       and ($12::date is null or o.due_on <= $12::date)
       and ($13::timestamptz is null or v.start_received_at is null or v.start_received_at < $13::timestamptz)
       and ($14::text is null
         or right(lower(c.source_loan_number), length($14::text)) = lower($14::text)
         or ${hasName("c")})
     order by c.place ${direction}
     limit ${limit}`;
}
