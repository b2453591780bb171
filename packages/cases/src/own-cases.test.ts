import { createDatabase, migrate, newId, transaction } from "@collections/database";
import { currency } from "@collections/money";
import { testDatabase } from "@collections/testing";
import { afterAll, describe, expect, test } from "vitest";
import { bucketOf } from "./case-details.ts";
import { CursorOfAnotherListError } from "./case-list-cursor.ts";
import type { Address } from "./contact-readers.ts";
import { exampleCase } from "./example-case.ts";
import type { ImportedCase } from "./locked-case.ts";
import { casesOfFieldPartner, type CaseListRequest, lenderIdsOfFieldPartner, ownCasesByIds } from "./own-cases.ts";
import { encodeCursor, InvalidCursorError } from "./page.ts";
import { casesSchema } from "./schema.ts";
import { blockedReason } from "./workable.ts";
import { insertCases, writeImportedCases } from "./write-cases.ts";

const { url } = await testDatabase("cases", async (url) => void (await migrate({ url, schemas: [casesSchema] })));
const database = await createDatabase({ url, schemas: [casesSchema] });
afterAll(() => database.close());
const NOW = new Date("2026-11-20T10:00:00Z");
const TODAY = "2026-11-20";
const lenderId = newId();

describe("a field partner's list", () => {
  test("is of their own cases, newest first among equals, page by page", async () => {
    const { me, held } = await aPortfolio(Array.from({ length: 5 }, () => ({})));
    await aPortfolio([{}]);
    const pages = await allPages(me, { first: 2 });
    expect(pages.map((page) => page.length)).toEqual([2, 2, 1]);
    expect(pages.flat()).toEqual(held.map(({ id }) => id).toReversed());
    expect(await lenderIdsOfFieldPartner(database.em(), me)).toEqual([lenderId]);
  });

  test("of many ids has their own", async () => {
    const { me, held } = await aPortfolio([{}]);
    const theirs = await aPortfolio([{}]);
    const ids = [held[0]!.id, theirs.held[0]!.id, newId()];
    expect([...(await ownCasesByIds(database.em(), me, ids, NOW)).keys()]).toEqual([held[0]!.id]);
    expect(await ownCasesByIds(database.em(), me, [])).toEqual(new Map());
  });
});

