import { newId, query, statement, transaction } from "@collections/database";
import { beforeAll, describe, expect, test } from "vitest";
import { casesDatabase } from "../../tests/cases-database.ts";
import { exampleCase } from "../../tests/example-case.ts";
import { applyPayment } from "../case/apply-payment.ts";
import type { CaseStatus } from "../case/case-status.ts";
import type { ImportedCase, LockedCase } from "../case/locked-case.ts";
import { transition, type Trigger } from "../case/transitions.ts";
import { insertCases, writeCases, writeCaseStates } from "../case/write-cases.ts";
import { keepRareStatuses, RARE_UP_TO } from "./keep-rare-statuses.ts";

const database = await casesDatabase();
const NOW = new Date("2026-11-20T10:00:00Z");
const LATER = new Date("2026-11-20T10:30:00Z");

const insertAll = statement(
  "test.insert-cases-of-status",
  `insert into cases.collection_case (lender_id, id, source_loan_number, cycle, is_current, status, field_work, work_begun,
     settled_by_lender, tags, currency, placed_minor, outstanding_minor, total_collected_minor, excess_minor, borrower_name,
     borrower_phone, alternate_phones, addresses, consent, metadata, sequence, created_at, updated_at)
   select $1::uuid, gen_random_uuid(), $2::text || n, 1, true, $2::text, 'open', false, false, '{}', 'INR', 1, 0, 0, 0, 'Asha',
     '+919800000001', '{}', '[]', '{}', '{}', 1, now(), now()
   from generate_series(1, $3::integer) n`,
);
const selectRare = statement(
  "test.rare-statuses",
  "select status, complete from cases.rare_status where lender_id = $1 order by status",
);
const selectListed = statement(
  "test.rare-cases",
  "select case_id as id, status from cases.rare_case where lender_id = $1 order by status, case_id",
);
const selectOfStatus = statement(
  "test.cases-of-status",
  "select id, status from cases.collection_case where lender_id = $1 and status = $2 and is_current order by id",
);

const rareOf = (lenderId: string) =>
  query<{ status: CaseStatus; complete: boolean }>(database.em(), selectRare, [lenderId]);
const listedOf = (lenderId: string) =>
  query<{ id: string; status: CaseStatus }>(database.em(), selectListed, [lenderId]);
const keep = (lenderId: string, now: Date) => keepRareStatuses(database.em(), lenderId, now);

/** Inserts a lender's cases with common and rare statuses, and returns the lender's id. */
async function lenderWith(counts: Readonly<Partial<Record<CaseStatus, number>>>): Promise<string> {
  const lenderId = newId();
  for (const [status, count] of Object.entries(counts))
    await query(database.em(), insertAll, [lenderId, status, count]);
  return lenderId;
}

async function inserted(lenderId: string): Promise<ImportedCase> {
  const theCase = exampleCase({ lenderId });
  await transaction(database.em(), (tx) => insertCases(tx, [theCase], [], NOW));
  return theCase;
}

async function moved(theCase: LockedCase, trigger: Trigger): Promise<LockedCase> {
  const verdict = transition(theCase, trigger, NOW);
  if (!verdict.allowed) throw new Error(verdict.refusal.detail);
  await transaction(database.em(), async (tx) => writeCaseStates(tx, [verdict.caseAfter], NOW));
  return verdict.caseAfter;
}

async function paid(theCase: LockedCase, amountMinor: bigint): Promise<LockedCase> {
  const { caseAfter } = applyPayment(theCase, { amountMinor, paidAt: NOW }, NOW);
  await transaction(database.em(), async (tx) => writeCases(tx, [caseAfter], NOW));
  return caseAfter;
}

const assign: Trigger = { kind: "assign", fieldPartnerId: newId() };

