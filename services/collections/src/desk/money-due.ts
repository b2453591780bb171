import { listReconciliations } from "@collections/bookings";
import { type EntityManager, parsePublicId, publicId } from "@collections/database";
import { payoutsDue } from "@collections/flows";
import { listLenders } from "@collections/lenders";
import { timeIn } from "@collections/local-time";
import { payable } from "./payable.ts";
import { shownRun } from "./shown-run.ts";

const PAGE_SIZE = 50;
/** The number of queries for the people to whom money is owed: two for each 200 field partners. */
const MOST_SEARCHES = 1;

/** Which pages of the two lists to show. Ids are public. */
export interface MoneyWanted {
  readonly lender?: string | undefined;
  readonly dueAfter?: string | undefined;
  readonly runsAfter?: string | undefined;
}

/** Returns a page of the payouts that are due, and a page of the reconciliations of a lender. */
export async function pageOfMoney(em: EntityManager, { lender: code, dueAfter, runsAfter }: MoneyWanted) {
  const lenders = await listLenders(em);
  const lender = code === undefined ? lenders[0] : lenders.find((one) => one.code === code);
  const { due, next } = await payoutsDue(em, {
    after: parsePublicId("fp", dueAfter ?? ""),
    limit: PAGE_SIZE,
    mostSearches: MOST_SEARCHES,
  });
  const after = parsePublicId("rec", runsAfter ?? "");
  const found = lender ? await listReconciliations(em, lender.id, { after, limit: PAGE_SIZE + 1 }) : [];
  const runs = found.slice(0, PAGE_SIZE);
  return {
    lenderCodes: lenders.map((one) => one.code),
    lenderCode: lender?.code,
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
    reconciliations: runs.map((run) => {
      const { counts, ...shown } = shownRun(lender!, run);
      const { matched, ...lists } = counts;
      const local = (at: Date) => timeIn(lender!.timeZone, at);
      return {
        runId: shown.runId,
        from: local(run.windowFrom),
        to: local(run.windowTo),
        requestedBy: shown.requestedBy,
        fileName: shown.fileName,
        matched,
        differences: Object.values(lists).reduce((sum, count) => sum + count, 0),
      };
    }),
    runsNext: found.length > PAGE_SIZE ? publicId("rec", runs.at(-1)!.id) : null,
  };
}
