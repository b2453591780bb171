import { balance, creditedAccount, paidAccount } from "@collections/bookings";
import { publicId } from "@collections/database";
import type { Database } from "@collections/entities";
import { creditedSums, earningLines, type Payout, payoutByReference } from "@collections/earnings";
import type { FieldPartner } from "@collections/field-partners";
import { actsOn, type Lender } from "@collections/lenders";
import { dayIn } from "@collections/local-time";
import { AmountLiteral, currency } from "@collections/money";
import { randomInt, randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { beforeEach, describe, expect, test } from "vitest";
import { aCase, aConfirmation, aFieldPartner, aLender, ENVIRONMENT, flowsDatabase } from "../../tests/fixture.ts";
import { aReversal, reversed } from "../../tests/reversals.ts";
import { confirmPayments } from "../payment/confirm-payments.ts";
import { payoutPreview, type PayoutToRecord, recordPayout } from "./record-payout.ts";
import { verifyBooks } from "./verify-books.ts";

const INR = currency("INR");
/** The commission: 2.5 % of 5,000. */
const EARNED_MINOR = 12_500n;
const DAY_MS = 24 * 60 * 60_000;

interface PaymentKey {
  readonly lender: Lender;
  readonly loan: string;
  readonly reference: string;
}

const database: Database = await flowsDatabase();
let fieldPartner: FieldPartner;
let lenders: Lender[];

beforeEach(async () => {
  fieldPartner = await aFieldPartner(database);
  const made = [1, 2].map(() => aLender(database, { commissionPercent: "2.5" }));
  lenders = (await Promise.all(made)).map(({ lender }) => lender).toSorted((a, b) => (a.id < b.id ? -1 : 1));
});

/**
 * Creates a case with 5,000 outstanding, assigned to the field partner, and confirms a payment on it. By default the
 * payment is 5,000, so that the case ends. Returns the key of the payment.
 */
async function earn(lender: Lender, amount = "5000"): Promise<PaymentKey> {
  const theCase = await aCase(database, lender, { fieldPartner });
  const confirmation = aConfirmation(lender, theCase, { amount: new AmountLiteral(amount) });
  const [outcome] = await confirmPayments(database.em(), [confirmation], ENVIRONMENT);
  expect(outcome).toMatchObject({ kind: "booked" });
  return { lender, loan: confirmation.loan, reference: confirmation.reference };
}

/** Reverses an amount of a payment, or all of it. */
async function reverse({ lender, loan, reference }: PaymentKey, amount?: string): Promise<void> {
  await reversed(database, aReversal(lender, loan, reference, amount === undefined ? {} : { amount }));
}

/** Returns a payout to record. By default its amount equals one earning line. */
function anOrder(given: Partial<PayoutToRecord> = {}): PayoutToRecord {
  const paidOn = dayIn(fieldPartner.timeZone, new Date());
  const reference = `UTR${randomInt(1e12)}`;
  const amountMinor = EARNED_MINOR;
  return { fieldPartnerId: fieldPartner.id, currency: INR, reference, paidOn, until: null, amountMinor, ...given };
}

/** Reads the preview that an operator sees, and returns the payout that records exactly its amount. */
async function previewed(until: string | null = null): Promise<PayoutToRecord> {
  const { credited, asOf } = (await payoutPreview(database.em(), fieldPartner.id, until))!;
  const amountMinor = credited.reduce((sum, part) => sum + part.amountMinor, 0n);
  return anOrder({ amountMinor, until: asOf?.toISOString() ?? null });
}

/** Returns the times at which the field partner's lines were credited, in ascending order. */
async function creditedAt(): Promise<Date[]> {
  const { lines } = await earningLines(database.em(), fieldPartner.id, { first: 100 });
  return lines.map(({ earning }) => earning.creditedAt!).toSorted((a, b) => a.getTime() - b.getTime());
}

const record = (order: PayoutToRecord, now?: Date) => recordPayout(database.em(), order, now);

/** Checks the books, and that payouts paid `expected` for earnings and took back `deducted` for deductions. */
async function expectPaid(expected: bigint, deducted = 0n): Promise<void> {
  for (const { id } of lenders)
    expect(await verifyBooks(database.em(), { lenderId: id, now: new Date() })).toMatchObject({ problems: [] });
  const balances = await Promise.all(
    lenders.map(({ id }) => balance(database.em(), id, paidAccount(fieldPartner.id, INR))),
  );
  expect(balances.reduce((sum, { creditMinor }) => sum + creditMinor, 0n)).toBe(expected);
  expect(balances.reduce((sum, { debitMinor }) => sum + debitMinor, 0n)).toBe(deducted);
}

const stateOfLines = async () => {
  const { lines } = await earningLines(database.em(), fieldPartner.id, { first: 100 });
  return lines.map(({ earning }) => earning.status).toSorted();
};

describe("a payout", () => {
  test("pays only the credited lines, of all lenders, and is recorded in the books and in the audit", async () => {
    const [first, second] = lenders as [Lender, Lender];
    for (const lender of [first, first, second]) await earn(lender);
    await earn(second, "2500");
    const times = [expect.any(Date), expect.any(Date)] as Date[];
    const undeducted = { currency: INR, deductedMinor: 0n };
    expect(await payoutPreview(database.em(), fieldPartner.id, null)).toEqual({
      asOf: expect.any(Date) as Date,
      credited: [
        { ...undeducted, lenderId: first.id, lines: 2, amountMinor: 2n * EARNED_MINOR, lastCreditedAt: times[0] },
        { ...undeducted, lenderId: second.id, lines: 1, amountMinor: EARNED_MINOR, lastCreditedAt: times[1] },
      ],
      carried: [],
    });
    const order = anOrder({ amountMinor: 3n * EARNED_MINOR });
    const outcome = await record(order);
    expect(outcome).toMatchObject({
      kind: "recorded",
      payout: { lines: 3, amountMinor: 3n * EARNED_MINOR, parts: [{ lines: 2 }, { lines: 1 }] },
    });
    expect(await stateOfLines()).toEqual(["paid_out", "paid_out", "paid_out", "pending"]);
    await expectPaid(3n * EARNED_MINOR);
    const { debitMinor } = await balance(database.em(), first.id, creditedAccount(fieldPartner.id, INR));
    expect(debitMinor).toBe(2n * EARNED_MINOR);
    const { payout } = outcome as { payout: Payout };
    expect(await actsOn(database.em(), first.id, 1)).toMatchObject([
      {
        act: "payout.recorded",
        data: {
          payoutId: publicId("po", payout.id),
          fieldPartnerId: publicId("fp", fieldPartner.id),
          reference: order.reference,
          lines: 2,
          amountMinor: "25000",
          currency: "INR",
        },
      },
    ]);
    expect(await record(anOrder())).toEqual({ kind: "nothing_to_pay", credited: [] });
  });

  test("is booked with the day on which it was paid and the time at which it was recorded", async () => {
    await earn(lenders[0]!);
    const [now, paidOn] = [new Date(), dayIn(fieldPartner.timeZone, new Date())];
    await record(anOrder({ paidOn }), now);
    const { rows } = await database.pool.query<Record<"effective_at" | "recorded_at", string>>(
      "select effective_at, recorded_at from ledger.transfer where lender_id = $1 and kind = 'payout'",
      [lenders[0]!.id],
    );
    // The day of the payment starts at midnight in India.
    const times = rows.map(({ effective_at, recorded_at }) => [new Date(effective_at), new Date(recorded_at)]);
    expect(times).toEqual([[new Date(`${paidOn}T00:00:00+05:30`), now]]);
  });

  test("pays lines up to the end of a day in the field partner's time zone", async () => {
    await earn(lenders[0]!);
    const now = new Date();
    const today = dayIn(fieldPartner.timeZone, now);
    const yesterday = dayIn(fieldPartner.timeZone, new Date(now.getTime() - DAY_MS));
    const later = new Date(now.getTime() + 3 * DAY_MS);
    expect(await payoutPreview(database.em(), fieldPartner.id, yesterday)).toEqual({
      credited: [],
      carried: [],
      asOf: null,
    });
    expect(await record(anOrder({ until: yesterday }), later)).toMatchObject({ kind: "nothing_to_pay" });
    expect(await record(anOrder({ until: today }), later)).toMatchObject({ kind: "recorded" });
  });

  test("pays exactly the previewed lines, even if other lines were credited after the preview", async () => {
    for (const lender of lenders) await earn(lender);
    const order = await previewed();
    await pause(2);
    await earn(lenders[0]!);
    expect(order.amountMinor).toBe(2n * EARNED_MINOR);
    expect(await record(order)).toMatchObject({ kind: "recorded", payout: { lines: 2, until: order.until } });
    expect(await record(order)).toMatchObject({ kind: "repeated" });
    expect(await stateOfLines()).toEqual(["credited", "paid_out", "paid_out"]);
    await expectPaid(2n * EARNED_MINOR);
    expect(await record(await previewed())).toMatchObject({ kind: "recorded", payout: { lines: 1 } });
    await expectPaid(3n * EARNED_MINOR);
  });

  test("is refused if its amount is below the credited sum, and the refusal has the time at which the lines add up to it", async () => {
    for (const _ of [1, 2, 3]) {
      await earn(lenders[0]!);
      await pause(2);
    }
    const [, second] = await creditedAt();
    const order = anOrder({ amountMinor: 2n * EARNED_MINOR });
    const creditedMinor = 3n * EARNED_MINOR;
    expect(await record(order)).toEqual({ kind: "amount_differs", creditedMinor, reachedAt: second });
    expect(await record({ ...order, amountMinor: EARNED_MINOR + 1n })).toEqual({
      kind: "amount_differs",
      creditedMinor,
      reachedAt: undefined,
    });
    expect(await record({ ...order, until: second!.toISOString() })).toMatchObject({ kind: "recorded" });
    await expectPaid(2n * EARNED_MINOR);
  });

  test("is not recorded if a line was credited before the preview, but committed only after the preview", async () => {
    const [line, late] = lenders as [Lender, Lender];
    await earn(line);
    await pause(2);
    const order = await previewed();
    await earn(late);
    await database.pool.query(
      `update earnings.earning set credited_at = $3::timestamptz - interval '1 second'
       where field_partner_id = $1 and lender_id = $2`,
      [fieldPartner.id, late.id, order.until],
    );
    expect(await record(order)).toMatchObject({ kind: "amount_differs", creditedMinor: 2n * EARNED_MINOR });
    const both = { ...order, reference: `${order.reference} + UTR2`, amountMinor: 2n * EARNED_MINOR };
    expect(await record(both)).toMatchObject({ kind: "recorded", payout: { lines: 2 } });
  });

  test("is refused if the day of the payment had ended in every time zone before the first line was credited", async () => {
    for (const lender of lenders) await earn(lender);
    const [first] = await creditedAt();
    const earliest = dayIn("Etc/GMT+12", first!);
    const before = new Date(Date.parse(earliest) - DAY_MS).toISOString().slice(0, 10);
    const order = anOrder({ amountMinor: 2n * EARNED_MINOR });
    for (const paidOn of [before, "1926-11-21"]) {
      expect(await record({ ...order, paidOn })).toEqual({ kind: "paid_before_credited", earliest });
    }
    expect(await stateOfLines()).toEqual(["credited", "credited"]);
    expect(await record({ ...order, paidOn: earliest })).toMatchObject({ kind: "recorded" });
  });

  test("with a reference that was recorded before is returned if all fields are equal, and otherwise refused", async () => {
    await earn(lenders[0]!);
    const order = anOrder();
    const first = await record(order);
    await earn(lenders[0]!);
    expect(await record(order)).toEqual({ ...first, kind: "repeated" });
    const stranger = await aFieldPartner(database);
    const others: [Partial<PayoutToRecord>, string][] = [
      [{ fieldPartnerId: stranger.id }, "fieldPartnerId"],
      [{ currency: currency("KWD") }, "currency"],
      [{ paidOn: "2026-11-01" }, "paidOn"],
      [{ until: "2026-11-01" }, "until"],
      [{ amountMinor: EARNED_MINOR + 1n }, "amount"],
    ];
    for (const [other, field] of others) {
      expect(await record({ ...order, ...other })).toMatchObject({ kind: "reference_taken", differences: [field] });
    }
    expect(await stateOfLines()).toEqual(["credited", "paid_out"]);
    await expectPaid(EARNED_MINOR);
  });

  test("is refused, and nothing changes, for an unknown field partner, a wrong amount, another currency or a future day", async () => {
    await earn(lenders[0]!);
    const now = new Date();
    const inDays = (days: number, zone = "Pacific/Kiritimati") => dayIn(zone, new Date(now.getTime() + days * DAY_MS));
    expect(await record(anOrder({ fieldPartnerId: randomUUID() }))).toEqual({ kind: "field_partner_not_found" });
    expect(await record(anOrder({ amountMinor: 1n }))).toMatchObject({
      kind: "amount_differs",
      creditedMinor: EARNED_MINOR,
    });
    expect(await record(anOrder({ currency: currency("USD") }))).toMatchObject({
      kind: "nothing_to_pay",
      credited: [{ currency: "INR", amountMinor: EARNED_MINOR }],
    });
    expect(await record(anOrder({ paidOn: inDays(1) }), now)).toEqual({
      kind: "in_future",
      field: "paidOn",
      today: inDays(0),
    });
    const today = inDays(0, fieldPartner.timeZone);
    const tomorrow = inDays(1, fieldPartner.timeZone);
    expect(await record(anOrder({ until: tomorrow }), now)).toEqual({ kind: "in_future", field: "until", today });
    const soon = new Date(now.getTime() + 1_000).toISOString();
    expect(await record(anOrder({ until: soon }), now)).toEqual({
      kind: "in_future",
      field: "until",
      today: now.toISOString(),
    });
    expect(await payoutPreview(database.em(), randomUUID(), null)).toBeUndefined();
    expect(await stateOfLines()).toEqual(["credited"]);
    await expectPaid(0n);
    expect(await record(anOrder({ paidOn: inDays(0), until: today }), now)).toMatchObject({ kind: "recorded" });
  });
});

describe("if a payment is reversed after a preview, a payout with the time of the preview as `until`", () => {
  test("pays the previewed sum, and the next payout deducts the reversed part", async () => {
    const [first, second] = lenders as [Lender, Lender];
    const payment = await earn(first);
    await earn(second);
    const order = await previewed();
    await pause(2);
    // 30.00 of the 125.00 that the payment had earned.
    await reverse(payment, "1200");
    expect(order.amountMinor).toBe(2n * EARNED_MINOR);
    const changed = { kind: "amount_differs", creditedMinor: 2n * EARNED_MINOR - 3_000n };
    expect(await record({ ...order, until: null })).toMatchObject({ ...changed, reachedAt: new Date(order.until!) });
    expect(await record(order)).toMatchObject({ kind: "recorded", payout: { lines: 2, until: order.until } });
    await expectPaid(2n * EARNED_MINOR);
    expect(await payoutPreview(database.em(), fieldPartner.id, null)).toMatchObject({
      credited: [],
      carried: [{ lenderId: first.id, lines: 1, amountMinor: -3_000n }],
      asOf: null,
    });
    await earn(first);
    const next = await previewed();
    expect(next.amountMinor).toBe(EARNED_MINOR - 3_000n);
    expect(await record(next)).toMatchObject({ kind: "recorded", payout: { lines: 2 } });
    await expectPaid(3n * EARNED_MINOR, 3_000n);
  });

  test("deducts a reversal from before the preview, and leaves a later one for the next payout", async () => {
    const payments = [await earn(lenders[0]!), await earn(lenders[0]!)];
    await reverse(payments[0]!, "1200");
    const order = await previewed();
    await pause(2);
    await reverse(payments[1]!, "400");
    expect(order.amountMinor).toBe(2n * EARNED_MINOR - 3_000n);
    expect(await record(order)).toMatchObject({ kind: "recorded", payout: { lines: 3 } });
    await expectPaid(2n * EARNED_MINOR - 3_000n);
    expect(await payoutPreview(database.em(), fieldPartner.id, null)).toMatchObject({
      carried: [{ lines: 1, amountMinor: -1_000n }],
    });
  });
});

describe("the preview of a payout", () => {
  test("up to a day covers no deduction of a later day, and its `asOf` is not after the day", async () => {
    const payment = await earn(lenders[0]!);
    const now = new Date();
    await database.pool.query(
      `update earnings.earning set credited_at = credited_at - interval '1 day' where field_partner_id = $1`,
      [fieldPartner.id],
    );
    await reverse(payment, "1200");
    const [creditedYesterday, deductedToday] = await creditedAt();
    const yesterday = dayIn(fieldPartner.timeZone, new Date(now.getTime() - DAY_MS));
    const order = await previewed(yesterday);
    expect(order).toMatchObject({ amountMinor: EARNED_MINOR, until: creditedYesterday!.toISOString() });
    expect(await previewed()).toMatchObject({
      amountMinor: EARNED_MINOR - 3_000n,
      until: deductedToday!.toISOString(),
    });
    expect(await record(order)).toMatchObject({ kind: "recorded", payout: { lines: 1 } });
    await expectPaid(EARNED_MINOR);
  });

  test("has the time of the last deduction of a lender that is carried over as `asOf`, and a payout leaves this lender out", async () => {
    const [first, second] = lenders as [Lender, Lender];
    const paid = await earn(second);
    await record(await previewed());
    await earn(second);
    await pause(2);
    await earn(first);
    await pause(2);
    await reverse(paid);
    const times = await creditedAt();
    const order = await previewed();
    expect(order).toMatchObject({ amountMinor: EARNED_MINOR, until: times.at(-1)!.toISOString() });
    expect(await payoutPreview(database.em(), fieldPartner.id, null)).toMatchObject({
      credited: [{ lenderId: first.id, lines: 1 }],
      carried: [{ lenderId: second.id, lines: 2, amountMinor: 0n }],
    });
    expect(await record(order)).toMatchObject({ kind: "recorded", payout: { lines: 1 } });
    await expectPaid(2n * EARNED_MINOR);
  });
});

describe("concurrent calls of recordPayout", () => {
  test("record the same payout once, and return it to each caller", async () => {
    for (const lender of lenders) await earn(lender);
    const order = anOrder({ amountMinor: 2n * EARNED_MINOR });
    const outcomes = await Promise.all(Array.from({ length: 8 }, () => record(order)));
    expect(outcomes.map(({ kind }) => kind).toSorted()).toEqual(["recorded", ...Array<string>(7).fill("repeated")]);
    const recorded = await payoutByReference(database.em(), order.reference);
    for (const outcome of outcomes) expect(outcome).toMatchObject({ payout: recorded });
    await expectPaid(2n * EARNED_MINOR);
  });

  test("pay each line once, even if the payouts have different references and payments clear cases at the same time", async () => {
    const earning = Array.from({ length: 12 }, (_, index) => earn(lenders[index % 2]!));
    const paying = (async () => {
      const kinds: string[] = [];
      while (!kinds.includes("recorded") || (await creditedSums(database.em(), fieldPartner.id)).length > 0) {
        const order = await previewed();
        const outcomes = await Promise.all(
          [1, 2, 3].map((_, index) => record({ ...order, reference: `${order.reference}/${index}` })),
        );
        kinds.push(...outcomes.map(({ kind }) => kind));
      }
      return kinds;
    })();
    await Promise.all(earning);
    const kinds = new Set(await paying);
    await record(await previewed());
    expect([...kinds]).toEqual(expect.arrayContaining(["recorded"]));
    // `amount_differs` occurs if a line was credited before the preview and committed after it. Such a line must not be
    // paid unnoticed.
    const expected = new Set(["recorded", "nothing_to_pay", "amount_differs"]);
    expect([...kinds].filter((kind) => !expected.has(kind))).toEqual([]);
    expect(await stateOfLines()).toEqual(Array<string>(12).fill("paid_out"));
    await expectPaid(12n * EARNED_MINOR);
  });
});
