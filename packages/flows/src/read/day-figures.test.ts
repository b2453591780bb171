import { type Booking, bookPayments, recordReversal, type Reversal } from "@collections/bookings";
import type { Case } from "@collections/cases";
import { firstIdAt, newId } from "@collections/database";
import type { Lender } from "@collections/lenders";
import { dayIn } from "@collections/local-time";
import { currency } from "@collections/money";
import { lockLinksOfCase, recordMinted, recordUnavailable, requestLink } from "@collections/payment-links";
import { expect, test } from "vitest";
import { aCase, aFieldPartner, aLender, ENVIRONMENT, flowsDatabase, inTransaction } from "../../tests/fixture.ts";
import { completeVisit } from "../visit/complete-visit.ts";
import { settlePromises } from "../visit/settle-promises.ts";
import { startVisit } from "../visit/start-visit.ts";
import { figuresOfDay, figuresOfLenders } from "./day-figures.ts";

const database = await flowsDatabase();
const asha = await aFieldPartner(database);
const ravi = await aFieldPartner(database);

/** Returns a local time in India. */
function inIndia(time: string): Date {
  return new Date(`${time}+05:30`);
}

/** Returns a new id that a process makes at a time. */
function idAt(time: Date): string {
  return firstIdAt(time).slice(0, -12) + newId().slice(-12);
}

/** Books a payment, and does not change the case. The amounts are in minor units. */
async function pay(theCase: Case, recordedAt: Date, amountMinor: bigint, excessMinor = 0n): Promise<Booking> {
  const { lenderId, id: caseId, sourceLoanNumber, currency: ofCase, cycle } = theCase;
  const outstandingAfterMinor = excessMinor > 0n ? 0n : 1n;
  const booking: Booking = {
    lenderId,
    caseId,
    sourceLoanNumber,
    cycle,
    currency: ofCase,
    amountMinor,
    excessMinor,
    recordedAt,
    id: idAt(recordedAt),
    reference: newId(),
    mode: "upi",
    rawMode: "upi",
    paidAt: recordedAt,
    linkId: null,
    visitId: null,
    fieldPartnerId: null,
    attribution: "none",
    inBalanceMinor: null,
    partOf: null,
    commissionPercent: null,
    appliedMinor: amountMinor - excessMinor,
    outstandingAfterMinor,
    totalCollectedAfterMinor: amountMinor,
    statusAfter: excessMinor > 0n ? "collected" : "in_progress",
    sequence: 1n,
    warnings: [],
  };
  await inTransaction(database, (tx) => Promise.resolve(bookPayments(tx, [booking])));
  return booking;
}

/** Records the reversal of a part of a payment at a time. */
async function reverse(booking: Booking, recordedAt: Date, amountMinor: bigint): Promise<void> {
  const { lenderId, id: bookingId, sourceLoanNumber, reference, caseId, cycle, currency: ofPayment } = booking;
  const reversal: Reversal = {
    lenderId,
    bookingId,
    sourceLoanNumber,
    reference,
    caseId,
    cycle,
    currency: ofPayment,
    amountMinor,
    recordedAt,
    id: idAt(recordedAt),
    reversalReference: newId(),
    reversedAt: recordedAt,
    reason: "bounced",
    note: null,
    appliedMinor: amountMinor,
    excessMinor: 0n,
    inBalance: false,
    adjustmentMinor: 0n,
    reapplied: [],
    outstandingAfterMinor: amountMinor,
    totalCollectedAfterMinor: 0n,
    totalReversedAfterMinor: amountMinor,
    excessAfterMinor: 0n,
    statusAfter: "in_progress",
    sequence: 2n,
    warnings: [],
    currentCaseId: null,
    currentAdjustmentMinor: null,
  };
  await inTransaction(database, (tx) => Promise.resolve(recordReversal(tx, reversal)));
}

async function start(theCase: Case, fieldPartnerId: string, now: Date): Promise<string> {
  const visitId = crypto.randomUUID();
  const visit = { caseId: theCase.id, fieldPartnerId, visitId, occurredAt: now };
  const started = await inTransaction(database, startVisit, visit, { environment: ENVIRONMENT, now });
  expect(started).toMatchObject({ kind: "started" });
  return visitId;
}

/** Ends a visit as NOT_AT_HOME, or with a promise of ₹2,500 for a day. */
async function end(visitId: string, fieldPartnerId: string, now: Date, dueOn?: string): Promise<void> {
  const terms = { amountMinor: 250_000n, currency: currency("INR") };
  const result =
    dueOn === undefined
      ? ({ disposition: "NOT_AT_HOME" } as const)
      : ({ disposition: "PROMISE_TO_PAY", promise: { ...terms, dueOn } } as const);
  const visit = { fieldPartnerId, visitId, occurredAt: now, ...result };
  const ended = await inTransaction(database, completeVisit, visit, { environment: ENVIRONMENT, now });
  expect(ended).toMatchObject({ kind: "completed" });
}

