import { lockVisit, openPromisesOf, visitById } from "@collections/cases";
import { transaction } from "@collections/database";
import { dayIn } from "@collections/local-time";
import { currency } from "@collections/money";
import { describe, expect, test } from "vitest";
import {
  inTransaction,
  aCase,
  aFieldPartner,
  aLender,
  currentCase,
  ENVIRONMENT,
  eventsOfLoan,
  flowsDatabase,
  importRow,
} from "../../tests/fixture.ts";
import { completeVisit, MAX_NOTE_CHARS, type VisitToComplete } from "./complete-visit.ts";
import { queueCompletion, processQueuedRequests } from "../queued-requests.ts";
import { startVisit } from "./start-visit.ts";

const database = await flowsDatabase();
const context = { environment: ENVIRONMENT };
const [{ lender }, fieldPartner] = await Promise.all([aLender(database), aFieldPartner(database)]);

/** Creates a case with a visit that has started. */
async function aVisitedCase() {
  const theCase = await aCase(database, lender, { fieldPartner });
  const visitId = crypto.randomUUID();
  const start = { fieldPartnerId: fieldPartner.id, caseId: theCase.id, visitId, occurredAt: new Date() };
  expect(await inTransaction(database, startVisit, start, context)).toMatchObject({ kind: "started" });
  return { theCase, visitId };
}

function complete(visitId: string, given: Partial<VisitToComplete> = {}) {
  const end: VisitToComplete = {
    fieldPartnerId: fieldPartner.id,
    visitId,
    disposition: "NOT_AT_HOME",
    occurredAt: new Date("2024-11-20T10:00:00Z"),
    ...given,
  };
  return inTransaction(database, completeVisit, end, context);
}

const DAY_MS = 24 * 60 * 60_000;

/** Returns a day in the lender's time zone. */
function dayOf(time: Date, laterByDays: number): string {
  return dayIn(lender.timeZone, new Date(time.getTime() + laterByDays * DAY_MS));
}

const PROMISE = { amountMinor: 125_000n, currency: currency("INR"), dueOn: "2026-12-01" };

