import { createDatabase, migrate, newId, transaction } from "@collections/database";
import { testDatabase } from "@collections/testing";
import { afterAll, expect, test } from "vitest";
import { exampleCase } from "./example-case.ts";
import type { ImportedCase } from "./locked-case.ts";
import { encodeCursor, InvalidCursorError } from "./page.ts";
import {
  caseById,
  caseByLoan,
  caseCursor,
  caseOfFieldPartner,
  casesByIds,
  casesOfFieldPartner,
  ownCasesByIds,
} from "./read-cases.ts";
import { casesSchema } from "./schema.ts";
import { insertCases } from "./write-cases.ts";

const { url } = await testDatabase("cases", async (url) => void (await migrate({ url, schemas: [casesSchema] })));
const database = await createDatabase({ url, schemas: [casesSchema] });
afterAll(() => database.close());
const NOW = new Date("2026-11-20T10:00:00Z");

test("a loan is its current case; earlier cycles are found by their ids", async () => {
  const [old] = await store([exampleCase()]);
  const next = { ...old, id: newId(), cycle: 2 };
  await transaction(database.em(), (tx) => insertCases(tx, [next], [old], NOW));
  const { lenderId } = old;
  expect(await caseByLoan(database.em(), lenderId, old.sourceLoanNumber)).toMatchObject({ id: next.id, cycle: 2 });
  expect(await caseById(database.em(), { lenderId, caseId: old.id })).toMatchObject({ isCurrent: false });
  const keys = [old, next].map(({ id }) => ({ lenderId, caseId: id }));
  expect([...(await casesByIds(database.em(), keys)).keys()].sort()).toEqual([old.id, next.id].sort());
});

test("another lender's case is not there", async () => {
  const [stored] = await store([exampleCase()]);
  const stranger = { lenderId: newId(), caseId: stored.id };
  expect(await caseByLoan(database.em(), stranger.lenderId, stored.sourceLoanNumber)).toBeNull();
  expect(await caseById(database.em(), stranger)).toBeNull();
  expect(await casesByIds(database.em(), [stranger])).toEqual(new Map());
});

test("a field partner sees their own cases, newest first, page by page", async () => {
  const me = newId();
  const mine = await store(
    Array.from({ length: 5 }, () => exampleCase({ id: newId(), status: "assigned", assignedFieldPartnerId: me })),
  );
  await store([exampleCase({ status: "assigned", assignedFieldPartnerId: newId() })]);
  const ids: string[] = [];
  let after: string | undefined;
  for (const hasNext of [true, true, false]) {
    const page = await casesOfFieldPartner(database.em(), me, { first: 2, after });
    ids.push(...page.items.map(({ id }) => id));
    expect(page.hasNext).toBe(hasNext);
    after = caseCursor(page.items.at(-1) as { id: string });
  }
  expect(ids).toEqual(mine.map(({ id }) => id).reverse());
});

test("of many ids a field partner finds their own current cases", async () => {
  const me = newId();
  const [mine, theirs] = await store([
    exampleCase({ status: "assigned", assignedFieldPartnerId: me }),
    exampleCase({ status: "assigned", assignedFieldPartnerId: newId() }),
  ]);
  expect([...(await ownCasesByIds(database.em(), me, [mine.id, theirs.id, newId()])).keys()]).toEqual([mine.id]);
  expect(await ownCasesByIds(database.em(), me, [])).toEqual(new Map());
});

test("the list can be narrowed to states", async () => {
  const me = newId();
  const working = { status: "in_progress", assignedFieldPartnerId: me } as const;
  const [, wanted] = await store([
    exampleCase({ status: "assigned", assignedFieldPartnerId: me }),
    exampleCase(working),
  ]);
  const page = await casesOfFieldPartner(database.em(), me, { first: 10, statuses: ["in_progress"] });
  expect(page).toMatchObject({ items: [{ id: wanted?.id }], hasNext: false });
});

test("a case of another field partner is null", async () => {
  const me = newId();
  const [stored] = await store([exampleCase({ status: "assigned", assignedFieldPartnerId: me })]);
  expect(await caseOfFieldPartner(database.em(), me, stored.id)).toMatchObject({ id: stored.id });
  expect(await caseOfFieldPartner(database.em(), newId(), stored.id)).toBeNull();
});

test.each(["", "x", "%%%", Buffer.from("a/b").toString("base64url"), encodeCursor({ id: "1' or '1'='1" })])(
  "%j is no cursor",
  async (after) => {
    await expect(casesOfFieldPartner(database.em(), newId(), { first: 1, after })).rejects.toThrow(InvalidCursorError);
  },
);

async function store<const Cases extends readonly ImportedCase[]>(cases: Cases): Promise<Cases> {
  await transaction(database.em(), (tx) => insertCases(tx, cases, [], NOW));
  return cases;
}
