import { type Database, publicId } from "@collections/database";
import { creditedOf, earningLines, type Payout, payoutByReference } from "@collections/earnings";
import type { FieldPartner } from "@collections/field-partners";
import { balance, creditedAccount, paidAccount } from "@collections/ledger";
import { actsOn, type Lender } from "@collections/lenders";
import { AmountLiteral, currency } from "@collections/money";
import { randomInt, randomUUID } from "node:crypto";
import { beforeEach, describe, expect, test } from "vitest";
import { aCase, aConfirmation, aFieldPartner, aLender, ENVIRONMENT, flowsDatabase } from "../tests/fixture.ts";
import { dayIn } from "./app-request.ts";
import { confirmPayments } from "./confirm-payments.ts";
import { payoutPreview, type PayoutToRecord, recordPayout } from "./record-payout.ts";
import { verifyBooks } from "./verify-books.ts";

const INR = currency("INR");
/** 2.5 % of 5,000. */
const EARNED_MINOR = 12_500n;
const DAY_MS = 24 * 60 * 60_000;

const database: Database = await flowsDatabase();
let fieldPartner: FieldPartner;
let lenders: Lender[];

beforeEach(async () => {
  fieldPartner = await aFieldPartner(database);
  const made = [1, 2].map(() => aLender(database, { commissionPercent: "2.5" }));
  lenders = (await Promise.all(made)).map(({ lender }) => lender).toSorted((a, b) => (a.id < b.id ? -1 : 1));
});

/** A case of 5,000 that the field partner holds is paid: all of it, so that it ends, unless told. */
async function earn(lender: Lender, amount = "5000"): Promise<void> {
  const theCase = await aCase(database, lender, { fieldPartner });
  const confirmation = aConfirmation(lender, theCase, { amount: new AmountLiteral(amount) });
  const [outcome] = await confirmPayments(database.em(), [confirmation], ENVIRONMENT);
  expect(outcome).toMatchObject({ kind: "booked" });
}

function anOrder(given: Partial<PayoutToRecord> = {}): PayoutToRecord {
  const paidOn = dayIn(fieldPartner.timeZone, new Date());
  const reference = `UTR${randomInt(1e12)}`;
  return { fieldPartnerId: fieldPartner.id, currency: INR, reference, paidOn, until: null, ...given };
}

const record = (order: PayoutToRecord, now?: Date) => recordPayout(database.em(), order, now);

async function expectPaid(expected: bigint): Promise<void> {
  for (const { id } of lenders)
    expect(await verifyBooks(database.em(), { lenderId: id, now: new Date() })).toMatchObject({ problems: [] });
  const balances = await Promise.all(
    lenders.map(({ id }) => balance(database.em(), id, paidAccount(fieldPartner.id, INR))),
  );
  expect(balances.reduce((sum, { creditMinor }) => sum + creditMinor, 0n)).toBe(expected);
}

const stateOfLines = async () => {
  const { lines } = await earningLines(database.em(), fieldPartner.id, { first: 100 });
  return lines.map(({ earning }) => earning.status).toSorted();
};

