import { dayIn } from "@collections/local-time";
import assert from "node:assert/strict";
import { randomInt } from "node:crypto";
import type { Database } from "@collections/entities";
import type { Lender } from "@collections/lenders";
import { AmountLiteral, currency } from "@collections/money";
import { withoutTriggers } from "@collections/testing";
import { beforeEach, describe, expect, test } from "vitest";
import { aCase, aConfirmation, aFieldPartner, aLender, ENVIRONMENT, flowsDatabase } from "../../tests/fixture.ts";
import { confirmPayments } from "../payment/confirm-payments.ts";
import { type PayoutToRecord, recordPayout } from "./record-payout.ts";
import { verifyBooks } from "./verify-books.ts";

/** The commission: 2.5 % of 5,000. */
const EARNED_MINOR = 12_500n;

const NO_SUCH_PAYOUT =
  "2 earning lines with a total of 25000 (minor units) name this payout, but their field partner has no such payout in their currency.";

const database: Database = await flowsDatabase();

describe("verifyBooks, after a change that bypassed the service,", () => {
  /** Runs SQL as a superuser without triggers and foreign keys. */
  async function forge(text: string): Promise<string[]> {
    await withoutTriggers(database.pool, (client) => client.query(text, [lender.id]));
    const { problems } = await verifyBooks(database.em(), { lenderId: lender.id, now: new Date() });
    return problems.map(({ code, table, detail }) => `${code} ${table}: ${detail}`);
  }

  let lender: Lender;
  let order: PayoutToRecord;
  beforeEach(async () => {
    const fieldPartner = await aFieldPartner(database);
    ({ lender } = await aLender(database, { commissionPercent: "2.5" }));
    for (const _ of [1, 2]) {
      const theCase = await aCase(database, lender, { fieldPartner });
      await confirmPayments(
        database.em(),
        [aConfirmation(lender, theCase, { amount: new AmountLiteral("5000") })],
        ENVIRONMENT,
      );
    }
    order = {
      fieldPartnerId: fieldPartner.id,
      currency: currency("INR"),
      reference: `UTR${randomInt(1e12)}`,
      paidOn: dayIn(fieldPartner.timeZone, new Date()),
      until: null,
      amountMinor: 2n * EARNED_MINOR,
    };
    const { kind } = await recordPayout(database.em(), order);
    assert.equal(kind, "recorded");
  });

  test.each([
    [
      "amount_minor = amount_minor + 1",
      "The payout says 25001 for 2 lines; its 2 lines add up to 25000 (minor units).",
    ],
    ["lines = 3", "The payout says 25000 for 3 lines; its 2 lines add up to 25000 (minor units)."],
    ["currency = 'USD'", NO_SUCH_PAYOUT],
    ["field_partner_id = '019aa000-0000-7000-8000-000000000000'", NO_SUCH_PAYOUT],
  ])("reports a payout with %s", async (set, detail) => {
    expect(await forge(`update earnings.payout set ${set} where lender_id = $1`)).toContain(
      `PAYOUT_MISMATCH payout: ${detail}`,
    );
  });

  test("reports a payout whose reference differs from the transfers", async () => {
    const problems = await forge("update earnings.payout set reference = 'UTR-forged' where lender_id = $1");
    const detail = "Paid out by UTR-forged: expected one transfer of 12500 for this payout, found 0.";
    expect(problems).toEqual(Array<string>(2).fill(`PAYOUT_UNLIKE_TRANSFERS earning: ${detail}`));
  });

  test("reports a deleted payout", async () => {
    expect(await forge("delete from earnings.payout where lender_id = $1")).toEqual([
      `PAYOUT_MISMATCH payout: ${NO_SUCH_PAYOUT}`,
    ]);
  });

  test("reports a paid line that was set back to credited", async () => {
    const problems = await forge(
      `update earnings.earning set status = 'credited', paid_out_at = null, payout_id = null
       where (lender_id, id) in (select lender_id, id from earnings.earning where lender_id = $1 limit 1)`,
    );
    const detail = "The payout says 25000 for 2 lines; its 1 lines add up to 12500 (minor units).";
    expect(problems).toContain(`PAYOUT_MISMATCH payout: ${detail}`);
    expect(problems.filter((problem) => problem.startsWith("EARNINGS_MISMATCH"))).toHaveLength(2);
    const again = await recordPayout(database.em(), {
      ...order,
      reference: `${order.reference}/2`,
      amountMinor: EARNED_MINOR,
    });
    expect(again).toMatchObject({ kind: "recorded", payout: { amountMinor: EARNED_MINOR } });
    const { problems: after } = await verifyBooks(database.em(), { lenderId: lender.id, now: new Date() });
    expect(new Set(after.map(({ code }) => code))).toContain("EARNING_OUT_OF_STEP");
  });

  test("reports a deleted transfer", async () => {
    const problems = await forge(
      `delete from ledger.transfer where id in (select id from ledger.transfer where lender_id = $1 and kind = 'payout' limit 1)`,
    );
    const detail = `Paid out by ${order.reference}: expected one transfer of 12500 for this payout, found 0.`;
    expect(problems).toContain(`PAYOUT_UNLIKE_TRANSFERS earning: ${detail}`);
    expect(problems.filter((problem) => problem.startsWith("EARNINGS_MISMATCH"))).toHaveLength(2);
  });

  test("reports a line whose amount was raised", async () => {
    const problems = await forge("update earnings.earning set amount_minor = 12501 where lender_id = $1");
    const codes = problems.map((problem) => problem.split(" ")[0]);
    const unlike = ["EARNING_UNLIKE_BOOKING", "EARNING_UNLIKE_TRANSFERS", "PAYOUT_UNLIKE_TRANSFERS"];
    expect(new Set(codes)).toEqual(new Set(["EARNINGS_MISMATCH", "PAYOUT_MISMATCH", ...unlike]));
  });
});