describe("narrowed", () => {
  test.each<[string, CaseListRequest["filter"], number[]]>([
    ["to states", { statuses: ["in_progress"] }, [1]],
    ["to buckets that were sent and that follow from the days", { buckets: ["31-60", "X"] }, [1, 2]],
    ["to cities in any letters", { cities: [" PUNE "] }, [0]],
    ["to postal codes without spaces", { postalCodes: ["411 002"] }, [1]],
    ["to what may be worked on", { workable: true }, [0, 1]],
    ["to what may not", { workable: false }, [2, 3]],
    ["to a lender", { lenderCodes: ["ACME"] }, [0, 1, 2, 3]],
    ["to an unknown lender", { lenderCodes: ["BOLT"] }, []],
    ["to none of the states", { statuses: [] }, []],
    ["by two parts at once", { workable: true, cities: ["Pune"] }, [0]],
  ])("%s", async (_title, filter, wanted) => {
    const { me, held } = await aPortfolio([
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
    const { me, held } = await aPortfolio([
      { borrowerName: "Asha Rao" },
      { borrowerName: "Asha Patil", sourceLoanNumber: "MUM/A/00123" },
      { borrowerName: "100 % Traders" },
    ]);
    const [found = []] = await allPages(me, { search });
    expect(new Set(found)).toEqual(new Set(wanted.map((index) => held[index]!.id)));
  });

  test("to days of open promises", async () => {
    const { me, held } = await aPortfolio([{}, {}, {}, {}]);
    await promise(held[0]!, "2026-11-20");
    await promise(held[1]!, "2026-11-25");
    await promise(held[2]!, "2026-11-25", "broken");
    const found = async (promiseDue: object) => (await allPages(me, { filter: { promiseDue } })).flat();
    expect(await found({ from: "2026-11-20", to: "2026-11-24" })).toEqual([held[0]!.id]);
    expect(await found({ from: "2026-11-21" })).toEqual([held[1]!.id]);
    expect(new Set(await found({}))).toEqual(new Set([held[0]!.id, held[1]!.id]));
  });

  test("as the rules say of every case, whatever its days and state", async () => {
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
    const { me, held } = await aPortfolio([...days.map((dpd) => ({ dpd })), ...states]);
    for (const bucket of ["0", "1-30", "31-60", "61-90", "90+"]) {
      const [found = []] = await allPages(me, { filter: { buckets: [bucket] } });
      expect(new Set(found)).toEqual(idsOf(held.filter((theCase) => bucketOf(theCase) === bucket)));
    }
    const [found = []] = await allPages(me, { filter: { workable: true } });
    expect(new Set(found)).toEqual(idsOf(held.filter((theCase) => blockedReason(theCase, TODAY) === undefined)));
  });
});

describe("sorted", () => {
  test("by priority: promises that are due, no promise, promises for later, blocked, ended", async () => {
    const { me, held } = await aPortfolio([
      { status: "closed", closedAt: NOW, closeReason: "withdrawn", dpd: 999 },
      { doNotContactUntil: "2026-12-01", dpd: 900 },
      { dpd: 10 },
      { dpd: 80 },
      {},
      { dpd: 5 },
      { dpd: 300 },
    ]);
    await promise(held[2]!, "2026-11-21");
    await promise(held[3]!, TODAY);
    await promise(held[5]!, "2026-11-01");
    expect(await order(me, { sort: "priority" }, held)).toEqual([3, 5, 6, 4, 2, 1, 0]);
  });

  test("by days past due, by amount and by distance, with the unknown last", async () => {
    const inr = (outstandingMinor: bigint) => ({ outstandingMinor, placedMinor: outstandingMinor });
    const { me, held } = await aPortfolio([
      { dpd: 3, ...inr(100n), addresses: [address({ latitude: 19.2, longitude: 72.9 })] },
      { dpd: null, ...inr(300n) },
      { dpd: 90, ...inr(200n), addresses: [address({ latitude: 19.0761, longitude: 72.8777 })] },
      { dpd: 0, ...inr(999n), currency: currency("AED"), addresses: [address({ latitude: 28.6, longitude: 77.2 })] },
    ]);
    const near = { latitude: 19.076, longitude: 72.8777 };
    expect(await order(me, { sort: "dpd" }, held)).toEqual([2, 0, 3, 1]);
    expect(await order(me, { sort: "amount" }, held)).toEqual([3, 1, 2, 0]);
    expect(await order(me, { sort: "near", near }, held)).toEqual([2, 0, 3, 1]);
    expect(await order(me, { sort: "near", near: { ...near, radiusM: 20_000 } }, held)).toEqual([2, 0]);
  });

  test("each case comes once while others come, go and move between the pages", async () => {
    for (const sort of ["priority", "dpd", "amount"] as const) {
      const { me, held } = await aPortfolio(
        Array.from({ length: 9 }, (_, n) => ({ dpd: n, outstandingMinor: BigInt(n) * 100n })),
      );
      const first = await list(me, { first: 3, sort });
      const shown = first.items.map(({ case: { id } }) => id);
      expect(shown).toEqual([8, 7, 6].map((n) => held[n]!.id));
      // One that was shown falls to the end, the next one is taken away, a new one goes to the very top.
      const [moved, taken] = [held[7]!, held[5]!];
      await write([
        { ...moved, dpd: 0, outstandingMinor: 1n },
        { ...taken, assignedFieldPartnerId: newId() },
      ]);
      await store([holding(me, { dpd: 99, outstandingMinor: 9_900n })]);
      const rest = (await allPages(me, { first: 3, sort, after: first.items.at(-1)!.cursor })).flat();
      expect(rest.filter((id) => id !== moved.id)).toEqual([4, 3, 2, 1, 0].map((n) => held[n]!.id));
    }
  });

  test("the days of the first page order the pages after it, also past midnight", async () => {
    const { me, held } = await aPortfolio([{ dpd: 1 }, { dpd: 2 }, { dpd: 3 }]);
    await promise(held[0]!, "2026-11-21");
    const first = await list(me, { first: 2 });
    const tomorrow = new Date("2026-11-21T10:00:00Z");
    const second = await list(me, { first: 2, after: first.items.at(-1)!.cursor }, tomorrow);
    expect([...first.items, ...second.items].map(({ case: { id } }) => id)).toEqual([2, 1, 0].map((n) => held[n]!.id));
    expect((await list(me, { first: 1 }, tomorrow)).items[0]!.case.id).toBe(held[0]!.id);
  });
});

describe("near a place", () => {
  test.each([
    [19.076, 72.8777, 28.6139, 77.209, 1_148_094],
    [0, 179.9, 0, -179.9, 22_239],
    [89.9, 0, 89.9, 180, 22_239],
    [-33.8688, 151.2093, -33.8688, 151.2093, 0],
  ])("from %d, %d to %d, %d are %d metres", async (latitude, longitude, toLatitude, toLongitude, distanceM) => {
    const { me } = await aPortfolio([{ addresses: [address({ latitude: toLatitude, longitude: toLongitude })] }]);
    const at = async (near: object) => (await list(me, { near: { latitude, longitude, ...near } })).items;
    const [found] = await at({ radiusM: distanceM + 100 });
    expect(Math.abs(found!.case.distanceM! - distanceM)).toBeLessThanOrEqual(distanceM / 1_000);
    expect(await at({ radiusM: Math.max(distanceM - 2_000, 0) })).toHaveLength(distanceM === 0 ? 1 : 0);
  });

  test("a place is the first address; without one there is no distance, and nothing within a radius", async () => {
    const second = [address({ city: "Pune" }), address({ latitude: 1, longitude: 1 })];
    const { me } = await aPortfolio([{}, { addresses: second }]);
    const near = { latitude: 1, longitude: 1 };
    expect((await list(me, { near })).items.map(({ case: { distanceM } }) => distanceM)).toEqual([null, null]);
    expect((await list(me, { near: { ...near, radiusM: 1_000_000 } })).items).toEqual([]);
  });
});

describe("a cursor", () => {
  test("of another sort, filter, search or place is refused as that", async () => {
    const { me } = await aPortfolio([{}, {}]);
    const { cursor } = (await list(me, { first: 1, filter: { workable: true } })).items[0]!;
    const others: Partial<CaseListRequest>[] = [
      {},
      { filter: { workable: false } },
      { filter: { workable: true }, sort: "dpd" },
      { filter: { workable: true }, search: "rao" },
      { filter: { workable: true }, near: { latitude: 1, longitude: 1 } },
    ];
    for (const other of others) {
      await expect(list(me, { ...other, after: cursor })).rejects.toThrow(CursorOfAnotherListError);
    }
    expect((await list(me, { filter: { workable: true }, after: cursor })).items).toHaveLength(1);
  });

  test.each(["", "x", "%%%", encodeCursor({ id: newId() }), encodeCursor({ id: "1' or '1'='1" })])(
    "is not %j",
    async (after) => {
      await expect(list(newId(), { after })).rejects.toThrow(InvalidCursorError);
    },
  );
});

describe("a case that ended", () => {
  const ended = { status: "closed", closeReason: "withdrawn", dpd: 40, borrowerName: "Zoya Khan" } as const;
  const place = [address({ city: "Pune", postalCode: "411001", latitude: 1, longitude: 1 })];

  test("shows next to nothing after seven days, in lists and by its id", async () => {
    const { me, held } = await aPortfolio([
      { ...ended, addresses: place, closedAt: new Date("2026-11-13T10:00:00.001Z") },
      { ...ended, addresses: place, closedAt: new Date("2026-11-13T10:00:00Z") },
    ]);
    const [fresh, old] = held as [ImportedCase, ImportedCase];
    const byId = await ownCasesByIds(database.em(), me, [fresh.id, old.id], NOW);
    expect(byId.get(fresh.id)).toMatchObject({ isShrunk: false, borrowerName: "Zoya Khan", dpd: 40 });
    const listed = (await list(me, { near: { latitude: 1, longitude: 1 } })).items.map((item) => item.case);
    for (const shown of [byId.get(old.id), listed.find(({ id }) => id === old.id)]) {
      expect(shown).toMatchObject({
        id: old.id,
        status: "closed",
        isShrunk: true,
        borrowerName: "",
        borrowerPhone: "",
      });
      expect(shown).toMatchObject({ sourceLoanNumber: "", addresses: [], dpd: null, outstandingMinor: 0n });
      expect(shown!.distanceM).toBeNull();
    }
  });

  test("is not found any more by what it does not show", async () => {
    const { me } = await aPortfolio([{ ...ended, addresses: place, closedAt: new Date("2026-10-01T10:00:00Z") }]);
    const asked: Partial<CaseListRequest>[] = [
      { search: "zoya" },
      { filter: { cities: ["Pune"] } },
      { filter: { postalCodes: ["411001"] } },
      { filter: { buckets: ["31-60"] } },
      { filter: { promiseDue: {} } },
      { near: { latitude: 1, longitude: 1, radiusM: 10 } },
    ];
    for (const request of asked) expect((await list(me, request)).items).toEqual([]);
    expect((await list(me, { filter: { statuses: ["closed"], workable: false } })).items).toHaveLength(1);
  });
});

function list(me: string, request: Partial<CaseListRequest>, now = NOW) {
  const lenders = [{ id: lenderId, code: "ACME" }];
  const dayAt = (_lender: string, at: Date) => at.toISOString().slice(0, 10);
  return casesOfFieldPartner(database.em(), me, { first: 50, lenders, dayAt, ...request }, now);
}

/** The ids of every page, following the cursors. */
async function allPages(me: string, request: Partial<CaseListRequest>): Promise<string[][]> {
  const { items, hasNext } = await list(me, request);
  const ids = items.map(({ case: { id } }) => id);
  return hasNext ? [ids, ...(await allPages(me, { ...request, after: items.at(-1)!.cursor }))] : [ids];
}

async function order(me: string, request: Partial<CaseListRequest>, held: readonly ImportedCase[]): Promise<number[]> {
  const pages = await allPages(me, { ...request, first: 2 });
  return pages.flat().map((id) => held.findIndex((theCase) => theCase.id === id));
}

async function aPortfolio(cases: readonly Partial<ImportedCase>[]): Promise<{ me: string; held: ImportedCase[] }> {
  const me = newId();
  const held = cases.map((overrides) => holding(me, overrides));
  await store(held);
  return { me, held };
}

function holding(me: string, overrides: Partial<ImportedCase>): ImportedCase {
  const id = newId();
  const own = { id, lenderId, sourceLoanNumber: `LN-${id}-x`, status: "assigned", assignedFieldPartnerId: me } as const;
  return exampleCase({
    ...own,
    ...overrides,
    sourceLoanNumber: overrides.sourceLoanNumber ? `${id}${overrides.sourceLoanNumber}` : own.sourceLoanNumber,
  });
}

async function store(cases: readonly ImportedCase[]): Promise<void> {
  await transaction(database.em(), (tx) => insertCases(tx, cases, [], NOW));
}

async function write(cases: readonly ImportedCase[]): Promise<void> {
  await transaction(database.em(), async (tx) => writeImportedCases(tx, cases, NOW));
}

async function promise(theCase: ImportedCase, dueOn: string, state = "open"): Promise<void> {
  const visitId = newId();
  await database
    .em()
    .getConnection()
    .execute(
      `insert into cases.visit (lender_id, id, case_id, field_partner_id, started_at, start_received_at)
     values (?, ?, ?, ?, ?, ?)`,
      [lenderId, visitId, theCase.id, theCase.assignedFieldPartnerId, NOW, NOW],
    );
  await database
    .em()
    .getConnection()
    .execute(
      `insert into cases.promise (lender_id, id, case_id, visit_id, amount_minor, currency, due_on, state, created_at)
     values (?, ?, ?, ?, 100, 'INR', ?, ?, ?)`,
      [lenderId, newId(), theCase.id, visitId, dueOn, state, NOW],
    );
}

function address(parts: Partial<Address>): Address {
  const nothing = { line1: null, line2: null, landmark: null, city: null, district: null, state: null };
  return { ...nothing, postalCode: null, country: "IN", latitude: null, longitude: null, ...parts };
}

function idsOf(cases: readonly ImportedCase[]): Set<string> {
  return new Set(cases.map(({ id }) => id));
}
