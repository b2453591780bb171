import { newId, transaction } from "@collections/database";
import { currency } from "@collections/money";
import { expect, test } from "vitest";
import { completeVisit, type VisitCompletion } from "./complete-visit.ts";
import { casesDatabase } from "../../tests/cases-database.ts";
import { exampleCase } from "../../tests/example-case.ts";
import { lockCase } from "../case/lock-cases.ts";
import type { LockedCase } from "../case/locked-case.ts";
import { encodeCursor, InvalidCursorError } from "../list/page.ts";
import {
  countVisits,
  latestVisitsOf,
  openPromisesOf,
  visitById,
  visitCursor,
  visitOfFieldPartner,
  visitsOfCase,
} from "./read-visits.ts";
import { startVisit, type VisitStart } from "./start-visit.ts";
import { cameLate } from "./visit.ts";
import { insertCases, writeCaseStates } from "../case/write-cases.ts";

const database = await casesDatabase();
const ASHA = newId();
const RAVI = newId();
const NOW = new Date("2026-11-20T10:00:00Z");

test("the first visit makes the case in progress", async () => {
  const held = await assignedCase();
  const visitId = newId();
  const started = await start(held, { visitId, latitude: 18.5, longitude: 73.8, accuracyM: 12 });
  expect(started).toMatchObject({
    outcome: "started",
    visit: { id: visitId, caseId: held.id, fieldPartnerId: ASHA, startedAt: NOW, startReceivedAt: NOW, accuracyM: 12 },
    caseAfter: { status: "in_progress", workBegun: true, lastVisitId: visitId, sequence: 2n },
    events: [{ kind: "visit.started", sequence: 2n }],
  });
});

test("a repeated start returns the existing visit, even if the case has been put on hold since", async () => {
  const theCase = await assignedCase();
  const visitId = newId();
  await start(theCase, { visitId });
  await complete(theCase, { visitId, disposition: "DISPUTE" });
  expect(await start(theCase, { visitId })).toMatchObject({ outcome: "already_started", visit: { id: visitId } });
});

test("refuses a visit id that another field partner or another case uses", async () => {
  const [theCase, another] = [await assignedCase(), await assignedCase()];
  const visitId = newId();
  await start(theCase, { visitId });
  const taken = { outcome: "refused", code: "VISIT_ID_TAKEN" };
  expect(await start(theCase, { visitId, fieldPartnerId: RAVI })).toMatchObject(taken);
  expect(await start(another, { visitId })).toMatchObject(taken);
});

test("of two concurrent starts with the same visit id on two cases of a lender, only one succeeds", async () => {
  const lenderId = newId();
  const cases = [await assignedCase({ lenderId }), await assignedCase({ lenderId })];
  const visitId = newId();
  const outcomes = await Promise.all(cases.map(async (theCase) => (await start(theCase, { visitId })).outcome));
  expect(outcomes.sort()).toEqual(["refused", "started"]);
});

test("refuses a visit on a case of another field partner and on a case on hold", async () => {
  const theCase = await assignedCase();
  expect(await start(theCase, { fieldPartnerId: RAVI })).toMatchObject({ outcome: "refused", code: "NOT_ASSIGNED" });
  const visitId = newId();
  await start(theCase, { visitId });
  await complete(theCase, { visitId, disposition: "DISPUTE" });
  expect(await start(theCase, {})).toMatchObject({ outcome: "refused", code: "CASE_ON_HOLD" });
});

test("a visit that started before the hold is recorded even if it is reported during the hold, and the case stays on hold", async () => {
  const theCase = await assignedCase();
  const visitId = newId();
  await start(theCase, { visitId });
  await complete(theCase, { visitId, disposition: "DISPUTE" });
  const occurredAt = new Date(NOW.getTime() - 3_600_000);
  const late = await start(theCase, { occurredAt });
  expect(late).toMatchObject({ outcome: "started", caseAfter: { status: "on_hold" } });
  expect(cameLate(occurredAt, NOW)).toBe(true);
});

