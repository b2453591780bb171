import { parsePublicId, publicId } from "@collections/database";
import type { EntityManager } from "@collections/entities";
import { payoutsDue } from "@collections/flows";
import { listLenders } from "@collections/lenders";
import { payable } from "./payable.ts";

const PAGE_SIZE = 50;
/** The number of queries for the people to whom money is owed: two for each 200 field partners. */
const MOST_SEARCHES = 1;

/**
 * Returns a page of the payouts that are due, and the codes of all lenders. `dueAfter` is the public id of the field partner after whom the page begins.
 */
export async function pageOfMoney(em: EntityManager, { dueAfter }: { readonly dueAfter?: string | undefined }) {
  const { due, next } = await payoutsDue(em, {
    after: parsePublicId("fp", dueAfter ?? ""),
    limit: PAGE_SIZE,
    mostSearches: MOST_SEARCHES,
  });
  const lenders = await listLenders(em);
  return {
    lenderCodes: lenders.map(({ code }) => code),
    due: due.flatMap(({ fieldPartner, credited }) =>
      payable(credited, new Map()).map(({ currency, amount, lines }) => ({
        fieldPartnerId: publicId("fp", fieldPartner.id),
        displayName: fieldPartner.displayName,
        state: fieldPartner.state,
        currency,
        amount,
        lines,
      })),
    ),
    dueNext: next === null ? null : publicId("fp", next),
  };
}
