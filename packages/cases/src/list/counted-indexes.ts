import { BEFORE_ALL_IDS, query, statement } from "@collections/database";
import type { EntityManager } from "@collections/entities";
import type { CaseStatus } from "../case/case-status.ts";
import { type CaseSearch, hasMoreThan, hasTextAndMore, uniqueOf, wordsOf } from "./case-search.ts";
import { endsWith, keyedBy, type KeyParameters, RAISE_MEMORY, rowsOf, SEARCHED_KEYS, searchIn } from "./found-rows.ts";
import { STATUSES_SET_BY_PAYMENTS } from "./rare-status.ts";
import { INDEXED_STATUSES } from "./search-state.ts";
import { groupsOf } from "./search-groups.ts";

/** The maximum number of cases that one query reads by an index. If more match, the order of ids finds a page sooner. */
const MOST_FOUND = 20_000;
/** The same for a last visit, if the search also names a field partner, a postal code or a branch, which have an index. */
const MOST_VISITED = 1_000;
/** The same for keys of a case, because their index finds the cases in no order, and each name is then compared. */
export const MOST_KEYED = 2_000;

/** The statement that reads the cases of a search by an index, with its values from the parameter $17 on. */
interface CountedIndex {
  readonly select: ReturnType<typeof statement>;
  readonly values: readonly unknown[];
}

/** An index to count, up to `most` matches. `counted` has the values of its count from the parameter $4 on. */
interface IndexToCount extends CountedIndex {
  readonly count: ReturnType<typeof statement>;
  readonly counted: readonly unknown[];
  readonly most: number;
}

/**
 * Returns the index that finds fewest cases of a search after the id `after`. Returns undefined if each of the indexes
 * finds too many.
 */
export async function fewestOf(
  tx: EntityManager,
  { lenderId, after }: { readonly lenderId: string; readonly after: string },
  search: CaseSearch,
): Promise<CountedIndex | undefined> {
  let fewest: { readonly count: number; readonly index: CountedIndex } | undefined;
  for (const index of indexesOf(search, after === BEFORE_ALL_IDS)) {
    const { count, counted, most } = index;
    const [row] = await query<{ count: number | null }>(tx, count, [lenderId, after, most, ...counted]);
    const found = row!.count;
    if (found !== null && found <= most && found < (fewest?.count ?? Infinity)) fewest = { count: found, index };
  }
  return fewest?.index;
}

/** Returns the indexes to count for a search. An index of two filters replaces the indexes of one of them. */
function indexesOf(search: CaseSearch, isFirst: boolean): readonly IndexToCount[] {
  const { dpd, notVisitedSince, holderId, branchCode, postalCode, promiseDue, text } = search;
  const statuses = uniqueOf(search.statuses);
  const groups = groupsOf(search);
  const hasGroups = statuses !== null || holderId !== undefined;
  const ofDpd = dpd && [dpd.from, dpd.to];
  const ofVisit = notVisitedSince && [notVisitedSince.toISOString()];
  const most = MOST_FOUND;
  const found: IndexToCount[] = [];
  if (ofDpd && ofVisit) found.push({ ...INDEXES.dpdAndVisit, counted: [...ofDpd, ...ofVisit], values: [], most });
  if (ofDpd && (hasGroups || !ofVisit)) {
    found.push({ ...INDEXES.groupAndDpd, counted: [groups, ...ofDpd], values: [groups], most });
  }
  if (ofVisit && (hasGroups || !ofDpd)) {
    const hasKey = typeof holderId === "string" || branchCode !== undefined || postalCode !== undefined;
    const mostVisited = hasKey ? MOST_VISITED : most;
    found.push({ ...INDEXES.groupAndVisit, counted: [groups, ...ofVisit], values: [groups], most: mostVisited });
  }
  if (statuses?.every((status) => COUNTED_STATUSES.has(status))) {
    const indexed = statuses.filter((status) => !SET_BY_PAYMENTS.has(status));
    const others = statuses.filter((status) => SET_BY_PAYMENTS.has(status));
    const ofIndexed = groupsOf({ ...search, statuses: indexed });
    // A group has the cases with all statuses that payments set, so the cases with one of these statuses may be fewer.
    if (found.length === 0 || others.length > 0) {
      found.push({ ...INDEXES.status, counted: [ofIndexed, others], values: [ofIndexed, others], most });
    }
  }
  if (promiseDue && hasMoreThan(search, "promiseDue")) {
    found.push({ ...INDEXES.promised, counted: [promiseDue.from, promiseDue.to], values: [], most });
  }
  const keys = [holderId ?? undefined, branchCode, postalCode, text].filter((key) => key !== undefined);
  // To count a common name, PostgreSQL reads all its keys. Later pages of such a name are found in the order of ids, and so is
  // the first page of a text alone.
  if (keys.length > 1 || (isFirst && hasTextAndMore(search))) {
    const words = text === undefined ? null : wordsOf(text);
    const counted = [text ?? null, words, branchCode ?? null, postalCode ?? null, holderId ?? null];
    found.push({ ...INDEXES.keys, counted, values: [], most: MOST_KEYED });
  }
  return found;
}