test("completeVisit stores the end of a visit and emits its event once", async () => {
  const theCase = await assignedCase();
  const visitId = newId();
  await start(theCase, { visitId });
  const done = await complete(theCase, { visitId, disposition: "NOT_AT_HOME", note: "dog" });
  expect(done).toMatchObject({
    outcome: "completed",
    visit: { disposition: "NOT_AT_HOME", completedAt: NOW, completionReceivedAt: NOW, note: "dog" },
    promise: undefined,
    caseAfter: { lastDisposition: "NOT_AT_HOME", status: "in_progress" },
    events: [{ kind: "visit.completed", sequence: 3n }],
  });
  expect(await visitById(database.em(), theCase.lenderId, visitId)).toMatchObject({ disposition: "NOT_AT_HOME" });
  expect(await complete(theCase, { visitId, disposition: "NOT_AT_HOME" })).toMatchObject({
    outcome: "already_completed",
  });
  expect(await complete(theCase, { visitId, disposition: "SHIFTED" })).toMatchObject({
    outcome: "ended_otherwise",
    visit: { disposition: "NOT_AT_HOME" },
  });
});

test("a dispute puts the case on hold", async () => {
  const theCase = await assignedCase();
  const visitId = newId();
  await start(theCase, { visitId });
  expect(await complete(theCase, { visitId, disposition: "DISPUTE" })).toMatchObject({
    caseAfter: { status: "on_hold", statusReason: "dispute", fieldWork: "blocked" },
    events: [
      { kind: "visit.completed", sequence: 3n },
      { kind: "case.held", sequence: 4n },
    ],
  });
});

test("a dispute on a case that is already on hold emits only the event of the visit", async () => {
  const theCase = await assignedCase();
  const [first, second] = [newId(), newId()];
  await start(theCase, { visitId: first });
  await start(theCase, { visitId: second });
  await complete(theCase, { visitId: first, disposition: "DISPUTE" });
  const again = await complete(theCase, { visitId: second, disposition: "DISPUTE" });
  expect(again).toMatchObject({ events: [{ kind: "visit.completed", sequence: 6n }] });
});

test("a newer promise replaces the open promise", async () => {
  const theCase = await assignedCase();
  const key = { lenderId: theCase.lenderId, caseId: theCase.id };
  for (const amountMinor of [100n, 200n]) {
    const visitId = newId();
    await start(theCase, { visitId });
    const promise = { amountMinor, currency: theCase.currency, dueOn: "2026-11-25" };
    const done = await complete(theCase, { visitId, disposition: "PROMISE_TO_PAY", promise });
    expect(done).toMatchObject({ outcome: "completed", promise: { ...promise, state: "open", visitId } });
  }
  const open = await openPromisesOf(database.em(), [key, { ...key, lenderId: newId() }]);
  expect(open.get(theCase.id)).toMatchObject({ amountMinor: 200n, dueOn: "2026-11-25" });
  const { rows } = await database.pool.query("select state from cases.promise where case_id = $1 order by id", [
    theCase.id,
  ]);
  expect(rows).toEqual([{ state: "replaced" }, { state: "open" }]);
});

const terms = { amountMinor: 100n, currency: currency("INR"), dueOn: "2026-11-25" };

test.each([
  ["PROMISE_TO_PAY", undefined, "PROMISE_REQUIRED"],
  ["NOT_AT_HOME", terms, "PROMISE_NOT_EXPECTED"],
  ["PROMISE_TO_PAY", { ...terms, currency: currency("USD") }, "CURRENCY_MISMATCH"],
  ["PROMISE_TO_PAY", { ...terms, amountMinor: 0n }, "AMOUNT_OUT_OF_RANGE"],
  ["PROMISE_TO_PAY", { ...terms, dueOn: "2026-02-30" }, "INVALID_DATE"],
  ["PROMISE_TO_PAY", { ...terms, dueOn: "2026-11-18" }, "INVALID_DATE"],
] as const)(
  "refuses %s with an invalid or missing promise, and does not end the visit (%#)",
  async (disposition, promise, code) => {
    const theCase = await assignedCase();
    const visitId = newId();
    await start(theCase, { visitId });
    expect(await complete(theCase, { visitId, disposition, promise })).toMatchObject({ outcome: "refused", code });
    expect(await visitById(database.em(), theCase.lenderId, visitId)).toMatchObject({ disposition: null });
  },
);

test("a visit of another field partner or of another case is not found", async () => {
  const theCase = await assignedCase();
  const visitId = newId();
  await start(theCase, { visitId });
  const refused = { outcome: "refused", code: "VISIT_NOT_FOUND" };
  expect(await complete(theCase, { visitId, disposition: "OTHER", fieldPartnerId: RAVI })).toMatchObject(refused);
  expect(await complete(theCase, { visitId: newId(), disposition: "OTHER" })).toMatchObject(refused);
  expect(await complete(await assignedCase(), { visitId, disposition: "OTHER" })).toMatchObject(refused);
  expect(await visitOfFieldPartner(database.em(), RAVI, visitId)).toBeNull();
  expect(await visitOfFieldPartner(database.em(), ASHA, visitId)).toMatchObject({ caseId: theCase.id });
});

