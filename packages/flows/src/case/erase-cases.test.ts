import { type Case, visitOfFieldPartner } from "@collections/cases";
import { newId, transaction } from "@collections/database";
import type { FieldPartner } from "@collections/field-partners";
import { type Lender, updateLender } from "@collections/lenders";
import { sessionsWaitingForLocks } from "@collections/testing";
import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import {
  aCase,
  aFieldPartner,
  aLender,
  BORROWER,
  currentCase,
  ENVIRONMENT,
  flowsDatabase,
  importRow,
  VAULT,
} from "../../tests/fixture.ts";
import { aReversal, bookPayment, expectCorrectBooks, reversed } from "../../tests/reversals.ts";
import { queueCompletion } from "../queued-requests.ts";
import { listAudit } from "../read/audit.ts";
import { completeVisit } from "../visit/complete-visit.ts";
import { startVisit } from "../visit/start-visit.ts";
import { assignCase, closeCase, holdCase, releaseCase } from "./change-case.ts";
import { eraseCase, eraseEndedCases } from "./erase-cases.ts";

const database = await flowsDatabase();
const DAY_MS = 86_400_000;
const REASON = "the borrower asked for it";
const NOBODY = { borrowerName: "", borrowerPhone: "", addresses: [] };

let lender: Lender;
let fieldPartner: FieldPartner;

beforeAll(async () => {
  fieldPartner = await aFieldPartner(database);
});

beforeEach(async () => {
  ({ lender } = await aLender(database, { commissionPercent: "2.5" }));
});

const em = () => database.em();
const order = (loan: string) => ({ lender, loan, reason: REASON });
const erase = (loan: string, now?: Date) => eraseCase(em(), order(loan), now);
const inDays = (days: number) => new Date(Date.now() + days * DAY_MS);

async function aHeldCase(): Promise<Case> {
  const { sourceLoanNumber: loan } = await aCase(database, lender, { fieldPartner });
  await holdCase(em(), order(loan), ENVIRONMENT);
  return currentCase(database, lender, loan);
}

/** Ends a new case as an operator does, and returns it. */
async function anEndedCase(): Promise<Case> {
  const { sourceLoanNumber: loan } = await aCase(database, lender, { fieldPartner });
  await closeCase(em(), order(loan), ENVIRONMENT);
  return currentCase(database, lender, loan);
}

async function acts(act: string) {
  return listAudit(em(), { lenders: [lender], fieldPartner: null, act, limit: 50 });
}

describe("the erasure of one loan", () => {
  test("erases all cycles of the loan, and the audit records it once", async () => {
    const { sourceLoanNumber: loan } = await anEndedCase();
    await importRow(database, lender, { sourceLoanNumber: loan, ...BORROWER, outstandingAmount: 100 });
    await holdCase(em(), order(loan), ENVIRONMENT);
    const outcome = await erase(loan);
    expect(outcome).toMatchObject({ kind: "erased", caseIds: { length: 2 } });
    expect(await currentCase(database, lender, loan)).toMatchObject({
      ...NOBODY,
      cycle: 2,
      erasedAt: expect.any(Date),
    });
    expect(await erase(loan)).toEqual({ kind: "erased", caseIds: [] });
    expect(await acts("case.erased")).toMatchObject([{ reason: REASON, data: { loan, cases: { length: 2 } } }]);
  });

  test("is refused for an open case that is not on hold, and for an unknown loan, and changes nothing", async () => {
    const { sourceLoanNumber: loan } = await aCase(database, lender, { fieldPartner });
    expect(await erase(loan)).toEqual({ kind: "case_is_open" });
    expect(await erase("LN/none")).toEqual({ kind: "loan_not_found" });
    expect(await currentCase(database, lender, loan)).toMatchObject({
      borrowerName: BORROWER.borrowerName,
      erasedAt: null,
    });
    expect(await acts("case.erased")).toEqual([]);
  });

  test("twice at once erases once", async () => {
    const { sourceLoanNumber: loan } = await aHeldCase();
    const outcomes = await Promise.all([erase(loan), erase(loan), erase(loan), erase(loan)]);
    const erased = outcomes.map((outcome) => (outcome.kind === "erased" ? outcome.caseIds.length : -1));
    expect(erased.toSorted((a, b) => a - b)).toEqual([0, 0, 0, 1]);
    expect(await acts("case.erased")).toHaveLength(1);
  });

  test("during an import leaves no personal data, whichever commits first", async () => {
    const { sourceLoanNumber: loan } = await aHeldCase();
    for (let round = 1; round <= 5; round++) {
      const row = { sourceLoanNumber: loan, ...BORROWER, outstandingAmount: 5_000 + round };
      await Promise.all([erase(loan), importRow(database, lender, row)]);
      const theCase = await currentCase(database, lender, loan);
      expect(theCase).toMatchObject({ ...NOBODY, outstandingMinor: BigInt(5_000 + round) * 100n });
    }
  });
});

