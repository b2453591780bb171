import { firstIdAt, visibleUntil } from "@collections/database";
import type { EntityManager } from "@collections/entities";

/** The maximum number of items in a page of a lender's list (contract: Limits). */
const PAGE_ITEMS = 500;

/** A page of a list in the order of ids. */
export interface StablePage<Item> {
  readonly items: readonly Item[];
  /** The id after which the list continues; null after the last page. Equal to `after` if nothing could be read yet. */
  readonly next: string | null;
}

/** The rows that one search after an id found, in the order of ids, and where the search ended. */
export interface FirstRows<Row> {
  readonly rows: readonly Row[];
  /**
   * The id at which the search ended. Undefined if the search reached the end of the list, or found as many items as
   * the limit allows.
   */
  readonly searchedTo: string | undefined;
}

/**
 * Reads a page of a list that misses and repeats no row while rows are added. Ids are made before the commit, so a row
 * may become visible after a row with a higher id. If the next page began after the higher id, it would miss that row.
 * So every page except the last ends before the lowest id that an open transaction may still commit. The last page
 * contains everything that is visible, because no page follows it.
 *
 * Transactions must lock or write a row of `cases.collection_case` before they make the ids of the list's rows.
 */
export async function stablePage<Row extends { readonly id: string }>(
  em: EntityManager,
  after: string,
  read: (limit: number) => Promise<FirstRows<Row>>,
): Promise<StablePage<Row>> {
  // This must be read before the rows: a transaction that ends in between is then visible to the query of the rows.
  const end = firstIdAt(await visibleUntil(em, "cases.collection_case"));
  const { rows, searchedTo } = await read(PAGE_ITEMS + 1);
  const readTo = rows.length > PAGE_ITEMS ? rows[PAGE_ITEMS - 1]!.id : searchedTo;
  if (readTo === undefined) return { items: rows, next: null };
  if (readTo < end) return { items: rows.filter(({ id }) => id <= readTo), next: readTo };
  return { items: rows.filter(({ id }) => id < end), next: after < end ? end : after };
}
