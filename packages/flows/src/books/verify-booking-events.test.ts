import { bookingsFor } from "@collections/bookings";
import type { Case } from "@collections/cases";
import type { Database } from "@collections/entities";
import type { Lender } from "@collections/lenders";
import { AmountLiteral } from "@collections/money";
import { withoutTriggers } from "@collections/testing";
import { beforeEach, describe, expect, test } from "vitest";
import { aCase, aConfirmation, aLender, ENVIRONMENT, flowsDatabase } from "../../tests/fixture.ts";
import { runRetention } from "../../tests/retention.ts";
import { confirmPayments } from "../payment/confirm-payments.ts";
import { type BookingEventOptions, verifyBookingEvents } from "./verify-booking-events.ts";
import { verifyBooks } from "./verify-books.ts";

const database: Database = await flowsDatabase({ works: true });
let lender: Lender;
let theCase: Case;
let payments = 0;
beforeEach(async () => {
  ({ lender } = await aLender(database));
  theCase = await aCase(database, lender);
});

/** Confirms `count` payments of 1 and returns their references. */
async function pay(count: number, paid = theCase): Promise<string[]> {
  const amount = new AmountLiteral("1");
  const confirmations = Array.from({ length: count }, () =>
    aConfirmation(lender, paid, { amount, reference: `pay_${(payments += 1)}` }),
  );
  const outcomes = await confirmPayments(database.em(), confirmations, ENVIRONMENT);
  expect(new Set(outcomes.map(({ kind }) => kind))).toEqual(new Set(["booked"]));
  return confirmations.map(({ reference }) => reference);
}

/** Runs SQL as a superuser without triggers. `$1` is the lender. */
async function forge(...statements: string[]): Promise<void> {
  await withoutTriggers(database.pool, async (client) => {
    for (const text of statements) await client.query(text, [lender.id]);
  });
}

async function found(options: BookingEventOptions = {}): Promise<string[]> {
  const { problems, total } = await verifyBookingEvents(database.em(), lender.id, options);
  expect(total).toBe(problems.length);
  return problems.map(({ code, table, detail }) => `${code} ${table}: ${detail}`);
}

/** Changes the body of the lender's `payment.collected` events. */
const forgeBody = (value: string) =>
  forge(`update webhooks.event set body = ${value} where lender_id = $1 and kind = 'payment.collected'`);

test.each([[1], [2], [3], [1_000]])(
  "verifyBookingEvents finds no problem in unchanged books if it reads %i rows at a time",
  async (page) => {
    await Promise.all([pay(7), aCase(database, lender).then((other) => pay(5, other))]);
    expect(await found({ page })).toEqual([]);
    expect((await verifyBooks(database.em(), { lenderId: lender.id, now: new Date() })).problems).toEqual([]);
  },
);

test.each([
  ["eventId", `'"evt_1"'`, '"evt_1"', /"evt_[0-9a-f]{32}"/],
  ["sourceLoanNumber", `'"LN-forged"'`, '"LN-forged"', /"LN\/\d+"/],
  ["caseId", `'"case_1"'`, '"case_1"', /"case_[0-9a-f]{32}"/],
  ["cycle", "'2'", "2", /1/],
  ["sequence", "'9'", "9", /2/],
  ["currency", `'"USD"'`, '"USD"', /"INR"/],
  ["totalCollected", "'2.01'", "2.01", /1/],
  ["outstandingAfter", "'4998'", "4998", /4999/],
  ["data.reference", `'"pay_forged"'`, '"pay_forged"', /"pay_\d+"/],
  ["data.amount", "'1.01'", "1.01", /1/],
  ["data.amount", `'"1"'`, '"1"', /1/],
  ["data.excessAmount", "'1'", "1", /0/],
  ["data.inBalance", "'1'", "1", /0/],
  ["data.mode", `'"cash"'`, '"cash"', /"upi"/],
  ["data.paidAt", `'"2026-01-01T00:00:00.000Z"'`, '"2026-01-01T00:00:00.000Z"', /"20\d\d-.*Z"/],
  ["data.linkId", `'"plink_1"'`, '"plink_1"', /null/],
  ["data.visitId", `'"vis_1"'`, '"vis_1"', /null/],
  ["data.attribution", `'"exact"'`, '"exact"', /"none"/],
])("reports a difference in the field %s if the event has %s", async (field, value, said, booked) => {
  const [reference] = await pay(1);
  await forgeBody(`jsonb_set(body::jsonb, '{${field.replace(".", ",")}}', ${value})::text`);
  const problems = await found();
  expect(problems).toHaveLength(1);
  const start = `EVENT_UNLIKE_BOOKING event: Loan ${theCase.sourceLoanNumber}, payment ${reference}: `;
  expect(problems[0]).toMatch(new RegExp(`: ${field} is .* in the event, ${booked.source} in the booking\\.$`));
  expect(problems[0]!.startsWith(`${start}${field} is ${said} in the event`)).toBe(true);
});