describe("an erased case", () => {
  test("stays without personal data while it is on hold; after the release the next row has them", async () => {
    const { sourceLoanNumber: loan } = await aHeldCase();
    await erase(loan);
    const row = { sourceLoanNumber: loan, ...BORROWER, outstandingAmount: 4_000 };
    await importRow(database, lender, row);
    expect(await currentCase(database, lender, loan)).toMatchObject({ ...NOBODY, outstandingMinor: 400_000n });
    await releaseCase(em(), order(loan), ENVIRONMENT);
    expect(await currentCase(database, lender, loan)).toMatchObject({ ...NOBODY, fieldWork: "open" });
    const visit = { visitId: newId(), fieldPartnerId: fieldPartner.id, occurredAt: new Date() };
    const { id: caseId } = await currentCase(database, lender, loan);
    const start = () => transaction(em(), (tx) => startVisit(tx, { ...visit, caseId }, { environment: ENVIRONMENT }));
    expect(await start()).toMatchObject({ kind: "not_workable", code: "ON_HOLD" });
    await importRow(database, lender, row);
    const { borrowerName, borrowerPhone } = BORROWER;
    expect(await currentCase(database, lender, loan)).toMatchObject({ borrowerName, borrowerPhone, erasedAt: null });
    expect(await start()).toMatchObject({ kind: "started" });
  });

  test("gets neither the note nor the place of a visit that a phone reports later", async () => {
    const { id: caseId, sourceLoanNumber: loan } = await aCase(database, lender, { fieldPartner });
    const visit = { visitId: newId(), fieldPartnerId: fieldPartner.id, occurredAt: new Date() };
    const at = { environment: ENVIRONMENT };
    await transaction(em(), (tx) =>
      startVisit(tx, { ...visit, caseId, location: { latitude: 18.5, longitude: 73.8, accuracyM: 9 } }, at),
    );
    await holdCase(em(), order(loan), ENVIRONMENT);
    await erase(loan);
    const end = { ...visit, disposition: "NOT_AT_HOME", note: "blue door", occurredAt: new Date() } as const;
    expect(await transaction(em(), (tx) => completeVisit(tx, end, at))).toMatchObject({ kind: "completed" });
    expect(await transaction(em(), (tx) => visitOfFieldPartner(tx, fieldPartner.id, visit.visitId))).toMatchObject({
      disposition: "NOT_AT_HOME",
      note: null,
      latitude: null,
      longitude: null,
      accuracyM: null,
    });
  });

  test("keeps no note that was queued before the start of its visit", async () => {
    const { sourceLoanNumber: loan } = await aCase(database, lender, { fieldPartner });
    const other = await aFieldPartner(database);
    const visit = { visitId: newId(), fieldPartnerId: fieldPartner.id, occurredAt: new Date() };
    const end = { ...visit, disposition: "NOT_AT_HOME", note: "blue door" } as const;
    const notOurs = { ...end, visitId: newId(), fieldPartnerId: other.id, note: "green door" };
    for (const queued of [end, notOurs]) {
      expect(await transaction(em(), (tx) => queueCompletion(tx, newId(), queued))).toBe(true);
    }
    await holdCase(em(), order(loan), ENVIRONMENT);
    await erase(loan);
    const { rows } = await database.pool.query<{ note: string | null }>(
      "select input ->> 'note' as note from cases.held_request where field_partner_id = any ($1) order by received_at",
      [[fieldPartner.id, other.id]],
    );
    expect(rows).toEqual([{ note: null }, { note: "green door" }]);
  });

  test("keeps queued notes that cannot be about it", async () => {
    const person = await aFieldPartner(database);
    const of = { fieldPartnerId: person.id, occurredAt: new Date(), disposition: "NOT_AT_HOME" } as const;
    const before = { ...of, visitId: newId(), note: "arrived before the case was assigned" };
    expect(await transaction(em(), (tx) => queueCompletion(tx, newId(), before))).toBe(true);
    const { sourceLoanNumber: loan } = await aCase(database, lender, { fieldPartner: person });
    const { id: otherCase } = await aCase(database, lender, { fieldPartner: person });
    const elsewhere = { ...of, visitId: newId(), note: "of a visit to another case" };
    const after = { ...of, visitId: newId(), note: "may be about this case" };
    for (const queued of [elsewhere, after]) {
      expect(await transaction(em(), (tx) => queueCompletion(tx, newId(), queued))).toBe(true);
    }
    // A process of an older version records a start without the requests that wait for it.
    await database.pool.query(
      `insert into cases.visit (lender_id, id, case_id, field_partner_id, started_at, start_received_at)
       values ($1, $2, $3, $4, now(), now())`,
      [lender.id, elsewhere.visitId, otherCase, person.id],
    );
    await holdCase(em(), order(loan), ENVIRONMENT);
    await erase(loan);
    const { rows } = await database.pool.query<{ note: string | null }>(
      "select input ->> 'note' as note from cases.held_request where field_partner_id = $1 order by received_at, visit_id",
      [person.id],
    );
    expect(rows.map(({ note }) => note)).toEqual([before.note, elsewhere.note, null]);
  });

  test("books a late payment, and the books hold", async () => {
    const { sourceLoanNumber: loan } = await anEndedCase();
    await erase(loan);
    await bookPayment(database, lender, { loan, reference: "LATE", amount: 100, paidAt: new Date() });
    expect(await currentCase(database, lender, loan)).toMatchObject({ totalCollectedMinor: 10_000n, ...NOBODY });
    await expectCorrectBooks(database, lender);
  });

  test("that a reversal opens again has the data of the next row, and is not erased until it has ended again", async () => {
    const { sourceLoanNumber: loan } = await aCase(database, lender, { fieldPartner, row: { outstandingAmount: 100 } });
    await bookPayment(database, lender, { loan, reference: "A", amount: 100, paidAt: new Date() });
    expect(await eraseEndedCases(em(), inDays(366))).toBeGreaterThan(0);
    await reversed(database, aReversal(lender, loan, "A"));
    expect(await currentCase(database, lender, loan)).toMatchObject({ ...NOBODY, closedAt: null });
    await importRow(database, lender, { sourceLoanNumber: loan, ...BORROWER, outstandingAmount: 100 });
    expect(await currentCase(database, lender, loan)).toMatchObject({
      borrowerName: BORROWER.borrowerName,
      erasedAt: null,
    });
    await eraseEndedCases(em(), inDays(800));
    expect(await currentCase(database, lender, loan)).toMatchObject({ borrowerName: BORROWER.borrowerName });
    await expectCorrectBooks(database, lender);
  });

  test("is assigned and closed as before", async () => {
    const { sourceLoanNumber: loan } = await aHeldCase();
    await erase(loan);
    await releaseCase(em(), order(loan), ENVIRONMENT);
    const { id } = await aFieldPartner(database);
    expect(await assignCase(em(), { ...order(loan), fieldPartnerId: id }, ENVIRONMENT)).toMatchObject({ kind: "done" });
    expect(await closeCase(em(), order(loan), ENVIRONMENT)).toMatchObject({ kind: "done" });
  });
});