/** Requests a link at a time, and records that it was minted or that it is unavailable. */
async function link(theCase: Case, now: Date, outcome: "minted" | "unavailable"): Promise<void> {
  const { lenderId, id: caseId, sourceLoanNumber } = theCase;
  const visit = { visitId: crypto.randomUUID(), fieldPartnerId: asha.id };
  const amount = { amountMinor: 250_000n, currency: currency("INR") };
  const requested = await inTransaction(database, (tx) =>
    requestLink(tx, { lenderId, caseId, sourceLoanNumber, ...visit, ...amount }, now),
  );
  // The id is made by the clock of this process. The link gets the id that it would have got at that time.
  const id = idAt(now);
  await database.pool.query("update payment_links.payment_link set id = $2 where id = $1", [requested.id, id]);
  await inTransaction(database, async (tx) => {
    if (outcome === "unavailable") {
      await recordUnavailable(tx, { lenderId, id }, { unavailable: "timeout", detail: "There was no answer." }, now);
      return;
    }
    const minted = { linkId: `plink_${id}`, url: `https://pay.example.com/${id}` };
    recordMinted(tx, await lockLinksOfCase(tx, { lenderId, id }), minted, now);
  });
}

const none = { payments: [], reversals: [], visits: [], activeFieldPartners: 0 };

test("a day of 25 hours has every payment from its first moment to its last", async () => {
  const { lender: berlin } = await aLender(database, { timeZone: "Europe/Berlin" });
  const theCase = await aCase(database, berlin);
  for (const [time, amount] of [
    ["2026-10-24T21:59:59.999Z", 100n],
    ["2026-10-24T22:00:00.000Z", 1_000n],
    ["2026-10-25T22:59:59.999Z", 10_000n],
    ["2026-10-25T23:00:00.000Z", 100_000n],
  ] as const) {
    await pay(theCase, new Date(time), amount);
  }
  const sums = async (day: string) => {
    const figures = await figuresOfDay(database.em(), berlin, day);
    return [figures.dayBefore, figures.day].map(({ payments }) => payments.map(({ amountMinor }) => amountMinor));
  };
  expect(await sums("2026-10-25")).toEqual([[100n], [11_000n]]);
  const { day: ofDay } = await figuresOfDay(database.em(), berlin, "2026-10-25");
  expect(ofDay.hours).toHaveLength(25);
  expect(ofDay.hours.filter(({ payments }) => payments.length > 0).map(({ from }) => from.toISOString())).toEqual([
    "2026-10-24T22:00:00.000Z",
    "2026-10-25T22:00:00.000Z",
  ]);
  expect(await sums("2026-10-26")).toEqual([[11_000n], [100_000n]]);
});