test.each([["'not JSON'"], ["'null'"], ["''"]])("reports an event with the body %s", async (body) => {
  await pay(1);
  await forgeBody(body);
  expect(await found()).toEqual([expect.stringContaining("the event's body is not a JSON object")]);
});

test("accepts an event without inBalance, as earlier versions emitted it", async () => {
  await pay(1);
  await forgeBody("(body::jsonb #- '{data,inBalance}')::text");
  expect(await found()).toEqual([]);
});

test("reports an event whose body has no `data`", async () => {
  await pay(1);
  await forgeBody("(body::jsonb - 'data')::text");
  expect(await found()).toEqual([expect.stringContaining("data.amount is absent in the event, 1 in the booking")]);
});

test("reports a booking whose amount, digest and transfers were changed", async () => {
  const [reference] = await pay(1);
  await forge(
    `update ledger.payment_booking set amount_minor = 200, applied_minor = 200, outstanding_after_minor = 499800,
       total_collected_after_minor = 200 where lender_id = $1`,
  );
  const [problem] = await found();
  expect(problem).toContain(
    `payment ${reference}: totalCollected is 1 in the event, 2 in the booking; outstandingAfter`,
  );
  expect(problem).toContain("data.amount is 1 in the event, 2 in the booking");
});

describe("verifyBookingEvents", () => {
  test("reports a booking whose event was deleted", async () => {
    await pay(3);
    await forge(`delete from webhooks.event where lender_id = $1 and sequence = 3`);
    expect(await found()).toEqual([
      `EVENT_MISSING payment_booking: Loan ${theCase.sourceLoanNumber}, payment pay_${payments - 1} has no payment.collected event at sequence 3.`,
    ]);
  });

  test("reports an event whose booking was deleted", async () => {
    const [, reference] = await pay(3);
    await forge(`delete from ledger.payment_booking where lender_id = $1 and sequence = 3`);
    expect(await found({ page: 2 })).toEqual([
      `EVENT_WITHOUT_BOOKING event: Loan ${theCase.sourceLoanNumber}, sequence 3: nothing is booked under the event's reference "${reference}".`,
    ]);
  });

  test.each([[String.raw`"\u0000pay"`], ["17"]])(
    "reports an event whose reference was changed to %s and whose booking was deleted",
    async (reference) => {
      await pay(1);
      await forge(
        `delete from ledger.payment_booking where lender_id = $1`,
        `update webhooks.event set body = regexp_replace(body, '"reference":"[^"]*"', '"reference":${reference.replaceAll("\\", "\\\\")}')
       where lender_id = $1 and kind = 'payment.collected'`,
      );
      expect(await found()).toEqual([
        `EVENT_WITHOUT_BOOKING event: Loan ${theCase.sourceLoanNumber}, sequence 2: nothing is booked under the event's reference ${reference}.`,
      ]);
    },
  );

  test("reports an event that was moved to another loan, and the booking that now has no event", async () => {
    await pay(1);
    await forge(`update webhooks.event set source_loan_number = 'LN-forged' where lender_id = $1 and sequence = 2`);
    const codes = (await found()).map((problem) => problem.split(" ")[0]);
    expect([codes.length, new Set(codes)]).toEqual([2, new Set(["EVENT_MISSING", "EVENT_WITHOUT_BOOKING"])]);
  });

  test("reports an event whose sequence number was changed", async () => {
    await pay(1);
    await forge(`update webhooks.event set sequence = 7 where lender_id = $1 and sequence = 2`);
    const problems = await found();
    expect(problems).toHaveLength(2);
    expect(problems.join("\n")).toContain("the event's row is at sequence 7 of loan");
  });
});

