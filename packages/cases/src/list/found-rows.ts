import { caseTable } from "../case/case-columns.ts";
import type { Case } from "../case/collection-case.ts";

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

/** The maximum number of rows that one query reads in the order of ids. It limits the duration of the query. */
export const MOST_READ = 10_000;

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
       and ${hasColumns("c")}
       and ($11::date is null or o.due_on >= $11::date)
       and ($12::date is null or o.due_on <= $12::date)
       and ($13::timestamptz is null or v.start_received_at is null or v.start_received_at < $13::timestamptz)
       and ($14::text is null
         or right(lower(c.source_loan_number), length($14::text)) = lower($14::text)
         or ${hasName("c")})
     order by c.place ${direction}
     limit ${limit}`;
}

/** Returns the SQL conditions on the columns of a case that are compared in a moment. */
export function hasColumns(row: "p" | "c"): string {
  return `($16::uuid is null or ${row}.assigned_field_partner_id = $16::uuid)
       and ($5::text[] is null or ${row}.status = any ($5::text[]))
       and (not $6::boolean or ${row}.assigned_field_partner_id is null)
       and ($7::text is null or ${row}.branch_code = $7::text)
       and ($8::text is null
         or replace(lower(${row}.addresses #>> '{0,postalCode}'), ' ', '') = replace(lower($8::text), ' ', ''))
       and ($9::integer is null or ${row}.dpd >= $9::integer)
       and ($10::integer is null or ${row}.dpd <= $10::integer)`;
}

/**
 * Returns a sub-query of the rows of cases whose ids, as `case_id`, `ids` selects. `place` is the id. If `ids` is in
 * ascending order, an ORDER BY of `place` needs no sort, and PostgreSQL stops after the last row of the page.
 */
export function rowsOf(ids: string): string {
  return `select k.*, s.case_id as place from (${ids}) s
   cross join lateral (
     select * from cases.collection_case r
     where r.lender_id = $1 and r.id >= s.case_id and r.id <= s.case_id order by r.id limit 1
   ) k`;
}

/** Returns the SQL that selects the last of the first `most` rows of `from`, if it has as many. */
export function lastOf(from: string, id: string, most = MOST_READ): string {
  return `select ${id} as id ${from} offset (select ${most - 1}) limit 1`;
}

/**
 * Returns the SQL condition that the borrower's name has every word of $15. PostgreSQL folds the words once, in the
 * sub-select, and each name once.
 */
export function hasName(row: "p" | "c"): string {
  return `' ' || cases.folded_name(${row}.borrower_name) || ' ' like all ((
    select coalesce(array_agg('% ' || regexp_replace(f.word, '([%_\\\\])', '\\\\\\1', 'g') || f.ending || '%'), '{}') from (
      select cases.folded_name(w) as word, case when length(cases.folded_name(w)) < 3 then ' ' else '' end as ending
      from unnest($15::text[]) w
    ) f
  )::text[])`;
}

/**
 * The SQL that lets PostgreSQL remember each case with a common key until the end of the transaction: 15 MB for a million cases. With
 * the default of 4 MB, it remembers only blocks of cases, and computes the keys of each case in them again, which takes many
 * seconds. It reads the setting when it begins to read an index, so a query may raise it before. Such a query has no
 * parallel workers, which take longer to start than a few cases to read.
 */
export const RAISE_MEMORY = "set_config('work_mem', '64MB', true)";

/** Parameters with the words of a name, a branch, a postal code and the id of a field partner. A null restricts nothing. */
export interface KeyParameters {
  readonly words: string;
  readonly branch: string;
  readonly postalCode: string;
  readonly holder: string;
}

/** The words of `searchIn` alone. */
export const SEARCHED_WORDS: KeyParameters = { words: "$15", branch: "null", postalCode: "null", holder: "null" };
/** The parameters of `searchIn`. */
export const SEARCHED_KEYS: KeyParameters = { words: "$15", branch: "$7", postalCode: "$8", holder: "$16" };

/**
 * Returns the SQL of the cases that have all keys: the branch, the postal code, the field partner and the first letters of
 * each word. The lender is in the keys: see 0014-search.ts.
 */
export function keyedBy({ words, branch, postalCode, holder }: KeyParameters): string {
  return `cases.collection_case p
    where cases.filter_keys(p.lender_id, p.borrower_name, p.branch_code, p.addresses #>> '{0,postalCode}',
        p.assigned_field_partner_id)
      @> cases.filter_keys($1, array_to_string(${words}::text[], ' '), ${branch}::text, ${postalCode}::text, ${holder}::uuid)`;
}

/** Returns the SQL of the cases of all lenders whose loan numbers end with the parameter `text`. */
export function endsWith(text: string): string {
  return `cases.collection_case p
    where reverse(lower(p.source_loan_number)) collate "C" >= reverse(lower(${text}::text)) collate "C"
      and reverse(lower(p.source_loan_number)) collate "C" < (reverse(lower(${text}::text)) || chr(1114111)) collate "C"`;
}
