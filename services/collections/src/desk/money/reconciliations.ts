import {
  DIFFERENCE_LISTS,
  type DifferenceList,
  differencesOf,
  listReconciliations,
  type ReconciliationDifference,
  reconciliationRun,
} from "@collections/bookings";
import { parsePublicId, publicId } from "@collections/database";
import type { EntityManager } from "@collections/entities";
import type { Lender } from "@collections/lenders";
import { timeIn } from "@collections/local-time";
import { actorText } from "../actor-text.ts";
import { amountText } from "../amount-text.ts";
import { chosenLender } from "../chosen-lender.ts";
import { DIFFERENCE_WORDS } from "../files/difference-words.ts";
import { inFieldWords } from "../words/field-words.ts";
import { shownRun } from "./shown-run.ts";

const PAGE_SIZE = 50;

/** Returns a page of the stored reconciliations of one of some lenders, the latest first. */
export async function pageOfReconciliations(
  em: EntityManager,
  given: readonly Lender[],
  { lender: code, after }: { readonly lender: string | undefined; readonly after: string | undefined },
) {
  const { lenderCodes, lender } = chosenLender(given, code);
  if (!lender) return { lenderCodes, lenderCode: undefined, timeZone: undefined, reconciliations: [], next: null };
  const key = { after: parsePublicId("rec", after ?? ""), limit: PAGE_SIZE + 1 };
  const found = await listReconciliations(em, lender.id, key);
  const runs = found.slice(0, PAGE_SIZE);
  return {
    lenderCodes,
    lenderCode: lender.code,
    timeZone: lender.timeZone,
    reconciliations: runs.map((run) => {
      const { counts, ...shown } = shownRun(lender, run);
      const { matched, ...lists } = counts;
      return {
        runId: shown.runId,
        from: timeIn(lender.timeZone, run.windowFrom),
        to: timeIn(lender.timeZone, run.windowTo),
        requestedBy: actorText(shown.requestedBy),
        fileName: shown.fileName,
        matched,
        differences: Object.values(lists).reduce((sum, count) => sum + count, 0),
      };
    }),
    next: found.length > PAGE_SIZE ? publicId("rec", runs.at(-1)!.id) : null,
  };
}

/** A reconciliation, and which of its differences to show. An unknown list or place is ignored. */
export interface ReconciliationWanted {
  readonly lender: string;
  readonly runId: string;
  /** Without it, the first list that has differences. */
  readonly list?: string | undefined;
  /** The place of the difference after which the page begins. */
  readonly after?: string | undefined;
}

/**
 * Returns a stored reconciliation of one of some lenders, with a page of one list of its differences. Undefined if there
 * is no such lender or reconciliation.
 */
export async function reconciliationPage(em: EntityManager, given: readonly Lender[], wanted: ReconciliationWanted) {
  const lender = given.find(({ code }) => code === wanted.lender);
  const runId = parsePublicId("rec", wanted.runId);
  if (!lender || runId === undefined) return undefined;
  const key = { lenderId: lender.id, runId };
  const run = await reconciliationRun(em, key);
  if (!run) return undefined;
  const { totals } = run;
  const list =
    DIFFERENCE_LISTS.find((one) => one === wanted.list) ?? DIFFERENCE_LISTS.find((one) => totals.lists[one] > 0);
  const after = /^\d{1,9}$/.test(wanted.after ?? "") ? Number(wanted.after) : undefined;
  const found = list === undefined ? [] : await differencesOf(em, key, list, { after, limit: PAGE_SIZE + 1 });
  const differences = found.slice(0, PAGE_SIZE);
  const sums = (sides: typeof totals.yours) =>
    sides.map(
      ({ count, amountMinor, currency }) => `${count.toLocaleString("en")} (${amountText(amountMinor, currency)})`,
    );
  return {
    lenderCode: lender.code,
    runId: wanted.runId,
    timeZone: lender.timeZone,
    facts: [
      ["from", timeIn(lender.timeZone, run.windowFrom)],
      ["to", timeIn(lender.timeZone, run.windowTo)],
      ["started", timeIn(lender.timeZone, run.startedAt)],
      ["by", actorText(run.requestedBy)],
      ["file", run.fileName ?? "None"],
      ["payments of the file", sums(totals.yours).join(" + ") || "0"],
      ["booked payments", sums(totals.ours).join(" + ") || "0"],
      ["matched", totals.matched.toLocaleString("en")],
    ] satisfies [string, string][],
    lists: DIFFERENCE_LISTS.map((name) => ({ name, count: totals.lists[name], meaning: DIFFERENCE_WORDS[name] })),
    list,
    differences: differences.map((one) => shownDifference(lender, list!, one)),
    next: found.length > PAGE_SIZE ? String(differences.at(-1)!.place) : null,
  };
}

function shownDifference({ timeZone }: Lender, list: DifferenceList, difference: ReconciliationDifference) {
  const { loan, reference, position, rowMinor, rowCurrency, rowPaidAt, faults } = difference;
  const { bookedLoan, bookedReference, bookedMinor, reversedMinor, bookedCurrency, bookedPaidAt } = difference;
  const paidAt = list === "outsideWindow" ? rowPaidAt : (bookedPaidAt ?? rowPaidAt);
  const isReversed = reversedMinor !== null && reversedMinor > 0n;
  return {
    line: position === null ? null : String(position),
    loan,
    reference,
    inFile: rowMinor === null ? null : amountText(rowMinor, rowCurrency!),
    booked: bookedMinor === null ? null : amountText(bookedMinor, bookedCurrency!),
    paidAt: paidAt === null ? null : timeIn(timeZone, paidAt),
    about: [
      ...(bookedLoan !== null && bookedLoan !== loan ? [`Booked on the loan ${bookedLoan}.`] : []),
      ...(bookedReference !== null && bookedReference !== reference ? [`Booked as ${bookedReference}.`] : []),
      ...(isReversed ? [`Reversed: ${amountText(reversedMinor, bookedCurrency!)}.`] : []),
      ...faults.map(({ detail }) => inFieldWords(detail)),
    ].join(" "),
  };
}
