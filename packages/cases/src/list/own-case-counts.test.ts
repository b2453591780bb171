import { expect, test } from "vitest";
import { bucketOf } from "../case/case-details.ts";
import type { ImportedCase } from "../case/locked-case.ts";
import { type CaseListRequest, countCasesOfFieldPartner } from "./own-cases.ts";
import { casesDatabase } from "../../tests/cases-database.ts";
import { address, NOW, portfoliosIn, TODAY } from "../../tests/portfolios-example.ts";
import { blockedReason } from "./workable.ts";

const database = await casesDatabase();
const { hold, list, lenderId, promise } = portfoliosIn(database);

const LONG_AGO = new Date("2026-10-01T10:00:00Z");
const ENDED = { status: "closed", closedAt: LONG_AGO, closeReason: "withdrawn" } as const;
const PUNE = { latitude: 18.52, longitude: 73.8567 };

const CASES: readonly Partial<ImportedCase>[] = [
  { addresses: [address({ city: "Pune", ...PUNE })], dpd: 0 },
  { addresses: [address({ city: "PUNE" })], dpd: 45, borrowerName: "Asha Rao" },
  { addresses: [address({ city: "Nashik" })], bucket: "X" },
  { doNotContactUntil: "2026-12-01", dpd: 91 },
  { status: "on_hold", fieldWork: "blocked", blockedAt: NOW },
  { addresses: [address({ city: "Pune" })], ...ENDED },
];

test.each<[string, Partial<CaseListRequest>]>([
  ["without a filter", {}],
  ["for workable cases", { filter: { workable: true } }],
  ["for a city", { filter: { cities: ["pune"] } }],
  ["for two buckets", { filter: { buckets: ["31-60", "X"] } }],
  ["for promised days", { filter: { promiseDue: { from: "2026-11-21" } } }],
  ["for a search", { search: "asha" }],
  ["for a radius", { near: { ...PUNE, radiusM: 1_000 } }],
  ["for a lender without cases", { filter: { lenderCodes: ["BOLT"] } }],
])("the counts %s are those of the listed cases", async (_title, request) => {
  const { me, held } = await hold(CASES);
  await promise(held[0]!, TODAY);
  await promise(held[2]!, "2026-11-25");
  await promise(held[1]!, "2026-11-25", "kept");
  const promised = new Set([held[0]!.id, held[2]!.id]);
  const lenders = [{ id: lenderId, code: "ACME" }];
  const counts = await countCasesOfFieldPartner(database.em(), me, { lenders, dayAt: () => TODAY, ...request }, NOW);
  const { items } = await list(me, request);
  const expected = items.map(({ case: shown }) => ({
    lenderId,
    bucket: shown.isShrunk ? null : bucketOf(shown),
    city: shown.addresses[0]?.city ?? null,
    status: shown.status,
    isWorkable: blockedReason(shown, TODAY) === undefined,
    isPromised: promised.has(shown.id),
    count: 1,
  }));
  const sorted = (rows: readonly object[]) => rows.map((row) => JSON.stringify(row)).toSorted();
  expect(sorted(counts)).toEqual(sorted(expected));
});

test("equal cases are counted in one row, and cases of lenders that are blocked are not workable", async () => {
  const { me } = await hold(Array.from({ length: 7 }, () => ({ dpd: 5 })));
  const request = { lenders: [{ id: lenderId, code: "ACME" }], blockedLenderIds: [lenderId], dayAt: () => TODAY };
  const counts = await countCasesOfFieldPartner(database.em(), me, request, NOW);
  expect(counts).toEqual([expect.objectContaining({ count: 7, bucket: "1-30", isWorkable: false, isPromised: false })]);
});