test("the figures of a lender count each payment, reversal, visit, promise and link on its local day", async () => {
  const { lender } = await aLender(database, { code: "INDIA", timeZone: "Asia/Kolkata" });
  const { lender: other } = await aLender(database, { code: "OTHER", timeZone: "Asia/Kolkata" });
  const assigned = (of: Lender) => aCase(database, of, { fieldPartner: asha });
  const [kept, broken, visited] = [await assigned(lender), await assigned(lender), await assigned(lender)];
  const overpaid = await aCase(database, lender);
  await aCase(database, lender);
  const notOurs = await assigned(other);

  // The day before: two visits with promises for the day, and a visit that ends after midnight.
  for (const theCase of [kept, broken]) {
    const at = inIndia("2026-11-19T14:00");
    await end(await start(theCase, asha.id, at), asha.id, at, "2026-11-20");
  }
  const overMidnight = await start(visited, asha.id, inIndia("2026-11-19T23:58"));
  await pay(visited, inIndia("2026-11-19T23:59"), 10_050n);
  await link(visited, inIndia("2026-11-19T23:59"), "minted");

  // The first minutes of the day, at which another lender has a payment, a visit and a link too.
  const early = inIndia("2026-11-20T00:01");
  const payment = await pay(visited, early, 25_025n);
  await end(overMidnight, asha.id, early);
  await reverse(await pay(notOurs, early, 70_000n), early, 1_000n);
  await end(await start(notOurs, asha.id, early), asha.id, early, "2026-11-20");
  await link(notOurs, early, "unavailable");

  // The rest of the day, and the first moment of the next day.
  await pay(kept, inIndia("2026-11-20T01:00"), 250_000n);
  await pay(overpaid, inIndia("2026-11-20T10:00"), 600_000n, 100_000n);
  await reverse(payment, inIndia("2026-11-20T11:40"), 5_010n);
  await link(visited, inIndia("2026-11-20T13:20"), "unavailable");
  await link(broken, inIndia("2026-11-20T13:20"), "minted");
  await pay(visited, inIndia("2026-11-21T00:00"), 100n);
  await settlePromises({ database, environment: ENVIRONMENT }, inIndia("2026-11-21T02:00"));

  expect(await figuresOfDay(database.em(), lender, "2026-11-20")).toMatchObject({
    day: {
      day: "2026-11-20",
      payments: [{ currency: "INR", payments: 3, amountMinor: 875_025n, withExcess: 1, excessMinor: 100_000n }],
      reversals: [{ currency: "INR", reversals: 1, amountMinor: 5_010n }],
      visits: [{ disposition: "NOT_AT_HOME", visits: 1 }],
      promises: { due: 2, kept: 1, broken: 1 },
      startedVisits: 0,
      links: {
        requested: 2,
        minted: 1,
        unavailable: 1,
        visits: { withLink: 2, withSentLink: 0, withPaidLink: 0 },
      },
      activeFieldPartners: 1,
    },
    dayBefore: {
      day: "2026-11-19",
      payments: [{ currency: "INR", payments: 1, amountMinor: 10_050n, withExcess: 0, excessMinor: 0n }],
      reversals: [],
      visits: [{ disposition: "PROMISE_TO_PAY", visits: 2 }],
      promises: { due: 0, kept: 0, broken: 0 },
      startedVisits: 3,
      links: { requested: 1, minted: 1, unavailable: 0, visits: { withLink: 1 } },
      activeFieldPartners: 1,
    },
    unassignedCases: { count: 2, isComplete: true },
    endpoints: { endpoints: 0, suspended: 0, failing: 0 },
  });
  expect(await figuresOfDay(database.em(), other, "2026-11-20")).toMatchObject({
    day: {
      payments: [{ payments: 1, amountMinor: 70_000n }],
      reversals: [{ reversals: 1, amountMinor: 1_000n }],
      promises: { due: 1, kept: 0, broken: 1 },
    },
    dayBefore: none,
    unassignedCases: { count: 0, isComplete: true },
  });
});

test("a field partner is active on the day of the start and on the day of the end of a visit", async () => {
  const { lender: own } = await aLender(database, { timeZone: "Asia/Kolkata" });
  const one = await aCase(database, own, { fieldPartner: asha });
  const two = await aCase(database, own, { fieldPartner: ravi });
  const visitId = await start(one, asha.id, inIndia("2026-11-21T23:58"));
  await end(visitId, asha.id, inIndia("2026-11-22T00:02"));
  await start(two, ravi.id, inIndia("2026-11-22T00:05"));
  expect(await figuresOfDay(database.em(), own, "2026-11-22")).toMatchObject({
    day: { activeFieldPartners: 2, visits: [{ disposition: "NOT_AT_HOME", visits: 1 }] },
    dayBefore: { activeFieldPartners: 1, visits: [] },
  });
});

test("payments in several currencies are added up by currency", async () => {
  const { lender: own } = await aLender(database);
  const [rupees, yen] = [await aCase(database, own), await aCase(database, own, { row: { currency: "JPY" } })];
  const now = new Date();
  await pay(rupees, now, 1_025n);
  await pay(yen, now, 300n);
  const { day } = await figuresOfDay(database.em(), own, dayIn(own.timeZone, now));
  expect(day.payments).toMatchObject([
    { currency: "INR", payments: 1, amountMinor: 1_025n },
    { currency: "JPY", payments: 1, amountMinor: 300n },
  ]);
});

test("pages over all lenders contain every lender once, each with its own day", async () => {
  await aLender(database, { code: "KIRITIMATI", timeZone: "Pacific/Kiritimati" });
  const now = new Date("2026-11-20T12:00:00Z");
  const seen = new Map<string, string>();
  let after: string | undefined;
  do {
    const { items, next } = await figuresOfLenders(database.em(), { now, after, limit: 2 });
    expect(items.length).toBeLessThanOrEqual(2);
    for (const one of items) seen.set(one.lender.code, one.day.day);
    after = next ?? undefined;
  } while (after !== undefined);
  const { items } = await figuresOfLenders(database.em(), { now, limit: 100 });
  expect([...seen.keys()]).toEqual(items.map((one) => one.lender.code));
  expect(seen.get("KIRITIMATI")).toBe("2026-11-21");
  expect(seen.get("INDIA")).toBe("2026-11-20");
});