describe("the end of a visit", () => {
  test("is stored with its disposition, and emits visit.completed", async () => {
    const { theCase, visitId } = await aVisitedCase();
    expect(await complete(visitId, { note: "A neighbour says: back on Sunday." })).toMatchObject({
      kind: "completed",
      visit: { id: visitId, disposition: "NOT_AT_HOME", completedAt: new Date("2024-11-20T10:00:00Z") },
      case: { lastDisposition: "NOT_AT_HOME", status: "in_progress" },
    });
    expect((await eventsOfLoan(database, theCase)).at(-1)).toMatchObject({
      kind: "visit.completed",
      sequence: 4,
      data: {
        visitId: `vis_${visitId.replaceAll("-", "")}`,
        disposition: "NOT_AT_HOME",
        occurredAt: "2024-11-20T10:00:00.000Z",
      },
    });
  });

  test.each([
    ["30 days ahead", new Date(Date.now() + 30 * DAY_MS)],
    ["reset to 1970", new Date("1970-01-01T00:10:00Z")],
  ])("by a clock that is %s is recorded with its arrival, and the promise moves with it", async (_, occurredAt) => {
    const { theCase, visitId } = await aVisitedCase();
    const promise = { ...PROMISE, dueOn: dayOf(occurredAt, 3) };
    const outcome = await complete(visitId, { disposition: "PROMISE_TO_PAY", promise, occurredAt });
    expect(outcome).toMatchObject({ kind: "completed", visit: { startClockWrong: false, completionClockWrong: true } });
    const { completedAt, completionReceivedAt } = (await visitById(database.em(), lender.id, visitId))!;
    expect(completedAt).toEqual(completionReceivedAt);
    const promises = await openPromisesOf(database.em(), [{ lenderId: lender.id, caseId: theCase.id }]);
    expect(promises.get(theCase.id)).toMatchObject({ dueOn: dayOf(completedAt!, 3) });
  });

  test("stores a note unchanged, with line breaks, tabs and any script", async () => {
    const { visitId } = await aVisitedCase();
    const note = "घर पर नहीं।\r\n\tवापस: रविवार 🙏🏽\n";
    expect(await complete(visitId, { note })).toMatchObject({ kind: "completed", visit: { note } });
    expect(await visitById(database.em(), lender.id, visitId)).toMatchObject({ note });
  });

  test("stores a promise with its amount and day", async () => {
    const { theCase, visitId } = await aVisitedCase();
    await complete(visitId, { disposition: "PROMISE_TO_PAY", promise: PROMISE });
    const promises = await openPromisesOf(database.em(), [{ lenderId: lender.id, caseId: theCase.id }]);
    expect(promises.get(theCase.id)).toMatchObject({ ...PROMISE, visitId });
  });

  test("with a dispute puts the case on hold, and emits visit.completed before case.held", async () => {
    const { theCase, visitId } = await aVisitedCase();
    expect(await complete(visitId, { disposition: "DISPUTE" })).toMatchObject({
      case: { status: "on_hold", fieldWork: "blocked" },
    });
    expect((await eventsOfLoan(database, theCase)).slice(-2)).toMatchObject([
      { kind: "visit.completed", sequence: 4, status: "on_hold", data: { disposition: "DISPUTE" } },
      { kind: "case.held", sequence: 5, status: "on_hold", data: { reason: "dispute" } },
    ]);
  });

  test("that is reported several times, also concurrently, is stored once with one event", async () => {
    const { theCase, visitId } = await aVisitedCase();
    const outcomes = await Promise.all(Array.from({ length: 5 }, () => complete(visitId)));
    for (const outcome of [...outcomes, await complete(visitId)]) {
      expect(outcome).toMatchObject({ kind: "completed", visit: { disposition: "NOT_AT_HOME" } });
    }
    expect(await eventsOfLoan(database, theCase)).toHaveLength(4);
  });

  test("with another disposition than the first is a conflict and changes nothing, also concurrently", async () => {
    const { theCase, visitId } = await aVisitedCase();
    const outcomes = await Promise.all([complete(visitId), complete(visitId, { disposition: "REFUSED_TO_PAY" })]);
    const kept = outcomes.find(({ kind }) => kind === "completed");
    const refused = outcomes.find(({ kind }) => kind === "conflict");
    expect(kept).toBeDefined();
    expect(refused).toMatchObject({ visit: { disposition: kept && "visit" in kept && kept.visit.disposition } });
    expect(await eventsOfLoan(database, theCase)).toHaveLength(4);
  });

  test("is a conflict and returns the stored visit if an end with another disposition was queued first", async () => {
    const theCase = await aCase(database, lender, { fieldPartner });
    const own = { fieldPartnerId: fieldPartner.id, visitId: crypto.randomUUID() };
    const occurredAt = new Date();
    for (const disposition of ["NOT_AT_HOME", "REFUSED_TO_PAY"] as const) {
      await transaction(database.em(), async (tx) => {
        lockVisit(tx, own);
        await queueCompletion(tx, crypto.randomUUID(), { ...own, disposition, occurredAt });
      });
    }
    const processed = await transaction(database.em(), async (tx) => {
      lockVisit(tx, own);
      await startVisit(tx, { ...own, caseId: theCase.id, occurredAt }, context);
      return processQueuedRequests(tx, own, context);
    });
    expect(processed.map(({ outcome }) => outcome)).toMatchObject([
      { kind: "completed", visit: { disposition: "NOT_AT_HOME" } },
      { kind: "conflict", visit: { disposition: "NOT_AT_HOME" } },
    ]);
  });

  test("of an unknown visit or another field partner's visit is not found", async () => {
    const { visitId } = await aVisitedCase();
    const stranger = await aFieldPartner(database);
    expect(await complete(crypto.randomUUID())).toEqual({ kind: "not_found" });
    expect(await complete(visitId, { fieldPartnerId: stranger.id })).toEqual({ kind: "not_found" });
  });

  test.each([
    ["PROMISE_REQUIRED", { disposition: "PROMISE_TO_PAY" }],
    ["PROMISE_NOT_EXPECTED", { promise: PROMISE }],
    ["CURRENCY_MISMATCH", { disposition: "PROMISE_TO_PAY", promise: { ...PROMISE, currency: currency("USD") } }],
    ["AMOUNT_OUT_OF_RANGE", { disposition: "PROMISE_TO_PAY", promise: { ...PROMISE, amountMinor: 0n } }],
    ["INVALID_DATE", { disposition: "PROMISE_TO_PAY", promise: { ...PROMISE, dueOn: "2026-02-30" } }],
    [
      "INVALID_DATE",
      {
        disposition: "PROMISE_TO_PAY",
        promise: { ...PROMISE, dueOn: "2998-12-30" },
        occurredAt: new Date("2999-01-01T00:00:00Z"),
      },
    ],
    ["TOO_LONG", { note: "x".repeat(MAX_NOTE_CHARS + 1) }],
    ["INVALID_TEXT", { note: "Back on\u0000Sunday." }],
    ["INVALID_TEXT", { note: "Back on \u001b[31mSunday." }],
    ["INVALID_TEXT", { note: "Back on Sunday \ud83d" }],
  ] as const)("is refused with %s and does not end the visit", async (code, given) => {
    const { theCase, visitId } = await aVisitedCase();
    expect(await complete(visitId, given)).toMatchObject({ kind: "invalid", code });
    expect(await eventsOfLoan(database, theCase)).toHaveLength(3);
    expect(await complete(visitId)).toMatchObject({ kind: "completed" });
  });

  test.each([
    ["America/New_York", "2026-11-20T03:00:00Z", "2026-11-18", "2026-11-19"],
    ["Asia/Kolkata", "2026-11-20T19:00:00Z", "2026-11-20", "2026-11-21"],
  ])(
    "takes a promise for the lender's day in %s, and refuses one for the day before",
    async (timeZone, at, before, day) => {
      const { lender: elsewhere } = await aLender(database, { timeZone });
      const theCase = await aCase(database, elsewhere, { fieldPartner });
      const visitId = crypto.randomUUID();
      const occurredAt = new Date(at);
      const start = { fieldPartnerId: fieldPartner.id, caseId: theCase.id, visitId, occurredAt };
      await inTransaction(database, startVisit, start, context);
      const promised = (dueOn: string) =>
        ({ disposition: "PROMISE_TO_PAY", occurredAt, promise: { ...PROMISE, dueOn } }) as const;
      expect(await complete(visitId, promised(before))).toMatchObject({ kind: "invalid", code: "INVALID_DATE" });
      expect(await complete(visitId, promised(day))).toMatchObject({ kind: "completed" });
    },
  );

  test("that arrives after the loan's next cycle has started emits its event in the new cycle and does not change the new case", async () => {
    const { theCase, visitId } = await aVisitedCase();
    const { sourceLoanNumber, borrowerName, borrowerPhone } = theCase;
    await importRow(database, lender, { sourceLoanNumber, action: "withdraw" });
    await importRow(database, lender, { sourceLoanNumber, borrowerName, borrowerPhone, outstandingAmount: 900 });
    expect(await complete(visitId)).toMatchObject({ kind: "completed", case: { id: theCase.id, cycle: 1 } });
    const events = await eventsOfLoan(database, theCase);
    expect(events.map(({ sequence }) => sequence)).toEqual([1, 2, 3, 4, 5, 6]);
    expect(events.at(-1)).toMatchObject({
      kind: "visit.completed",
      cycle: 2,
      status: "new",
      outstandingAfter: 900,
    });
    expect(await currentCase(database, lender, sourceLoanNumber)).toMatchObject({ cycle: 2, sequence: 6n });
  });
});
