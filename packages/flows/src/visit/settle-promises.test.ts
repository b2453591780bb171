import { openPromisesOf } from "@collections/cases";
import { AmountLiteral, currency } from "@collections/money";
import { afterAll, describe, expect, test } from "vitest";
import { cuttableWire } from "../../tests/cuttable-wire.ts";
import {
  inTransaction,
  aCase,
  aConfirmation,
  aFieldPartner,
  aLender,
  ENVIRONMENT,
  eventsOfLoan,
  flowsDatabaseUrl,
  importRow,
  openDatabase,
} from "../../tests/fixture.ts";
import { aReversal, reversed } from "../../tests/reversals.ts";
import { closeCase } from "../case/change-case.ts";
import { completeVisit } from "./complete-visit.ts";
import { confirmPayments } from "../payment/confirm-payments.ts";
import { settlePromises } from "./settle-promises.ts";
import { startVisit } from "./start-visit.ts";

const url = await flowsDatabaseUrl();
const [database, other] = [await openDatabase(url), await openDatabase(url)];
const deps = { database, environment: ENVIRONMENT };
const { lender } = await aLender(database, { timeZone: "Asia/Kolkata" });
const fieldPartner = await aFieldPartner(database);

// The promised day is 20 November in India. It ends at 18:30 UTC, and promises are decided one hour later.
const VISITED = new Date("2026-11-18T09:00:00Z");
const DUE_ON = "2026-11-20";
const LAST_MOMENT = new Date("2026-11-20T18:29:59.999Z");
const TOO_LATE = new Date("2026-11-20T18:30:00Z");
const NOT_YET = new Date("2026-11-20T19:29:59Z");
const DECIDED = new Date("2026-11-20T19:30:00Z");
const DAY_MS = 86_400_000;

type PromisedCase = Awaited<ReturnType<typeof aPromise>>;

interface PromiseFields {
  readonly dueOn?: string;
  readonly completedAt?: Date;
  /** When the service received the end of the visit. Default: `completedAt`. */
  readonly receivedAt?: Date;
}

/** Creates a case with a promise of ₹2,500, made at VISITED and due on DUE_ON. */
async function aPromise({ dueOn = DUE_ON, completedAt = VISITED, ...more }: PromiseFields = {}) {
  const theCase = await aCase(database, lender, { fieldPartner });
  const visitId = await promiseOn(theCase, dueOn, completedAt, more.receivedAt);
  return { ...theCase, visitId: `vis_${visitId.replaceAll("-", "")}` };
}

async function promiseOn(
  theCase: { id: string },
  dueOn: string,
  completedAt: Date,
  receivedAt = completedAt,
): Promise<string> {
  const visitId = crypto.randomUUID();
  const context = { environment: ENVIRONMENT, now: receivedAt };
  const visit = { fieldPartnerId: fieldPartner.id, visitId };
  const start = { ...visit, caseId: theCase.id, occurredAt: completedAt };
  expect(await inTransaction(database, startVisit, start, context)).toMatchObject({ kind: "started" });
  const promise = { amountMinor: 250_000n, currency: currency("INR"), dueOn };
  const end = { ...visit, disposition: "PROMISE_TO_PAY", occurredAt: completedAt, promise } as const;
  expect(await inTransaction(database, completeVisit, end, context)).toMatchObject({ kind: "completed" });
  return visitId;
}

async function pay(theCase: PromisedCase, amount: string, paidAt: Date): Promise<void> {
  const payment = aConfirmation(lender, theCase, { amount: new AmountLiteral(amount), paidAt });
  expect(await confirmPayments(database.em(), [payment], ENVIRONMENT)).toMatchObject([{ kind: "booked" }]);
}

async function promiseEventsOf(theCase: PromisedCase) {
  const events = await eventsOfLoan(database, theCase);
  expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_, index) => index + 1));
  return events.filter(({ kind }) => kind.startsWith("promise."));
}

async function stateOf({ id }: PromisedCase): Promise<string[]> {
  const text = "select state from cases.promise where case_id = $1 order by created_at, id";
  const { rows } = await database.pool.query<{ state: string }>(text, [id]);
  return rows.map(({ state }) => state);
}

