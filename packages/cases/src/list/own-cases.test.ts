import { newId } from "@collections/database";
import { describe, expect, test } from "vitest";
import { bucketOf } from "../case/case-details.ts";
import type { ImportedCase } from "../case/locked-case.ts";
import { type CaseListRequest, lenderIdsOfFieldPartner, ownCasesByIds } from "./own-cases.ts";
import { casesDatabase } from "../../tests/cases-database.ts";
import { address, NOW, portfoliosIn, TODAY } from "../../tests/portfolios-example.ts";
import { blockedReason } from "./workable.ts";

const database = await casesDatabase();
const { allPages, hold, lenderId, promise } = portfoliosIn(database);

describe("a field partner's list", () => {
  test("contains only their own cases, in pages, and lists the newest of equally ranked cases first", async () => {
    const { me, held } = await hold(Array.from({ length: 5 }, () => ({})));
    await hold([{}]);
    const pages = await allPages(me, { first: 2 });
    expect(pages.map((page) => page.length)).toEqual([2, 2, 1]);
    expect(pages.flat()).toEqual(held.map(({ id }) => id).toReversed());
    expect(await lenderIdsOfFieldPartner(database.em(), me)).toEqual([lenderId]);
  });

  test("contains only their own cases if cases are requested by id", async () => {
    const { me, held } = await hold([{}]);
    const theirs = await hold([{}]);
    const ids = [held[0]!.id, theirs.held[0]!.id, newId()];
    expect([...(await ownCasesByIds(database.em(), me, ids, NOW)).keys()]).toEqual([held[0]!.id]);
    expect(await ownCasesByIds(database.em(), me, [])).toEqual(new Map());
  });
});

describe("casesOfFieldPartner filters", () => {
  test.each<[string, CaseListRequest["filter"], number[]]>([
    ["by status", { statuses: ["in_progress"] }, [1]],
    ["by bucket, sent by the lender or derived from the days past due", { buckets: ["31-60", "X"] }, [1, 2]],
    ["by city, in any letter case", { cities: [" PUNE "] }, [0]],
    ["by postal code, without regard to spaces", { postalCodes: ["411 002"] }, [1]],
    ["for workable cases", { workable: true }, [0, 1]],
    ["for cases that are not workable", { workable: false }, [2, 3]],
    ["by lender", { lenderCodes: ["ACME"] }, [0, 1, 2, 3]],
    ["by an unknown lender", { lenderCodes: ["BOLT"] }, []],
    ["by an empty list of statuses", { statuses: [] }, []],
    ["by two criteria at once", { workable: true, cities: ["Pune"] }, [0]],
  ])("%s", async (_title, filter, wanted) => {
    const { me, held } = await hold([
      { addresses: [address({ city: "Pune", postalCode: "411001" })] },
      { status: "in_progress", workBegun: true, dpd: 45, addresses: [address({ postalCode: "411002" })] },
      { bucket: "X", dpd: 1, doNotContactUntil: "2026-11-21" },
      { status: "on_hold", fieldWork: "blocked", blockedAt: NOW, addresses: [{ ...address({}), city: null }] },
    ]);
    const [found = []] = await allPages(me, { filter: filter! });
    expect(new Set(found)).toEqual(new Set(wanted.map((index) => held[index]!.id)));
  });

  test.each<[string, number[]]>([
    ["rao", [0]],
    ["RAO  asha", [0]],
    ["asha", [0, 1]],
    ["00123", [1]],
    ["a/00123", [1]],
    ["0012", []],
    ["%", [2]],
    ["_", []],
    ["' or true --", []],
    ["  ", [0, 1, 2]],
  ])("by the search %j", async (search, wanted) => {
    const { me, held } = await hold([
      { borrowerName: "Asha Rao" },
      { borrowerName: "Asha Patil", sourceLoanNumber: "MUM/A/00123" },
      { borrowerName: "100 % Traders" },
    ]);
    const [found = []] = await allPages(me, { search });
    expect(new Set(found)).toEqual(new Set(wanted.map((index) => held[index]!.id)));
  });

  test("by the due days of open promises", async () => {
    const { me, held } = await hold([{}, {}, {}, {}]);
    await promise(held[0]!, "2026-11-20");
    await promise(held[1]!, "2026-11-25");
    await promise(held[2]!, "2026-11-25", "broken");
    const found = async (promiseDue: object) => (await allPages(me, { filter: { promiseDue } })).flat();
    expect(await found({ from: "2026-11-20", to: "2026-11-24" })).toEqual([held[0]!.id]);
    expect(await found({ from: "2026-11-21" })).toEqual([held[1]!.id]);
    expect(new Set(await found({}))).toEqual(new Set([held[0]!.id, held[1]!.id]));
  });

  test("by bucket and workability, with the same results as bucketOf and blockedReason for cases in every state", async () => {
    const days = [null, 0, 1, 30, 31, 60, 61, 90, 91, 4_000];
    const states = [
      {},
      { status: "in_progress" },
      { status: "on_hold", fieldWork: "blocked", blockedAt: NOW },
      { status: "new" },
      { status: "closed", closedAt: NOW, closeReason: "withdrawn" },
      { doNotContactUntil: "2026-11-19" },
      { doNotContactUntil: TODAY },
      { doNotContactUntil: "2026-11-21" },
    ] satisfies Partial<ImportedCase>[];
    const { me, held } = await hold([...days.map((dpd) => ({ dpd })), ...states]);
    for (const bucket of ["0", "1-30", "31-60", "61-90", "90+"]) {
      const [found = []] = await allPages(me, { filter: { buckets: [bucket] } });
      expect(new Set(found)).toEqual(idsOf(held.filter((theCase) => bucketOf(theCase) === bucket)));
    }
    const [found = []] = await allPages(me, { filter: { workable: true } });
    expect(new Set(found)).toEqual(idsOf(held.filter((theCase) => blockedReason(theCase, TODAY) === undefined)));
  });
});

function idsOf(cases: readonly ImportedCase[]): Set<string> {
  return new Set(cases.map(({ id }) => id));
}
