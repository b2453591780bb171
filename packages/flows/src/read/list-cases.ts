import { type LenderCaseFilter, listCases as readCases } from "@collections/cases";
import { BEFORE_ALL_IDS } from "@collections/database";
import type { EntityManager } from "@collections/entities";
import { fieldPartnersByIds } from "@collections/field-partners";
import { caseStateBody, caseTimesBody } from "./case-body.ts";
import { type StablePage, stablePage } from "./stable-page.ts";

/**
 * Returns a page of a lender's current cases, in the order in which they were created. `after` is the `next` of the
 * previous page. The list misses and repeats no case, also during an import. A case that changes while the list is read
 * is shown as it was when its page was read.
 *
 * The cases have the fields of the case snapshot, except for the latest visit, the active link and the payments.
 *
 * @example
 * let next: string | null | undefined;
 * do {
 *   const page = await listCases(em, lender.id, { statuses: ["collected"] }, next);
 *   for (const listed of page.items) console.log(JSON.stringify(listed));
 *   next = page.next;
 * } while (next !== null);
 */
export async function listCases(
  em: EntityManager,
  lenderId: string,
  filter: LenderCaseFilter,
  after: string | null = null,
): Promise<StablePage<object>> {
  const start = after ?? BEFORE_ALL_IDS;
  const { items, next } = await stablePage(em, start, async (limit) => {
    const found = await readCases(em, lenderId, { after: start, limit }, filter);
    return { rows: found.cases, searchedTo: found.searchedTo };
  });
  const holderIds = items.flatMap(({ assignedFieldPartnerId: id }) => (id === null ? [] : [id]));
  const holders = await fieldPartnersByIds(em, [...new Set(holderIds)]);
  return {
    items: items.map((one) => ({
      ...caseStateBody(one, holders.get(one.assignedFieldPartnerId ?? "")),
      ...caseTimesBody(one),
    })),
    next,
  };
}