test("visitsOfCase returns the visits of a case in pages, latest first", async () => {
  const theCase = await assignedCase();
  const ids: string[] = [];
  for (const minute of [1, 2, 2, 3]) {
    const visitId = newId();
    ids.unshift(visitId);
    await start(theCase, { visitId }, new Date(NOW.getTime() + minute * 60_000));
  }
  const key = { lenderId: theCase.lenderId, caseId: theCase.id };
  const first = await visitsOfCase(database.em(), key, { first: 2 });
  const after = visitCursor(first.items[1] as { startReceivedAt: Date; id: string });
  const second = await visitsOfCase(database.em(), key, { first: 2, after });
  expect([...first.items, ...second.items].map(({ id }) => id)).toEqual(ids);
  expect([first.hasNext, second.hasNext]).toEqual([true, false]);
  for (const instant of ["-271821-04-20T00:00:00.000Z", "+275760-09-13T00:00:00.000Z", "1899-12-31T23:59:59.999Z"]) {
    const farOff = encodeCursor({ at: new Date(instant), id: theCase.id });
    await expect(visitsOfCase(database.em(), key, { first: 2, after: farOff })).rejects.toThrow(InvalidCursorError);
  }
  await expect(visitsOfCase(database.em(), key, { first: 2, after: "x" })).rejects.toThrow(InvalidCursorError);
});

test("latestVisitsOf returns the first page of the visits of several cases", async () => {
  const [theCase, untouched] = [await assignedCase(), await assignedCase()];
  for (const minute of [1, 2, 3]) await start(theCase, {}, new Date(NOW.getTime() + minute * 60_000));
  const keys = [theCase, untouched].map(({ lenderId, id }) => ({ lenderId, caseId: id }));
  const pages = await latestVisitsOf(database.em(), keys, 2);
  const alone = await visitsOfCase(database.em(), keys[0]!, { first: 2 });
  expect(pages.get(theCase.id)).toEqual({ hasNext: true, items: alone.items.map((visit) => ({ ...visit })) });
  expect(pages.get(untouched.id)).toEqual({ hasNext: false, items: [] });
});

test("countVisits counts the visits of a field partner that started in a period", async () => {
  const me = newId();
  const theCase = await assignedCase({ assignedFieldPartnerId: me });
  for (const hour of [7, 8, 9, 10]) {
    await start(theCase, {
      fieldPartnerId: me,
      occurredAt: new Date(`2026-11-20T${String(hour).padStart(2, "0")}:00:00Z`),
    });
  }
  const span = { from: new Date("2026-11-20T08:00:00Z"), to: new Date("2026-11-20T10:00:00Z") };
  expect(await countVisits(database.em(), me, span)).toBe(2);
  expect(await countVisits(database.em(), newId(), span)).toBe(0);
});

async function assignedCase(fields: { lenderId?: string; assignedFieldPartnerId?: string } = {}): Promise<LockedCase> {
  const theCase = exampleCase({ status: "assigned", assignedFieldPartnerId: ASHA, ...fields });
  await transaction(database.em(), (tx) => insertCases(tx, [theCase], [], NOW));
  return theCase;
}

/** Does what the flow does: locks the case, starts the visit and writes the case. */
function start({ lenderId, id }: LockedCase, visit: Partial<VisitStart>, now = NOW) {
  return transaction(database.em(), async (tx) => {
    const locked = (await lockCase(tx, { lenderId, caseId: id })) as LockedCase;
    const defaults = { visitId: newId(), fieldPartnerId: ASHA, occurredAt: NOW };
    const started = await startVisit(tx, locked, { ...defaults, ...visit }, now);
    if (started.outcome === "started") writeCaseStates(tx, [started.caseAfter], now);
    return started;
  });
}

function complete(
  { lenderId, id }: LockedCase,
  visit: Pick<VisitCompletion, "visitId" | "disposition"> & Partial<VisitCompletion>,
) {
  return transaction(database.em(), async (tx) => {
    const locked = (await lockCase(tx, { lenderId, caseId: id })) as LockedCase;
    const done = await completeVisit(tx, locked, { fieldPartnerId: ASHA, occurredAt: NOW, ...visit }, NOW);
    if (done.outcome === "completed") writeCaseStates(tx, [done.caseAfter], NOW);
    return done;
  });
}
