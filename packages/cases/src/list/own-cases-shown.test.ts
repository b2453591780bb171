import { describe, expect, test } from "vitest";
import type { ImportedCase } from "../case/locked-case.ts";
import { type CaseListRequest, ownCasesByIds } from "./own-cases.ts";
import { casesDatabase } from "../../tests/cases-database.ts";
import { address, NOW, portfoliosIn } from "../../tests/portfolios-example.ts";

const database = await casesDatabase();
const { hold, list } = portfoliosIn(database);

describe("a list near a place", () => {
  test.each([
    [19.076, 72.8777, 28.6139, 77.209, 1_148_094],
    [0, 179.9, 0, -179.9, 22_239],
    [89.9, 0, 89.9, 180, 22_239],
    [-33.8688, 151.2093, -33.8688, 151.2093, 0],
  ])(
    "computes the distance from %d, %d to %d, %d as %d metres",
    async (latitude, longitude, toLatitude, toLongitude, distanceM) => {
      const { me } = await hold([{ addresses: [address({ latitude: toLatitude, longitude: toLongitude })] }]);
      const at = async (near: object) => (await list(me, { near: { latitude, longitude, ...near } })).items;
      const [found] = await at({ radiusM: distanceM + 100 });
      expect(Math.abs(found!.case.distanceM! - distanceM)).toBeLessThanOrEqual(distanceM / 1_000);
      expect(await at({ radiusM: Math.max(distanceM - 2_000, 0) })).toHaveLength(distanceM === 0 ? 1 : 0);
    },
  );

  test("omits a case whose first address has no place if a radius is given, and otherwise lists it", async () => {
    const second = [address({ city: "Pune" }), address({ latitude: 1, longitude: 1 })];
    const { me } = await hold([{}, { addresses: second }]);
    const near = { latitude: 1, longitude: 1 };
    expect((await list(me, { near })).items.map(({ case: { distanceM } }) => distanceM)).toEqual([null, null]);
    expect((await list(me, { near: { ...near, radiusM: 1_000_000 } })).items).toEqual([]);
  });
});

describe("a case that has ended", () => {
  const ended = { status: "closed", closeReason: "withdrawn", dpd: 40, borrowerName: "Zoya Khan" } as const;
  const place = [address({ city: "Pune", postalCode: "411001", latitude: 1, longitude: 1 })];

  test("shows no details after seven days, in lists and by its id", async () => {
    const { me, held } = await hold([
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

  test("is not found by details that it no longer shows", async () => {
    const { me } = await hold([{ ...ended, addresses: place, closedAt: new Date("2026-10-01T10:00:00Z") }]);
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