test("compares each booking with its event with only a few rows in memory, even if the ids of the two are far apart", async () => {
  await pay(9);
  const reversed = `overlay(id::text placing (99 - sequence)::text || '000000' from 1)::uuid`;
  await forge(`update webhooks.event set id = ${reversed} where lender_id = $1 and kind = 'payment.collected'`);
  const problems = await found({ page: 2, maxWaiting: 3 });
  // The id of the event is the only difference in each problem. So each event was compared with its own booking, and
  // not with another one.
  expect(problems).toHaveLength(9);
  for (const problem of problems)
    expect(problem).toMatch(/: eventId is "evt_\w+" in the event, "evt_\w+" in the booking\.$/);
});

test("counts every problem and lists the first 1,000", async () => {
  const cases = await Promise.all(Array.from({ length: 4 }, () => aCase(database, lender)));
  for (const one of cases) await pay(300, one);
  await forgeBody(`replace(body, '"amount":1', '"amount":2')`);
  const { problems, total } = await verifyBookingEvents(database.em(), lender.id);
  expect([problems.length, total]).toEqual([1_000, 1_200]);
  const all = await verifyBooks(database.em(), { lenderId: lender.id, now: new Date() });
  expect(all).toMatchObject({ ok: false, totalProblems: 1_200n });
});

test("does not report a booking whose event was deleted by retention, and compares the other bookings", async () => {
  const [settled, waiting] = await pay(2);
  await growOldBy(60);
  await forge(
    `update webhooks.delivery set state = 'waiting', settled_at = null where lender_id = $1 and sequence = 3`,
  );
  expect(await runRetention(database)).toMatchObject({ isHeldUp: false });
  const { rows } = await database.pool.query<{ sequence: string }>(
    "select sequence::text from webhooks.event where lender_id = $1",
    [lender.id],
  );
  expect(rows).toEqual([{ sequence: "3" }]);
  const keys = [settled!, waiting!].map((reference) => ({
    lenderId: lender.id,
    loan: theCase.sourceLoanNumber,
    reference,
  }));
  expect(await bookingsFor(database.em(), keys)).toHaveLength(2);
  const problems = await found();
  expect(problems).toEqual([expect.stringContaining(`payment ${waiting}: eventId is `)]);
});

/** Backdates all rows by `days` days, and marks all events as delivered. */
async function growOldBy(days: number): Promise<void> {
  const { rows } = await database.pool.query<{ first: string }>(
    `select left(webhooks.first_id(now() - interval '${days} days')::text, 13) as first`,
  );
  const aged = `('${rows[0]!.first}' || right(id::text, 23))::uuid`;
  await withoutTriggers(database.pool, async (client) => {
    await client.query(`update webhooks.event set id = ${aged}`);
    const settled = `state = 'delivered', settled_at = now() - interval '${days} days'`;
    await client.query(`update webhooks.delivery set id = ${aged}, ${settled}`);
    await client.query(`update ledger.payment_booking set id = ${aged}`);
  });
  await database.pool.query(`
    do $$ begin
      alter table webhooks.event detach partition webhooks.event_first;
      execute format('alter table webhooks.event attach partition webhooks.event_first for values from (minvalue) to (%L)',
        webhooks.first_id(date_trunc('week', now() - interval '50 days', 'UTC')));
    end $$`);
}