test("a promise is decided once, one hour after the end of its day in the lender's time zone", async () => {
  const theCase = await aPromise();
  await settlePromises(deps, NOT_YET);
  expect(await promiseEventsOf(theCase)).toEqual([]);
  for (const at of [DECIDED, DECIDED, new Date("2027-01-01T00:00:00Z")]) await settlePromises(deps, at);
  expect(await promiseEventsOf(theCase)).toMatchObject([
    {
      kind: "promise.broken",
      status: "in_progress",
      outstandingAfter: 5_000,
      data: {
        visitId: theCase.visitId,
        promise: { amount: 2_500, currency: "INR", date: DUE_ON },
        paidAmount: 0,
      },
    },
  ]);
  expect(await stateOf(theCase)).toEqual(["broken"]);
});

test("settlePromises does not count a payment that was reversed before the promise is decided", async () => {
  const [bounced, partly] = [await aPromise(), await aPromise()];
  for (const [theCase, amount] of [
    [bounced, undefined],
    [partly, "100"],
  ] as const) {
    const paidAt = new Date("2026-11-19T09:00:00Z");
    const payment = aConfirmation(lender, theCase, { amount: new AmountLiteral("2500"), paidAt });
    await confirmPayments(database.em(), [payment], ENVIRONMENT);
    const given = { reversedAt: new Date("2026-11-20T09:00:00Z"), ...(amount !== undefined && { amount }) };
    await reversed(database, aReversal(lender, theCase.sourceLoanNumber, payment.reference, given));
  }
  await settlePromises(deps, DECIDED);
  expect(await promiseEventsOf(bounced)).toMatchObject([{ kind: "promise.broken", data: { paidAmount: 0 } }]);
  expect(await promiseEventsOf(partly)).toMatchObject([{ kind: "promise.broken", data: { paidAmount: 2_400 } }]);
});

describe("settlePromises", () => {
  test("adds up the payments from the time of the promise to the end of its day", async () => {
    const theCase = await aPromise();
    await pay(theCase, "1000", VISITED);
    await pay(theCase, "1500", LAST_MOMENT);
    await settlePromises(deps, DECIDED);
    expect(await promiseEventsOf(theCase)).toMatchObject([{ kind: "promise.kept", data: { paidAmount: 2_500 } }]);
    expect(await stateOf(theCase)).toEqual(["kept"]);
  });

  test("ignores payments from before the promise and from after the end of its day", async () => {
    const theCase = await aPromise();
    await pay(theCase, "1000", new Date(VISITED.getTime() - 1));
    await pay(theCase, "500", LAST_MOMENT);
    await pay(theCase, "2000", TOO_LATE);
    await settlePromises(deps, DECIDED);
    expect(await promiseEventsOf(theCase)).toMatchObject([{ kind: "promise.broken", data: { paidAmount: 500 } }]);
  });

  test("counts payments that were made while the phone had no network", async () => {
    const theCase = await aPromise({ receivedAt: LAST_MOMENT });
    await pay(theCase, "2500", VISITED);
    await settlePromises(deps, DECIDED);
    expect(await promiseEventsOf(theCase)).toMatchObject([{ kind: "promise.kept", data: { paidAmount: 2_500 } }]);
  });

  test("ignores payments made more than 7 days before the service received the promise, if the phone's clock is behind", async () => {
    const weeksBehind = new Date(VISITED.getTime() - 30 * DAY_MS);
    const theCase = await aPromise({ completedAt: weeksBehind, receivedAt: VISITED });
    await pay(theCase, "2000", new Date(VISITED.getTime() - 7 * DAY_MS - 1));
    await pay(theCase, "500", new Date(VISITED.getTime() - 7 * DAY_MS));
    await settlePromises(deps, DECIDED);
    expect(await promiseEventsOf(theCase)).toMatchObject([{ kind: "promise.broken", data: { paidAmount: 500 } }]);
  });

  test("leaves a promise broken if a confirmation arrives after `promise.broken`", async () => {
    const theCase = await aPromise();
    await settlePromises(deps, DECIDED);
    await pay(theCase, "2500", LAST_MOMENT);
    await settlePromises(deps, DECIDED);
    expect(await promiseEventsOf(theCase)).toMatchObject([{ kind: "promise.broken" }]);
    expect(await stateOf(theCase)).toEqual(["broken"]);
  });
});

