import { AmountLiteral } from "@collections/money";
import { withoutTriggers } from "@collections/testing";
import { beforeEach, expect, test } from "vitest";
import { aCase, aConfirmation, aFieldPartner, aLender, ENVIRONMENT, flowsDatabase } from "../../tests/fixture.ts";
import { aReversal, reversed } from "../../tests/reversals.ts";
import { confirmPayments } from "../payment/confirm-payments.ts";
import { verifyReversals } from "./verify-reversals.ts";

const database = await flowsDatabase();
let lenderId: string;

/** Makes a lender with a payment of 100, of which 40 are reversed. */
beforeEach(async () => {
  const { lender } = await aLender(database, { commissionPercent: "2.5" });
  lenderId = lender.id;
  const fieldPartner = await aFieldPartner(database);
  const { sourceLoanNumber } = await aCase(database, lender, { fieldPartner, row: { outstandingAmount: 100 } });
  const payment = { reference: "A", amount: new AmountLiteral("100") };
  await confirmPayments(database.em(), [aConfirmation(lender, { sourceLoanNumber }, payment)], ENVIRONMENT);
  await reversed(database, aReversal(lender, sourceLoanNumber, "A", { amount: "40", reversalReference: "RV1" }));
});

/** Changes rows of the lender as a superuser could, with triggers disabled. */
async function forge(text: string): Promise<void> {
  await withoutTriggers(database.pool, (client) => client.query(text, [lenderId]));
}

const problems = async () =>
  (await verifyReversals(database.em(), lenderId)).map(({ code, detail }) => `${code}: ${detail}`);

test("an unchanged reversal has no problem", async () => {
  expect(await problems()).toEqual([]);
});

test.each([
  ["reason", "reason = 'chargeback'", 'reason is "bounced" in the event, "chargeback" in the reversal'],
  ["time", "reversed_at = '2026-01-01T00:00:00Z'", '"2026-01-01T00:00:00.000Z" in the reversal'],
  ["amount", "amount_minor = 3900, applied_minor = 3900", "amount is 40 in the event, 39 in the reversal"],
])("a reversal with a forged %s differs from its event", async (_, set, detail) => {
  await forge(`update ledger.payment_reversal set ${set} where lender_id = $1`);
  expect((await problems()).join()).toMatch(/EVENT_UNLIKE_REVERSAL: Loan .*, reversal RV1: /);
  expect((await problems()).join()).toContain(detail);
});

test("a reversal whose event was deleted is reported", async () => {
  await forge("delete from webhooks.event where lender_id = $1 and kind = 'payment.reversed'");
  expect((await problems()).join()).toContain("REVERSAL_EVENT_MISSING: ");
});

test("earnings that do not match a reversal are reported", async () => {
  await forge("delete from earnings.earning where lender_id = $1 and reversal_id is not null");
  expect((await problems()).join()).toContain("6000 are applied, which earns 150; its lines add up to 250");
});
