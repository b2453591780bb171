import { CASE_STATUSES, type CaseSearch, searchCases } from "@collections/cases";
import { BEFORE_ALL_IDS, type EntityManager, parsePublicId, publicId } from "@collections/database";
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
const PAGE_SIZE = 50;

/** The filters of a page of cases. An unknown value does not restrict it. */
export interface CasesWanted {
  readonly lender?: string | undefined;
  readonly status?: string | undefined;
  /** The public id of a field partner, or `none`. */
  readonly holder?: string | undefined;
  readonly dpd?: string | undefined;
  readonly text?: string | undefined;
  /** The public id of the case after which the page begins. */
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
  if (!lender) return { ...choices, lenderCode: undefined, timeZone: "UTC", cases: [], next: null, isFull: true };
  const after = parsePublicId("case", wanted.after ?? "") ?? BEFORE_ALL_IDS;
  const found = await searchCases(em, lender.id, searchOf(wanted), { after, limit: PAGE_SIZE + 1 });
  const listed = found.cases.slice(0, PAGE_SIZE);
  const isFull = found.cases.length > PAGE_SIZE;
  const last = isFull ? listed.at(-1)!.id : found.searchedTo;
  const holderIds = listed.flatMap(({ assignedFieldPartnerId: id }) => (id === null ? [] : [id]));
  const holders = await fieldPartnersByIds(em, [...new Set(holderIds)]);
  return {
    ...choices,
    lenderCode: lender.code,
    timeZone: lender.timeZone,
    cases: listed.map((one) =>
      withLocalTime(
        lender,
        shownCase({ ...one, lender, holder: holders.get(one.assignedFieldPartnerId ?? "") }, { hasContact: false }),
      ),
    ),
    next: last === undefined ? null : publicId("case", last),
    isFull,
  };
}

function withLocalTime<Shown extends { readonly lastVisitAt: string | null }>({ timeZone }: Lender, shown: Shown) {
  const at = shown.lastVisitAt;
  return {
    ...shown,
    lastVisit: at === null ? null : timeIn(timeZone, new Date(at)).slice(0, "2026-11-20 18:00".length),
  };
}

function searchOf({ status, holder, dpd, text }: CasesWanted): CaseSearch {
  const statuses = CASE_STATUSES.filter((one) => one === status);
  const holderId = holder === "none" ? null : parsePublicId("fp", holder ?? "");
  return {
    holderId,
    statuses: statuses.length === 0 ? undefined : statuses,
    dpd: Object.hasOwn(DPD_RANGES, dpd ?? "") ? DPD_RANGES[dpd!] : undefined,
    text: text === undefined ? undefined : searchText(text),
  };
}
