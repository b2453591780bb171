import { type CaseSearch, type FoundCase, searchCases as searchCasesOf } from "@collections/cases";
import { BEFORE_ALL_IDS } from "@collections/database";
import type { EntityManager } from "@collections/entities";
import { type FieldPartner, fieldPartnersByIds } from "@collections/field-partners";
import type { Lender } from "@collections/lenders";

/** A case that an operator has found, with its lender and the field partner that has it. */
export interface SearchedCase extends FoundCase {
  readonly lender: Lender;
  readonly holder: FieldPartner | undefined;
}

/** A case in the list of all lenders: the list continues after it. */
export interface PlaceInSearch {
  readonly lenderCode: string;
  readonly caseId: string;
}

/** A request for a page of found cases. */
export interface SearchPage {
  /** The lenders whose cases are searched. */
  readonly lenders: readonly Lender[];
  /** Where the previous page ended; null for the first page. */
  readonly after: PlaceInSearch | null;
  /** The maximum number of cases, 1 or more. */
  readonly limit: number;
  /** Called after each query with the number of cases found so far. A query takes a fraction of a second. */
  readonly onProgress?: ((found: number) => void) | undefined;
}

/** A page of found cases, in the order of lender codes and then of ids. */
export interface SearchedCases {
  readonly items: readonly SearchedCase[];
  /** Where the next page begins; null if all lenders were searched to their end. */
  readonly next: PlaceInSearch | null;
}

/**
 * Returns a page of the current cases of some lenders that match a search. Several short queries are made, until the
 * page is full or all lenders are searched.
 *
 * @example
 * const { items, next } = await searchCases(em, { statuses: ["new"], holderId: null }, { lenders: [lender], after: null, limit: 50 });
 */
export async function searchCases(em: EntityManager, search: CaseSearch, page: SearchPage): Promise<SearchedCases> {
  const { found, next } = await foundCases(em, search, page);
  const holderIds = found.flatMap(({ assignedFieldPartnerId: id }) => (id === null ? [] : [id]));
  const holders = await fieldPartnersByIds(em, [...new Set(holderIds)]);
  const items = found.map((one) => ({ ...one, holder: holders.get(one.assignedFieldPartnerId ?? "") }));
  return { items, next };
}

type Found = FoundCase & { readonly lender: Lender };

/** Returns a page of cases like `searchCases`, without the field partners that have them. */
export async function foundCases(
  em: EntityManager,
  search: CaseSearch,
  { lenders, after, limit, onProgress }: SearchPage,
) {
  const found: Found[] = [];
  const ordered = lenders.toSorted((a, b) => (a.code < b.code ? -1 : 1));
  for (const lender of ordered.filter(({ code }) => after === null || code >= after.lenderCode)) {
    let start: string | undefined = after?.lenderCode === lender.code ? after.caseId : BEFORE_ALL_IDS;
    while (start !== undefined) {
      // One more than the page has room for, to know whether there is a next page.
      const room = limit + 1 - found.length;
      const { cases, searchedTo } = await searchCasesOf(em, lender.id, search, { after: start, limit: room });
      found.push(...cases.map((one) => ({ ...one, lender })));
      if (found.length > limit) {
        const last = found[limit - 1]!;
        return { found: found.slice(0, limit), next: { lenderCode: last.lender.code, caseId: last.id } };
      }
      start = searchedTo;
      onProgress?.(found.length);
    }
  }
  return { found, next: null };
}
