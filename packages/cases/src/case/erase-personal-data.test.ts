import { firstIdAt, newId, transaction } from "@collections/database";
import { genericPlan } from "@collections/testing";
import { expect, test } from "vitest";
import { caseById, casesWithPersonalData, erasePersonalData, insertCases } from "../index.ts";
import { casesDatabase } from "../../tests/cases-database.ts";
import { exampleCase } from "../../tests/example-case.ts";
import { selectNotErased } from "./erase-personal-data.ts";
import type { ImportedCase } from "./locked-case.ts";

const database = await casesDatabase();
const NOW = new Date("2026-11-27T09:00:00Z");
const ENDED_AT = new Date("2025-11-01T09:00:00Z");
const END = { status: "closed", closeReason: "closed_by_operator", closedAt: ENDED_AT } as const;

async function aCase(fields: Partial<ImportedCase> = {}): Promise<ImportedCase> {
  const one = exampleCase({ id: newId(), borrowerEmail: "asha@example.com", metadata: { spouse: "Ravi" }, ...fields });
  await transaction(database.em(), (tx) => insertCases(tx, [one], [], NOW));
  return one;
}

test("an erasure with a time limit leaves out cases that are open, ended later, or are locked, and does not wait", async () => {
  const lenderId = newId();
  const [due, later, open, locked] = await Promise.all([
    aCase({ lenderId, ...END }),
    aCase({ lenderId, ...END, closedAt: NOW }),
    aCase({ lenderId }),
    aCase({ lenderId, ...END }),
  ]);
  const caseIds = [due, later, open, locked].map(({ id }) => id);
  const erase = () =>
    transaction(database.em(), (tx) => erasePersonalData(tx, { lenderId, caseIds, endedBy: ENDED_AT }, NOW));
  const holder = await database.pool.connect();
  try {
    await holder.query("begin");
    await holder.query("select from cases.collection_case where id = $1 for no key update", [locked.id]);
    expect(await erase()).toEqual([due.id]);
    await holder.query("rollback");
  } finally {
    holder.release();
  }
  expect(await erase()).toEqual([locked.id]);
  expect(await caseById(database.em(), { lenderId, caseId: due.id })).toMatchObject({
    borrowerName: "",
    borrowerPhone: "",
    borrowerEmail: null,
    metadata: {},
    erasedAt: NOW,
    updatedAt: NOW,
    outstandingMinor: due.outstandingMinor,
  });
  expect(await caseById(database.em(), { lenderId, caseId: open.id })).toMatchObject({ borrowerName: "Asha Rao" });
});

test("casesWithPersonalData pages over the cases of one lender that were not erased", async () => {
  const lenderId = newId();
  const cases: ImportedCase[] = [];
  for (const fields of [END, {}, END]) cases.push(await aCase({ lenderId, ...fields }));
  await aCase();
  const list = (after?: string) => {
    const before = firstIdAt(new Date(Date.now() + 1_000));
    return casesWithPersonalData(database.em(), { lenderId, after, before, limit: 2 });
  };
  expect(await list()).toEqual(cases.slice(0, 2).map(({ id, closedAt }) => ({ id, closedAt })));
  const erased = await transaction(database.em(), (tx) =>
    erasePersonalData(tx, { lenderId, caseIds: [cases[0]!.id] }, NOW),
  );
  expect(erased).toEqual([cases[0]!.id]);
  expect((await list()).map(({ id }) => id)).toEqual(cases.slice(1).map(({ id }) => id));
  expect((await list(cases[1]!.id)).map(({ id }) => id)).toEqual([cases[2]!.id]);
});

test(
  "the search for cases to erase uses its index, even in a plan that was made on an empty table",
  { tags: "one-node-plan" },
  async () => {
    const plan = await genericPlan(database.pool, selectNotErased.text, "null, null, null, null");
    expect(plan).toMatch(/case_not_erased/);
    expect(plan).not.toContain("Seq Scan");
  },
);