const SET_BY_PAYMENTS: ReadonlySet<CaseStatus> = new Set(STATUSES_SET_BY_PAYMENTS);
/** The statuses of which an index may find the cases. Cases with the status `new` are found as unassigned cases. */
const COUNTED_STATUSES: ReadonlySet<CaseStatus> = new Set([...INDEXED_STATUSES, ...STATUSES_SET_BY_PAYMENTS]);

// `cases.search_state` has the group of a case by status and holder, the band of days past due and the last visit. Its rows
// change seldom: a daily import changes the band of one case in thirty, and a confirmation usually changes nothing. So both
// updates of a case stay heap-only: 48 µs of a processor and 430 bytes of WAL for a confirmation (without the table 48 to
// 54 µs and 404 to 410 bytes), and 51 µs and 439 to 447 bytes for an imported row (47 µs and 416 to 418 bytes). As in
// the sources, ORDER BY with a LIMIT in a sub-select makes PostgreSQL prefer the index.
export const INDEXES = {
  status: countedIndex("status", {
    counted: (most) => idsOfStatus("$4", "$5", most),
    read: (most) => idsOfStatus("$17", "$18", most),
    // A status that payments set is counted only if it is rare: see keep-rare-statuses.ts.
    onlyIf: `(
      select count(*) from cases.rare_status s where s.lender_id = $1 and s.status = any ($5::text[]) and s.complete
    ) = cardinality($5::text[])`,
  }),
  groupAndDpd: countedIndex("group-and-dpd", {
    counted: (most) => idsOfGroups("$4", hasDpd("$5", "$6"), "p.dpd_band", most),
    read: (most) => idsOfGroups("$17", hasDpd("$9", "$10"), "p.dpd_band", most),
  }),
  groupAndVisit: countedIndex("group-and-visit", {
    counted: (most) => idsOfGroups("$4", isVisitedBefore("$5"), "p.visited_at", most),
    read: (most) => idsOfGroups("$17", isVisitedBefore("$13"), "p.visited_at", most),
  }),
  dpdAndVisit: countedIndex("dpd-and-visit", {
    counted: (most) => idsOfBands("$4", "$5", isVisitedBefore("$6"), most),
    read: (most) => idsOfBands("$9", "$10", isVisitedBefore("$13"), most),
  }),
  promised: countedIndex("promised", {
    counted: (most) => idsOfDays("$4", "$5", most),
    read: (most) => idsOfDays("$11", "$12", most),
  }),
  keys: countedIndex("keys", {
    counted: () => idsOfKeys({ text: "$4", words: "$5", branch: "$6", postalCode: "$7", holder: "$8" }),
    read: () => `select distinct t.case_id from (${idsOfKeys({ text: "$14", ...SEARCHED_KEYS })}) t`,
  }),
} as const;

function idsOfStatus(groups: string, statuses: string, most: string): string {
  const idsIn = (table: string, condition: string) => `(
      select p.case_id from ${table} p
      where p.lender_id = $1 and ${condition} and p.case_id > $2
      order by p.case_id limit (select ${most} + 1)
    )`;
  return `select l.case_id from unnest(${groups}::text[]) u (status_group) cross join lateral
      ${idsIn("cases.search_state", "p.status_group = u.status_group and p.visited_at is not null")} l
    union all
    select l.case_id from unnest(${statuses}::text[]) u (status) cross join lateral
      ${idsIn("cases.rare_case", "p.status = u.status")} l`;
}

