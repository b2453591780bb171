import { query, statement } from "@collections/database";
import type { EntityManager } from "@collections/entities";
import { caseTable } from "../case/case-columns.ts";
import type { CaseStatus } from "../case/case-status.ts";
import type { Case } from "../case/collection-case.ts";

/** The cases to list. An absent field does not restrict the list. */
export interface LenderCaseFilter {
  /** Only cases with one of these statuses. */
  readonly statuses?: readonly CaseStatus[] | undefined;
  /** Only cases that have changed at this time or later. */
  readonly updatedSince?: Date | undefined;
}

const LISTED = [
  "id",
  "sourceLoanNumber",
  "cycle",
  "sequence",
  "status",
  "statusReason",
  "fieldWork",
  "currency",
  "placedMinor",
  "totalCollectedMinor",
  "totalReversedMinor",
  "outstandingMinor",
  "excessMinor",
  "dpd",
  "bucket",
  "assignedFieldPartnerId",
  "createdAt",
  "updatedAt",
  "closedAt",
  "closeReason",
] as const;

/** A case in the list of a lender: its state and amounts, without the borrower. Amounts are in minor units. */
export type LenderCase = Readonly<Pick<Case, (typeof LISTED)[number]>>;

/** Where a list continues, and how many items it may return. */
export interface CasesAfter {
  readonly after: string;
  readonly limit: number;
}

/**
 * The maximum number of rows that `listCases` reads, including rows of earlier cycles. It limits the query's duration.
 */
const MOST_READ = 20_000;

/** The cases that one search of `listCases` found, and where the search ended. */
export interface ListedCases {
  readonly cases: readonly LenderCase[];
  /**
   * The id at which the search ended. Undefined if the search reached the end of the list, or found as many items as
   * the limit allows.
   */
  readonly searchedTo: string | undefined;
}

/**
 * Returns the first current cases of a lender after the id `after`, ordered by id. The search may end at `searchedTo`,
 * before it has found `limit` cases, so that its duration does not grow with the number of cases that do not match.
 *
 * @example
 * const first = { after: "00000000-0000-0000-0000-000000000000", limit: 500 };
 * const { cases, searchedTo } = await listCases(em, lenderId, first, { statuses: ["collected"] });
 * const isComplete = cases.length < 500 && searchedTo === undefined;
 */
export async function listCases(
  em: EntityManager,
  lenderId: string,
  { after, limit }: CasesAfter,
  { statuses, updatedSince }: LenderCaseFilter,
): Promise<ListedCases> {
  const values = [lenderId, after, statuses ?? null, updatedSince?.toISOString() ?? null, limit];
  const found = await query<LenderCase>(em, selectListed, values);
  if (found.length >= limit) return { cases: found, searchedTo: undefined };
  const [last] = await query<{ id: string }>(em, selectLastSearched, [lenderId, after]);
  return { cases: last ? found.filter(({ id }) => id <= last.id) : found, searchedTo: last?.id };
}

// There is no index on the status or on the time of the last change: with one, the update by a confirmation would not
// be heap-only (HOT). So the inner LIMIT bounds the work of a page, however few rows match. The number of this LIMIT is
// in a sub-select, so that PostgreSQL prefers the primary key, which returns the rows in the requested order, also
// without statistics. PostgreSQL does not evaluate the sub-select when it plans, and assumes that a tenth of the rows
// is needed. With a constant it may read and sort all cases of the lender.
export const selectListed = statement(
  "cases.list-of-lender",
  `select ${caseTable.selectList("c", LISTED)}
   from (
     select * from cases.collection_case p where p.lender_id = $1 and p.id > $2 order by p.id limit (select ${MOST_READ})
   ) c
   where c.is_current and ($3::text[] is null or c.status = any ($3::text[]))
     and ($4::timestamptz is null or c.updated_at >= $4::timestamptz)
   order by c.id limit $5::bigint`,
);

export const selectLastSearched = statement(
  "cases.last-searched",
  `select id from cases.collection_case where lender_id = $1 and id > $2 order by id
   offset (select ${MOST_READ - 1}) limit 1`,
);
