import { newId, transaction } from "@collections/database";
import { expect, test } from "vitest";
import { casesDatabase } from "../../tests/cases-database.ts";
import { exampleCase } from "../../tests/example-case.ts";
import type { ImportedCase } from "../case/locked-case.ts";
import { caseById, caseByLoan, caseOfFieldPartner } from "./read-cases.ts";
import { insertCases } from "../case/write-cases.ts";

const database = await casesDatabase();
const NOW = new Date("2026-11-20T10:00:00Z");

test("caseByLoan returns only the current case of a loan, but caseById also finds cases of earlier cycles", async () => {
  const [old] = await store([exampleCase()]);
  const next = { ...old, id: newId(), cycle: 2 };
  await transaction(database.em(), (tx) => insertCases(tx, [next], [old], NOW));
  const { lenderId } = old;
  expect(await caseByLoan(database.em(), lenderId, old.sourceLoanNumber)).toMatchObject({ id: next.id, cycle: 2 });
  expect(await caseById(database.em(), { lenderId, caseId: old.id })).toMatchObject({ isCurrent: false });
});

test("a case of another lender is not found", async () => {
  const [stored] = await store([exampleCase()]);
  const stranger = { lenderId: newId(), caseId: stored.id };
  expect(await caseByLoan(database.em(), stranger.lenderId, stored.sourceLoanNumber)).toBeNull();
  expect(await caseById(database.em(), stranger)).toBeNull();
});

test("caseOfFieldPartner returns null for a case of another field partner", async () => {
  const me = newId();
  const [stored] = await store([exampleCase({ status: "assigned", assignedFieldPartnerId: me })]);
  expect(await caseOfFieldPartner(database.em(), me, stored.id)).toMatchObject({ id: stored.id });
  expect(await caseOfFieldPartner(database.em(), newId(), stored.id)).toBeNull();
});

async function store<const Cases extends readonly ImportedCase[]>(cases: Cases): Promise<Cases> {
  await transaction(database.em(), (tx) => insertCases(tx, cases, [], NOW));
  return cases;
}
