import {
  AGES,
  type BoundedCount,
  CASE_ORDERS,
  CASE_STATUSES,
  type CaseOrder,
  type CaseSearch,
  filterCounts,
  isDay,
  searchCases,
  sortedCases,
} from "@collections/cases";
import { BEFORE_ALL_IDS, parsePublicId, publicId } from "@collections/database";
import type { EntityManager } from "@collections/entities";
import { fieldPartnersByIds } from "@collections/field-partners";
import type { Lender } from "@collections/lenders";
import { timeIn } from "@collections/local-time";
import { chosenLender } from "./chosen-lender.ts";
import { shownCase } from "./shown-case.ts";
import { searchText } from "./findings.ts";

/** The choices of days past due. */
const DPD_RANGES: Readonly<Record<string, { readonly from: number; readonly to: number }>> = {
  "0": { from: 0, to: 0 },
  "1 to 30": { from: 1, to: 30 },
  "31 to 60": { from: 31, to: 60 },
  "61 to 90": { from: 61, to: 90 },
  "over 90": { from: 91, to: 36_500 },
};
/** The ages of `filterCounts`, by the choices of days past due. */
const AGE_OF_RANGE: Readonly<Record<string, (typeof AGES)[number]>> = Object.fromEntries(
  Object.keys(DPD_RANGES).map((range, index) => [range, AGES[index]!]),
);
const PAGE_SIZE = 50;

/** The filters of a page of cases. An unknown value does not restrict it. */
export interface CasesWanted {
  readonly lender?: string | undefined;
  readonly status?: string | undefined;
  /** The public id of a field partner, or `none`. */
  readonly holder?: string | undefined;
  readonly dpd?: string | undefined;
  /** The day of an open promise, as `YYYY-MM-DD`. */
  readonly promise?: string | undefined;
  readonly text?: string | undefined;
  /** One of CASE_ORDERS; by default the order of the import. A search by text, promise or field partner has no other order. */
  readonly order?: string | undefined;
  /** The public id, or in an order by loan the loan number, of the case after which the page begins. */
  readonly after?: string | undefined;
}

/**
 * Returns a page of the cases of one of some lenders, with one search. So the page may end before it is full: `next` continues the
 * search. `isComplete` is false then.
 */
export async function pageOfCases(em: EntityManager, given: readonly Lender[], wanted: CasesWanted) {
  const { lenderCodes, lender } = chosenLender(given, wanted.lender);
  const choices = {
    lenderCodes,
    statuses: CASE_STATUSES,
    dpds: Object.keys(DPD_RANGES),
  };
  const search = searchOf(wanted);
  const canSort = search.text === undefined && search.promiseDue === undefined && typeof search.holderId !== "string";
  const order = canSort ? CASE_ORDERS.find((one) => one === wanted.order) : undefined;
  const view = { ...choices, order, orders: canSort ? CASE_ORDERS : [] };
  const none = { cases: [], counts: undefined, next: null, isFull: true };
  if (!lender) return { ...view, lenderCode: undefined, timeZone: "UTC", ...none };
  const found = await casesInOrder(em, lender, search, { order, after: wanted.after });
  const listed = found.cases.slice(0, PAGE_SIZE);
  const isFull = found.cases.length > PAGE_SIZE;
  const last = isFull ? cursorOf(listed.at(-1)!, order) : found.searchedTo;
  const counts = canSort ? await countsOf(em, lender, search, wanted) : undefined;
  const holderIds = listed.flatMap(({ assignedFieldPartnerId: id }) => (id === null ? [] : [id]));
  const holders = await fieldPartnersByIds(em, [...new Set(holderIds)]);
  return {
    ...view,
    counts,
    lenderCode: lender.code,
    timeZone: lender.timeZone,
    cases: listed.map((one) =>
      withLocalTime(
        lender,
        shownCase({ ...one, lender, holder: holders.get(one.assignedFieldPartnerId ?? "") }, { hasContact: false }),
      ),
    ),
    next: last === undefined ? null : isByLoan(order) ? last : publicId("case", last),
    isFull,
  };
}

/** Returns a page of cases, and one case more if there is a next page. */
async function casesInOrder(
  em: EntityManager,
  lender: Lender,
  search: CaseSearch,
  { order, after }: { readonly order: CaseOrder | undefined; readonly after: string | undefined },
) {
  const [limit, id] = [PAGE_SIZE + 1, parsePublicId("case", after ?? "")];
  if (order === undefined) return searchCases(em, lender.id, search, { after: id ?? BEFORE_ALL_IDS, limit });
  const { statuses, dpd, holderId } = search;
  const unassigned = holderId === null ? { holderId } : {};
  const from = isByLoan(order) ? after : id;
  return sortedCases(em, lender.id, { statuses, dpd, ...unassigned }, { order, after: from, limit });
}

function isByLoan(order: CaseOrder | undefined): boolean {
  return order === "loan" || order === "loan-descending";
}

function cursorOf(last: { readonly id: string; readonly sourceLoanNumber: string }, order: CaseOrder | undefined) {
  return isByLoan(order) ? last.sourceLoanNumber : last.id;
}

/** Returns the counts of the choices as texts, such as `1,000+`. A choice whose count is unknown is left out. */
async function countsOf(em: EntityManager, lender: Lender, { statuses, holderId }: CaseSearch, { dpd }: CasesWanted) {
  const age = Object.hasOwn(AGE_OF_RANGE, dpd ?? "") ? AGE_OF_RANGE[dpd!] : undefined;
  const chosen = { status: statuses?.[0], age, isUnassigned: holderId === null };
  const counts = await filterCounts(em, lender.id, chosen);
  const textsOf = (some: Readonly<Record<string, BoundedCount>>) =>
    Object.fromEntries(Object.entries(some).flatMap(([name, count]) => countText(count).map((text) => [name, text])));
  return {
    statuses: textsOf(counts.statuses),
    dpds: textsOf(Object.fromEntries(Object.entries(AGE_OF_RANGE).map(([range, one]) => [range, counts.ages[one]]))),
    holders: textsOf({ none: counts.unassigned }),
  };
}

function countText({ count, isExact }: BoundedCount): string[] {
  if (isExact) return [count.toLocaleString("en")];
  return count === 0 ? [] : [`${count.toLocaleString("en")}+`];
}

function withLocalTime<Shown extends { readonly lastVisitAt: string | null }>({ timeZone }: Lender, shown: Shown) {
  const at = shown.lastVisitAt;
  return {
    ...shown,
    lastVisit: at === null ? null : timeIn(timeZone, new Date(at)).slice(0, "2026-11-20 18:00".length),
  };
}

function searchOf({ status, holder, dpd, promise, text }: CasesWanted): CaseSearch {
  const statuses = CASE_STATUSES.filter((one) => one === status);
  const holderId = holder === "none" ? null : parsePublicId("fp", holder ?? "");
  return {
    holderId,
    statuses: statuses.length === 0 ? undefined : statuses,
    dpd: Object.hasOwn(DPD_RANGES, dpd ?? "") ? DPD_RANGES[dpd!] : undefined,
    promiseDue: promise !== undefined && isDay(promise) ? { from: promise, to: promise } : undefined,
    text: text === undefined ? undefined : searchText(text),
  };
}