describe("the erasure of ended cases", () => {
  test("erases a lender's cases after the lender's number of days, in batches, and records them in the audit", async () => {
    const ended = [];
    for (let index = 0; index < 205; index++) ended.push(await anEndedCase());
    const open = await aCase(database, lender);
    await transaction(em(), (tx) => updateLender(tx, VAULT, lender.id, { keepPersonalDataDays: 10 }));
    await eraseEndedCases(em(), inDays(9));
    expect(await acts("cases.erased")).toEqual([]);
    expect(await eraseEndedCases(em(), inDays(10), AbortSignal.abort())).toBe(0);
    expect(await eraseEndedCases(em(), inDays(10))).toBe(ended.length);
    for (const { sourceLoanNumber } of ended.slice(0, 3)) {
      expect(await currentCase(database, lender, sourceLoanNumber)).toMatchObject(NOBODY);
    }
    expect(await currentCase(database, lender, open.sourceLoanNumber)).toMatchObject({ erasedAt: null });
    const recorded = await acts("cases.erased");
    expect(recorded.map(({ data }) => (data["cases"] as string[]).length)).toEqual([5, 200]);
    expect(recorded.map(({ actor }) => actor)).toEqual(["service", "service"]);
    await eraseEndedCases(em(), inDays(11));
    expect(await acts("cases.erased")).toHaveLength(2);
  });

  test("that is stopped ends after the present batch, and a later run erases the other cases", async () => {
    // Erase the cases of the other tests, so that the present batch is one of this lender.
    await eraseEndedCases(em(), inDays(366));
    for (let index = 0; index < 210; index++) await anEndedCase();
    const holder = await database.pool.connect();
    await holder.query("begin; lock table cases.visit in share mode");
    const stopping = new AbortController();
    const running = eraseEndedCases(em(), inDays(366), stopping.signal);
    await expect.poll(() => sessionsWaitingForLocks(database.pool)).toBeGreaterThan(0);
    stopping.abort();
    await holder.query("rollback");
    holder.release();
    expect(await running).toBe(200);
    expect(await eraseEndedCases(em(), inDays(366))).toBe(10);
    const batches = (await acts("cases.erased")).map(({ data }) => data["cases"] as string[]);
    expect(batches.map(({ length }) => length)).toEqual([10, 200]);
    expect(new Set(batches.flat()).size).toBe(210);
  });

  test("by two workers at once erases each case once", async () => {
    const ended = [];
    for (let index = 0; index < 30; index++) ended.push((await anEndedCase()).id);
    const counts = await Promise.all([1, 2, 3].map(() => eraseEndedCases(em(), inDays(366))));
    expect(counts.reduce((sum, count) => sum + count, 0)).toBeGreaterThanOrEqual(30);
    const cases = (await acts("cases.erased")).flatMap(({ data }) => data["cases"] as string[]);
    expect(cases).toHaveLength(30);
    expect(new Set(cases).size).toBe(30);
  });
});
