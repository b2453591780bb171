import { BEFORE_ALL_IDS } from "@collections/database";
import type { EntityManager } from "@collections/entities";
import type { CaseSearch } from "../src/list/case-search.ts";
import { searchCases } from "../src/list/search-cases.ts";

/** Returns the loans of all pages of a search. */
export async function foundLoans(
  em: EntityManager,
  lenderId: string,
  search: CaseSearch,
  limit: number,
): Promise<string[]> {
  const loans: string[] = [];
  let after: string | undefined = BEFORE_ALL_IDS;
  while (after !== undefined) {
    const page = await searchCases(em, lenderId, search, { after, limit });
    loans.push(...page.cases.map(({ sourceLoanNumber }) => sourceLoanNumber));
    after = page.cases.length === limit ? page.cases.at(-1)!.id : page.searchedTo;
  }
  return loans;
}