describe("the rare statuses of a lender", () => {
  test("are none if the lender has 20,000 cases or fewer", async () => {
    const lenderId = await lenderWith({ collected: 19_990, assigned: 5 });
    await keep(lenderId, NOW);
    await keep(lenderId, LATER);
    expect([await rareOf(lenderId), await listedOf(lenderId)]).toEqual([[], []]);
  });

  test("are complete after half an hour, with the cases from before", async () => {
    const lenderId = await lenderWith({ closed: 9_000, in_progress: 11_000, assigned: 5 });
    await keep(lenderId, NOW);
    const incomplete = [
      { status: "assigned", complete: false },
      { status: "collected", complete: false },
    ];
    expect(await rareOf(lenderId)).toEqual(incomplete);
    await keep(lenderId, new Date(LATER.getTime() - 1));
    expect([await rareOf(lenderId), await listedOf(lenderId)]).toEqual([incomplete, []]);
    await keep(lenderId, LATER);
    expect(await rareOf(lenderId)).toEqual(incomplete.map((rare) => ({ ...rare, complete: true })));
    expect(await listedOf(lenderId)).toEqual(await query(database.em(), selectOfStatus, [lenderId, "assigned"]));
  });

  test("lose a status that has become common", async () => {
    const lenderId = await lenderWith({ closed: 20_000, assigned: 5 });
    await keep(lenderId, NOW);
    await keep(lenderId, LATER);
    await query(database.em(), insertAll, [lenderId, "collected", RARE_UP_TO + 1]);
    await keep(lenderId, LATER);
    expect((await rareOf(lenderId)).map(({ status }) => status)).toEqual(["assigned", "in_progress"]);
    expect((await listedOf(lenderId)).map(({ status }) => status)).toEqual(Array(5).fill("assigned"));
  });

  test("are the same when two processes look for them at once", async () => {
    const lenderId = await lenderWith({ closed: 20_001, assigned: 5 });
    await Promise.all([keep(lenderId, NOW), keep(lenderId, NOW)]);
    await Promise.all([keep(lenderId, LATER), keep(lenderId, LATER)]);
    const complete = ["assigned", "collected", "in_progress"].map((status) => ({ status, complete: true }));
    expect(await rareOf(lenderId)).toEqual(complete);
    expect(await listedOf(lenderId)).toHaveLength(5);
  });
});

describe("the cases of a rare status", () => {
  let lenderId: string;

  beforeAll(async () => {
    lenderId = await lenderWith({ closed: 20_001 });
    await keep(lenderId, NOW);
  });

  async function statusesOf({ id }: LockedCase): Promise<string[]> {
    return (await listedOf(lenderId)).filter((one) => one.id === id).map(({ status }) => status);
  }

  test("follow assignments, payments and holds", async () => {
    const assigned = await moved(await inserted(lenderId), assign);
    expect(await statusesOf(assigned)).toEqual(["assigned"]);
    const begun = await paid(assigned, 1n);
    expect(await statusesOf(begun)).toEqual(["in_progress"]);
    const collected = await paid(begun, 499_999n);
    expect(await statusesOf(collected)).toEqual(["collected"]);
    const held = await moved(await moved(await inserted(lenderId), assign), { kind: "hold", reason: "asked" });
    expect(await statusesOf(held)).toEqual([]);
  });

  test("do not include a case that a newer case replaces", async () => {
    const earlier = await moved(await inserted(lenderId), assign);
    const newer = exampleCase({ ...earlier, id: newId(), cycle: 2, status: "assigned" });
    await transaction(database.em(), (tx) => insertCases(tx, [newer], [earlier], NOW));
    expect([await statusesOf(earlier), await statusesOf(newer)]).toEqual([[], ["assigned"]]);
  });
});

test("a case of a lender without rare statuses is not listed", async () => {
  const lenderId = newId();
  const begun = await paid(await moved(await inserted(lenderId), assign), 1n);
  expect([begun.status, await listedOf(lenderId)]).toEqual(["in_progress", []]);
});