describe("a promise of a case that has ended", () => {
  test("is kept when the lender settled the case", async () => {
    const theCase = await aPromise();
    const { sourceLoanNumber, borrowerName, borrowerPhone } = theCase;
    await importRow(database, lender, { sourceLoanNumber, borrowerName, borrowerPhone, outstandingAmount: 0 });
    await settlePromises(deps, DECIDED);
    expect(await promiseEventsOf(theCase)).toMatchObject([{ kind: "promise.kept", data: { paidAmount: 0 } }]);
  });

  test("emits no event if the case ended without full payment before the end of the day", async () => {
    const dueOn = "2099-12-31";
    const theCase = await aPromise({ dueOn });
    const order = { lender, loan: theCase.sourceLoanNumber, reason: "written off" };
    expect(await closeCase(database.em(), order, ENVIRONMENT)).toMatchObject({ kind: "done" });
    await settlePromises(deps, new Date("2100-01-01T12:00:00Z"));
    expect(await promiseEventsOf(theCase)).toEqual([]);
    expect(await stateOf(theCase)).toEqual(["replaced"]);
  });

  test("emits an event with the sequence and the amounts of the loan's new cycle, if there is one", async () => {
    const theCase = await aPromise();
    await pay(theCase, "5000", LAST_MOMENT);
    const { sourceLoanNumber, borrowerName, borrowerPhone } = theCase;
    await importRow(database, lender, { sourceLoanNumber, borrowerName, borrowerPhone, outstandingAmount: 700 });
    await settlePromises(deps, DECIDED);
    expect(await promiseEventsOf(theCase)).toMatchObject([
      { kind: "promise.kept", cycle: 2, outstandingAfter: 700, data: { paidAmount: 5_000 } },
    ]);
  });
});

test("a promise that was due 31 days ago is decided with an event", async () => {
  const theCase = await aPromise();
  await settlePromises(deps, new Date("2026-12-21T12:00:00Z"));
  expect(await promiseEventsOf(theCase)).toMatchObject([{ kind: "promise.broken" }]);
});

test("promises that were due more than 31 days ago are decided without an event", async () => {
  const [kept, broken] = [await aPromise(), await aPromise()];
  await pay(kept, "2500", LAST_MOMENT);
  const now = new Date("2026-12-22T12:00:00Z");
  await Promise.all([settlePromises(deps, now), settlePromises({ ...deps, database: other }, now)]);
  for (const [theCase, state] of [[kept, "kept"] as const, [broken, "broken"] as const]) {
    expect(await stateOf(theCase)).toEqual([state]);
    expect(await promiseEventsOf(theCase)).toEqual([]);
  }
  await settlePromises(deps, DECIDED);
  expect(await promiseEventsOf(broken)).toEqual([]);
});

test("a promise that was replaced by a later one emits no event", async () => {
  const theCase = await aPromise();
  await promiseOn(theCase, "2099-12-31", new Date(VISITED.getTime() + 60_000));
  await settlePromises(deps, DECIDED);
  expect(await promiseEventsOf(theCase)).toEqual([]);
  expect((await openPromisesOf(database.em(), [{ lenderId: lender.id, caseId: theCase.id }])).size).toBe(1);
});

test("two processes that decide at the same time emit one event for each promise", async () => {
  const cases = await Promise.all(Array.from({ length: 25 }, () => aPromise()));
  await Promise.all([
    settlePromises(deps, DECIDED),
    settlePromises({ ...deps, database: other }, DECIDED),
    ...cases.map((theCase, index) => (index % 2 === 0 ? pay(theCase, "100", LAST_MOMENT) : undefined)),
  ]);
  for (const theCase of cases) expect(await promiseEventsOf(theCase)).toHaveLength(1);
});

test("wherever a process dies between its queries, the promise stays open or is decided with one event", async () => {
  let sent = 0;
  for (let dieAt = 1; ; dieAt += 1) {
    const theCase = await aPromise();
    const wire = await cuttableWire(new URL(url));
    afterAll(() => wire.close());
    sent = 0;
    const dying = await openDatabase(wire.url, {
      onStatement() {
        sent += 1;
        if (sent === dieAt) wire.cut();
      },
    });
    await settlePromises({ ...deps, database: dying }, DECIDED).catch(() => undefined);
    const [state] = await stateOf(theCase);
    expect(await promiseEventsOf(theCase)).toHaveLength(state === "open" ? 0 : 1);
    await settlePromises(deps, DECIDED);
    expect(await promiseEventsOf(theCase)).toHaveLength(1);
    if (sent < dieAt) break;
  }
  expect(sent).toBeGreaterThan(6);
});
