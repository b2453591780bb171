import { AFTER_ALL_IDS, query, readSnapshot, statement } from "@collections/database";
import type { EntityManager } from "@collections/entities";
import { type CaseSearch, filterOf } from "./case-search.ts";
import { type FoundCase, lastOf, MOST_READ, searchIn } from "./found-rows.ts";

/**
 * The orders in which an index returns cases, besides that of `searchCases`.
 *
 * @example
 * const order = CASE_ORDERS.find((one) => one === "loan"); // undefined for the order of ids
 */
export const CASE_ORDERS = ["newest", "loan", "loan-descending"] as const;
/** `newest` is the reverse order of ids. The other orders are by loan number, as the database compares texts. */
export type CaseOrder = (typeof CASE_ORDERS)[number];

/** The cases that one sorted search found. */
export interface SortedCases {
  readonly cases: readonly FoundCase[];
  /** The `after` that continues the search, if it ended before it found `limit` cases and there are more to read. */
  readonly searchedTo: string | undefined;
}

/**
 * Returns current cases of a lender in one of the orders of CASE_ORDERS. `after` is the id or the loan number of the last case of
 * the page before. One search reads 10,000 cases at most, so it may end before it has found `limit` cases; `searchedTo`
 * continues it. Search by text, branch and field partner with `searchCases`, which has indexes for them.
 *
 * @example
 * const page = await sortedCases(em, lenderId, {}, { order: "loan", limit: 50 });
 * const after = page.cases.at(-1)?.sourceLoanNumber;
 * const nextPage = await sortedCases(em, lenderId, {}, { order: "loan", after, limit: 50 });
 */
export async function sortedCases(
  em: EntityManager,
  lenderId: string,
  search: Pick<CaseSearch, "statuses" | "dpd"> & { readonly holderId?: null | undefined },
  { order, after, limit }: { readonly order: CaseOrder; readonly after?: string | undefined; readonly limit: number },
): Promise<SortedCases> {
  const { select, selectLast } = after === undefined ? ORDERS[order].first : ORDERS[order].next;
  const from = [lenderId, after ?? AFTER_ALL_IDS];
  // Both queries must see the same rows. Otherwise the search could continue behind cases that the first one has not read.
  return readSnapshot(em, async (tx) => {
    const cases = await query<FoundCase>(tx, select, [...from, null, limit, ...filterOf(search)]);
    if (cases.length >= limit) return { cases, searchedTo: undefined };
    const [last] = await query<{ id: string }>(tx, selectLast, [...from, null]);
    return { cases, searchedTo: last?.id };
  });
}

interface Order {
  /** The column that sorts. */
  readonly column: string;
  readonly isDescending: boolean;
  /** The condition that makes an index fit, if it has only some rows. */
  readonly condition?: string;
}

const CURRENT = "and p.is_current";
// Another cycle of a loan has the same number, so the index of current cases is the one that sorts by it.
export const ORDERS = {
  newest: orderBy("newest", { column: "p.id", isDescending: true }),
  loan: orderBy("loan", { column: "p.source_loan_number", isDescending: false, condition: CURRENT }),
  "loan-descending": orderBy("loan-descending", {
    column: "p.source_loan_number",
    isDescending: true,
    condition: CURRENT,
  }),
} as const satisfies Record<CaseOrder, unknown>;

/** Creates the statements of an order: those of the first page, and those of a page after a row. */
function orderBy(name: string, { column, isDescending, condition = "" }: Order) {
  const direction = isDescending ? "desc" : "asc";
  const type = column === "p.id" ? "uuid" : "text";
  const statements = (part: string, after: string) => {
    const source = `from cases.collection_case p
      where p.lender_id = $1 and ${after} ${condition} and $3::text is null order by ${column} ${direction}`;
    const rows = `select p.*, ${column} as place ${source} limit (select ${MOST_READ})`;
    return {
      select: statement(`cases.sorted-${name}-${part}`, searchIn(rows, { direction })),
      selectLast: statement(`cases.sorted-${name}-${part}-to`, lastOf(source, column)),
    };
  };
  return {
    first: statements("first", "$2::uuid is not null"),
    next: statements("next", `${column} ${isDescending ? "<" : ">"} $2::${type}`),
  };
}