describe("a payout", () => {
  test("pays what is credited at all lenders, in lines, books and audit, and leaves what is pending", async () => {
    const [first, second] = lenders as [Lender, Lender];
    for (const lender of [first, first, second]) await earn(lender);
    await earn(second, "2500");
    expect(await payoutPreview(database.em(), fieldPartner.id, null)).toEqual([
      { lenderId: first.id, currency: INR, lines: 2, amountMinor: 2n * EARNED_MINOR },
      { lenderId: second.id, currency: INR, lines: 1, amountMinor: EARNED_MINOR },
    ]);
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

  test("has its day in the books, beside the moment at which it was recorded", async () => {
    await earn(lenders[0]!);
    const now = new Date();
    await record(anOrder({ paidOn: "2026-11-02" }), now);
    const { rows } = await database.pool.query<Record<"effective_at" | "recorded_at", string>>(
      "select effective_at, recorded_at from ledger.transfer where lender_id = $1 and kind = 'payout'",
      [lenders[0]!.id],
    );
    // Midnight in India.
    const times = rows.map(({ effective_at, recorded_at }) => [new Date(effective_at), new Date(recorded_at)]);
    expect(times).toEqual([[new Date("2026-11-01T18:30:00Z"), now]]);
  });

  test("pays up to the end of a day where the field partner is", async () => {
    await earn(lenders[0]!);
    const now = new Date();
    const today = dayIn(fieldPartner.timeZone, now);
    const yesterday = dayIn(fieldPartner.timeZone, new Date(now.getTime() - DAY_MS));
    const later = new Date(now.getTime() + 3 * DAY_MS);
    expect(await payoutPreview(database.em(), fieldPartner.id, yesterday)).toEqual([]);
    expect(await record(anOrder({ until: yesterday }), later)).toMatchObject({ kind: "nothing_to_pay" });
    expect(await record(anOrder({ until: today }), later)).toMatchObject({ kind: "recorded" });
  });

  test("is answered with what was recorded when it comes again, and refused when it says something else", async () => {
    await earn(lenders[0]!);
    const order = anOrder();
    const first = await record(order);
    await earn(lenders[0]!);
    expect(await record(order)).toEqual({ ...first, kind: "repeated" });
    expect(await record({ ...order, amountMinor: EARNED_MINOR })).toMatchObject({ kind: "repeated" });
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

  test("is refused for nobody, another amount, another currency and days that have not come; nothing is changed", async () => {
    await earn(lenders[0]!);
    const now = new Date();
    const inDays = (days: number, zone = "Pacific/Kiritimati") => dayIn(zone, new Date(now.getTime() + days * DAY_MS));
    expect(await record(anOrder({ fieldPartnerId: randomUUID() }))).toEqual({ kind: "field_partner_not_found" });
    expect(await record(anOrder({ amountMinor: 1n }))).toEqual({ kind: "amount_differs", creditedMinor: EARNED_MINOR });
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
    expect(await payoutPreview(database.em(), randomUUID(), null)).toBeUndefined();
    expect(await stateOfLines()).toEqual(["credited"]);
    await expectPaid(0n);
    expect(await record(anOrder({ paidOn: inDays(0), until: today }), now)).toMatchObject({ kind: "recorded" });
  });
});

describe("at the same time", () => {
  test("the same payout is recorded once, and everybody is answered with it", async () => {
    for (const lender of lenders) await earn(lender);
    const order = anOrder();
    const outcomes = await Promise.all(Array.from({ length: 8 }, () => record(order)));
    expect(outcomes.map(({ kind }) => kind).toSorted()).toEqual(["recorded", ...Array<string>(7).fill("repeated")]);
    const recorded = await payoutByReference(database.em(), order.reference);
    for (const outcome of outcomes) expect(outcome).toMatchObject({ payout: recorded });
    await expectPaid(2n * EARNED_MINOR);
  });

  test("payouts by different references pay each line once, while cases are being cleared", async () => {
    const earning = Array.from({ length: 12 }, (_, index) => earn(lenders[index % 2]!));
    const paying = (async () => {
      const kinds: string[] = [];
      while (!kinds.includes("recorded") || (await creditedOf(database.em(), fieldPartner.id)).length > 0) {
        const outcomes = await Promise.all([1, 2, 3].map(() => record(anOrder())));
        kinds.push(...outcomes.map(({ kind }) => kind));
      }
      return kinds;
    })();
    await Promise.all(earning);
    const kinds = new Set(await paying);
    await record(anOrder());
    expect([...kinds]).toEqual(expect.arrayContaining(["recorded"]));
    expect([...kinds].filter((kind) => kind !== "recorded" && kind !== "nothing_to_pay")).toEqual([]);
    expect(await stateOfLines()).toEqual(Array<string>(12).fill("paid_out"));
    await expectPaid(12n * EARNED_MINOR);
  });
});

describe("verify names what was changed past the service", () => {
  /** As a superuser, whom no trigger and no foreign key stops. */
  async function forge(text: string): Promise<string[]> {
    const client = await database.pool.connect();
    await client.query("set session_replication_role = replica");
    await client.query(text, [lenders[0]!.id]).finally(() => client.release(true));
    const { problems } = await verifyBooks(database.em(), { lenderId: lenders[0]!.id, now: new Date() });
    return problems.map(({ code, table, detail }) => `${code} ${table}: ${detail}`);
  }

  let order: PayoutToRecord;
  beforeEach(async () => {
    for (const _ of [1, 2]) await earn(lenders[0]!);
    order = anOrder();
    await record(order);
  });

  test.each([
    ["amount_minor = amount_minor + 1", "It says 25001 for 2 lines; its 2 lines add up to 25000 (minor units)."],
    ["lines = 3", "It says 25000 for 3 lines; its 2 lines add up to 25000 (minor units)."],
    ["currency = 'USD'", "2 lines say that it paid them 25000, and it is not there, or it is somebody else's."],
    [
      "field_partner_id = gen_random_uuid()",
      "2 lines say that it paid them 25000, and it is not there, or it is somebody else's.",
    ],
  ])("in a payout: %s", async (set, detail) => {
    expect(await forge(`update earnings.payout set ${set} where lender_id = $1`)).toContain(
      `PAYOUT_MISMATCH payout: ${detail}`,
    );
  });

  test("a reference that is not the one in the books", async () => {
    const problems = await forge("update earnings.payout set reference = 'UTR-forged' where lender_id = $1");
    const detail = "Paid out by UTR-forged: the books moved its 12500 0 times for that.";
    expect(problems).toEqual(Array<string>(2).fill(`PAYOUT_UNLIKE_TRANSFERS earning: ${detail}`));
  });

  test("a payout that is gone", async () => {
    expect(await forge("delete from earnings.payout where lender_id = $1")).toEqual([
      "PAYOUT_MISMATCH payout: 2 lines say that it paid them 25000, and it is not there, or it is somebody else's.",
    ]);
  });

  test("a line that is credited again, to be paid twice", async () => {
    const problems = await forge(
      `update earnings.earning set status = 'credited', paid_out_at = null, payout_id = null
       where (lender_id, id) in (select lender_id, id from earnings.earning where lender_id = $1 limit 1)`,
    );
    const detail = "It says 25000 for 2 lines; its 1 lines add up to 12500 (minor units).";
    expect(problems).toContain(`PAYOUT_MISMATCH payout: ${detail}`);
    expect(problems.filter((problem) => problem.startsWith("EARNINGS_MISMATCH"))).toHaveLength(2);
    const again = await record(anOrder());
    expect(again).toMatchObject({ kind: "recorded", payout: { amountMinor: EARNED_MINOR } });
    const { problems: after } = await verifyBooks(database.em(), { lenderId: lenders[0]!.id, now: new Date() });
    expect(new Set(after.map(({ code }) => code))).toContain("EARNING_OUT_OF_STEP");
  });

  test("a transfer that is gone", async () => {
    const problems = await forge(
      `delete from ledger.transfer where id in (select id from ledger.transfer where lender_id = $1 and kind = 'payout' limit 1)`,
    );
    const detail = `Paid out by ${order.reference}: the books moved its 12500 0 times for that.`;
    expect(problems).toContain(`PAYOUT_UNLIKE_TRANSFERS earning: ${detail}`);
    expect(problems.filter((problem) => problem.startsWith("EARNINGS_MISMATCH"))).toHaveLength(2);
  });

  test("a line whose amount was raised", async () => {
    const problems = await forge("update earnings.earning set amount_minor = 12501 where lender_id = $1");
    const codes = problems.map((problem) => problem.split(" ")[0]);
    expect(new Set(codes)).toEqual(new Set(["EARNINGS_MISMATCH", "PAYOUT_MISMATCH", "PAYOUT_UNLIKE_TRANSFERS"]));
  });
});