/** Returns the SQL that selects the ids of one range of an index, of which the column `order` is the last before the id. */
function idsOf(condition: string, order: string, most: string): string {
  return `select p.case_id from cases.search_state p
      where p.lender_id = $1 and ${condition} and (p.case_id > $2) is true
      order by ${order} limit (select ${most} + 1)`;
}

/** Returns the SQL that selects the ids of a range of each group. */
function idsOfGroups(groups: string, condition: string, order: string, most: string): string {
  return `select l.case_id from unnest(${groups}::text[]) u (status_group) cross join lateral (
      ${idsOf(`p.status_group = u.status_group and ${condition}`, order, most)}
    ) l`;
}

/** Returns the SQL that selects the ids of a range of each band, up to the highest band of the lender. */
function idsOfBands(from: string, to: string, condition: string, most: string): string {
  return `select l.case_id from generate_series(${bandSql(from)}, least(${bandSql(to)}, (
      select p.dpd_band from cases.search_state p
      where p.lender_id = $1 and p.dpd_band >= ${bandSql(from)} and p.visited_at is not null
      order by p.dpd_band desc limit 1
    ))) u (dpd_band) cross join lateral (
      ${idsOf(`p.dpd_band = u.dpd_band and ${condition}`, "p.visited_at", most)}
    ) l`;
}

/**
 * Returns the SQL that selects the ids of the cases with an open promise for a range of days. IS TRUE keeps PostgreSQL from using
 * an index on the case, and ORDER BY makes it use the index on the day.
 */
function idsOfDays(from: string, to: string, most: string): string {
  return `select p.case_id from cases.promise p
      where p.lender_id = $1 and p.due_on >= ${from}::date and p.due_on <= ${to}::date and p.state = 'open'
        and (p.case_id > $2) is true
      order by p.due_on, p.state limit (select ${most} + 1)`;
}

/**
 * Returns the SQL that selects the ids of the cases that have all keys, or whose loan numbers end with the text. An id may be
 * selected twice. `after` is a row with the `id` after which the cases are. PostgreSQL plans a sub-query with MATERIALIZED for
 * all its rows, so that it uses the index. It reads only as many rows as the LIMIT around it takes.
 */
export function idsOfKeys(
  { text, ...keys }: KeyParameters & { readonly text: string },
  { after = "unnest(array[$2]::uuid[])" } = {},
): string {
  const isNext = "(select count(*) from place) > 0 and (p.id > (select l.id from place l)) is true";
  return `with place as materialized (select a.id from ${after} a (id) where ${RAISE_MEMORY} is not null),
    keyed as materialized (select p.id from ${keyedBy(keys)} and ${isNext}),
    numbered as materialized (select p.id from ${endsWith(text)} and ${isNext})
    select k.id as case_id from keyed k union all select n.id from numbered n`;
}

function hasDpd(from: string, to: string): string {
  return `p.dpd_band >= ${bandSql(from)} and p.dpd_band <= ${bandSql(to)}`;
}

function bandSql(dpd: string): string {
  return `(${dpd}::integer + 29) / 30`;
}

function isVisitedBefore(since: string): string {
  return `p.visited_at < ${since}::timestamptz`;
}

/** Returns SQL that selects the ids of an index, at most `most` and one more of each range. */
type IdsSql = (most: string) => string;

/**
 * Creates the statements of an index: the number of its matches up to $3 and one more, or null unless `onlyIf` is true, and
 * the cases found by it.
 */
function countedIndex(
  name: string,
  { counted, read, onlyIf = "true" }: { readonly counted: IdsSql; readonly read: IdsSql; readonly onlyIf?: string },
) {
  const first = `select i.case_id from (${counted("$3::bigint")}) i limit (select $3::bigint + 1)`;
  const all = `select i.case_id from (${read(String(MOST_FOUND))}) i where $3::text is null order by i.case_id`;
  return {
    count: statement(
      `cases.count-of-${name}`,
      `select case when ${onlyIf} then (select count(*)::integer from (${first}) c) end as count`,
    ),
    select: statement(`cases.search-of-${name}`, searchIn(rowsOf(all))),
  };
}
