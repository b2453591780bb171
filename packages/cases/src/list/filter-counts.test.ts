import { newId, query, statement } from "@collections/database";
import { beforeAll, describe, expect, test } from "vitest";
import { casesDatabase } from "../../tests/cases-database.ts";
import { CASE_STATUSES } from "../case/case-status.ts";
import { type ChosenFilters, filterCounts } from "./filter-counts.ts";
import { AGES } from "./outstanding-by-age.ts";
import { CASE_ORDERS, type CaseOrder, sortedCases } from "./sorted-cases.ts";
import type { CaseSearch } from "./case-search.ts";
import { insertSampleCases, type SampleCase } from "../../tests/sample-cases.ts";

const database = await casesDatabase();
const SMALL = newId();
const LARGE = newId();

const HOLDER = newId();

/** Cases of every status, age and holder. Their loan numbers are in another order than their ids. */
function someRows(count: number): SampleCase[] {
  return Array.from({ length: count }, (_, n) => ({
    loan: `LN-${String((n * 7_919) % 100_000).padStart(5, "0")}`,
    status: CASE_STATUSES[n % CASE_STATUSES.length]!,
    dpd: n % 11 === 0 ? null : (n * 7) % 130,
    holder: n % 3 === 0 ? null : HOLDER,
    isCurrent: n % 13 !== 0,
  }));
}

const small = someRows(700);
const large = someRows(21_000);

beforeAll(async () => {
  await insertSampleCases(database, SMALL, small);
  await insertSampleCases(database, LARGE, large);
});

/** Leaves no withdrawn case, and none with 0 days past due. */
const rareStates = statement(
  "test.rare-states",
  `update cases.collection_case set status = case status when 'withdrawn' then 'closed' else status end,
     dpd = case dpd when 0 then 5 else dpd end
   where lender_id = $1 and (status = 'withdrawn' or dpd = 0)`,
);

const RANGES = { "0": [0, 0], "1-30": [1, 30], "31-60": [31, 60], "61-90": [61, 90], "90+": [91, 9_999] } as const;

function countOf(rows: readonly SampleCase[], { status, age, isUnassigned }: ChosenFilters): number {
  return rows.filter(
    (row) =>
      row.isCurrent &&
      (status === undefined || row.status === status) &&
      (age === undefined || (row.dpd !== null && row.dpd >= RANGES[age][0] && row.dpd <= RANGES[age][1])) &&
      (!isUnassigned || row.holder === null),
  ).length;
}

describe("the counts of a lender whose cases are all read", () => {
  test.each<ChosenFilters>([
    {},
    { status: "new" },
    { age: "31-60" },
    { isUnassigned: true },
    { status: "closed", age: "90+", isUnassigned: true },
  ])("are exact with %j", async (chosen) => {
    const counts = await filterCounts(database.em(), SMALL, chosen);
    const exactly = (filters: ChosenFilters) => ({ count: countOf(small, filters), isExact: true });
    expect(counts.all).toEqual(exactly({}));
    for (const status of CASE_STATUSES) expect(counts.statuses[status]).toEqual(exactly({ ...chosen, status }));
    for (const age of AGES) expect(counts.ages[age]).toEqual(exactly({ ...chosen, age }));
    expect(counts.unassigned).toEqual(exactly({ ...chosen, isUnassigned: true }));
  });
});

describe("the counts of a lender with more cases than are read", () => {
  test("end at 1,000", async () => {
    const counts = await filterCounts(database.em(), LARGE);
    const bound = { count: 1_000, isExact: false };
    expect(counts.all).toEqual(bound);
    expect(counts.unassigned).toEqual(bound);
    expect(counts.statuses.on_hold).toEqual(bound);
    expect(counts.ages["1-30"]).toEqual(bound);
  });

  test("are exact for a rare state with an index", async () => {
    await query(database.em(), rareStates, [LARGE]);
    const { statuses, ages } = await filterCounts(database.em(), LARGE);
    expect(statuses.withdrawn).toEqual({ count: 0, isExact: true });
    expect(ages["0"]).toEqual({ count: 0, isExact: true });
    expect(statuses.collected.isExact).toBe(false);
  });

  test("are lower bounds with another filter", async () => {
    const { statuses } = await filterCounts(database.em(), LARGE, { age: "1-30", isUnassigned: true });
    const most = countOf(large, { status: "assigned", age: "1-30", isUnassigned: true });
    expect(statuses.assigned.isExact).toBe(false);
    expect(statuses.assigned.count).toBeGreaterThan(0);
    expect(statuses.assigned.count).toBeLessThanOrEqual(most);
  });
});

describe.each(CASE_ORDERS)("the order %s", (order) => {
  test.each<Pick<CaseSearch, "statuses" | "dpd"> & { holderId?: null }>([
    {},
    { statuses: ["new", "closed"] },
    { dpd: { from: 31, to: 60 }, holderId: null },
  ])("has each case of %j once, in order", async (search) => {
    const expected = small
      .filter(
        (row) =>
          row.isCurrent &&
          (search.statuses?.includes(row.status) ?? true) &&
          (search.dpd === undefined || (row.dpd !== null && row.dpd >= search.dpd.from && row.dpd <= search.dpd.to)) &&
          (search.holderId === undefined || row.holder === null),
      )
      .map(({ loan }) => loan);
    const sorted = order === "newest" ? expected.toReversed() : expected.toSorted();
    expect(await allOf(SMALL, search, order)).toEqual(order === "loan-descending" ? sorted.toReversed() : sorted);
  });

  test("continues a search that ended before the page was full", async () => {
    const first = await sortedCases(database.em(), LARGE, { statuses: ["withdrawn"] }, { order, limit: 50 });
    expect(first.cases).toEqual([]);
    expect(first.searchedTo).toBeDefined();
    expect(await allOf(LARGE, { statuses: ["withdrawn"] }, order)).toEqual([]);
  });
});

/** Returns the loans of all pages. */
async function allOf(lenderId: string, search: CaseSearch, order: CaseOrder): Promise<string[]> {
  const loans: string[] = [];
  let after: string | undefined;
  do {
    const wanted = { order, after, limit: 50 };
    const page = await sortedCases(database.em(), lenderId, { ...search, holderId: search.holderId as null }, wanted);
    loans.push(...page.cases.map(({ sourceLoanNumber }) => sourceLoanNumber));
    const last = page.cases.at(-1);
    after = page.cases.length < 50 ? page.searchedTo : order === "newest" ? last!.id : last!.sourceLoanNumber;
  } while (after !== undefined);
  return loans;
}
