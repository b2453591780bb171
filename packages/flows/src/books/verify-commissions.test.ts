import assert from "node:assert/strict";
import { dayIn } from "@collections/local-time";
import { randomInt } from "node:crypto";
import { fieldPartnerAccounts, openAccounts } from "@collections/bookings";
import { newId, transaction } from "@collections/database";
import type { FieldPartner } from "@collections/field-partners";
import type { Lender } from "@collections/lenders";
import { AmountLiteral, currency } from "@collections/money";
import { withoutTriggers } from "@collections/testing";
import { beforeEach, describe, expect, test } from "vitest";
import { aCase, aConfirmation, aFieldPartner, aLender, ENVIRONMENT, flowsDatabase } from "../../tests/fixture.ts";
import { aReversal, bookPayment, reversed } from "../../tests/reversals.ts";
import { confirmPayments } from "../payment/confirm-payments.ts";
import { recordPayout } from "./record-payout.ts";
import { verifyBooks } from "./verify-books.ts";
import { verifyCommissions } from "./verify-commissions.ts";

const database = await flowsDatabase();

let lender: Lender;
let holder: FieldPartner;
beforeEach(async () => {
  ({ lender } = await aLender(database, { commissionPercent: "2.5" }));
  holder = await aFieldPartner(database);
});

async function problems(): Promise<string[]> {
  const { problems } = await verifyBooks(database.em(), { lenderId: lender.id, now: new Date() });
  return problems.map(({ code, detail }) => `${code}: ${detail}`);
}

async function codes(): Promise<Set<string>> {
  return new Set((await problems()).map((problem) => problem.split(":")[0]!));
}

/** Books a payment of 5,000, which ends its case; attributed to the holder of the case if there is one. */
async function aPayment(fieldPartner?: FieldPartner): Promise<{ loan: string; reference: string; caseId: string }> {
  const theCase = await aCase(database, lender, fieldPartner ? { fieldPartner } : {});
  const reference = `UTR${randomInt(1e12)}`;
  const confirmation = aConfirmation(lender, theCase, { amount: new AmountLiteral("5000"), reference });
  const [outcome] = await confirmPayments(database.em(), [confirmation], ENVIRONMENT);
  assert.equal(outcome?.kind, "booked");
  return { loan: theCase.sourceLoanNumber, reference, caseId: theCase.id };
}

/** Runs SQL as the service's database role can: all triggers and constraints apply. `$1` is the lender. */
async function run(text: string, values: readonly unknown[] = []): Promise<void> {
  await database.pool.query(text, [lender.id, ...values]);
}

/** Runs SQL as a superuser can, without triggers and constraints. */
async function forge(text: string): Promise<void> {
  await withoutTriggers(database.pool, (client) => client.query(text, [lender.id]));
}

/** Gives an accomplice an earning on the lender's payment: accounts, two transfers, and a credited line. */
async function earnFor(accomplice: FieldPartner, amountMinor: number): Promise<void> {
  await transaction(database.em(), async (tx) =>
    openAccounts(tx, fieldPartnerAccounts(lender.id, accomplice.id, currency("INR")), new Date()),
  );
  const transfers = [
    ["commission", `commission_expense/${lender.id}/INR`, `pending/${accomplice.id}/INR`],
    ["earning_credited", `pending/${accomplice.id}/INR`, `credited/${accomplice.id}/INR`],
  ];
  for (const [kind, debit, credit] of transfers) {
    await run(
      `insert into ledger.transfer (lender_id, id, debit_account, credit_account, amount_minor, currency, kind, case_id,
         booking_id, memo, effective_at, recorded_at)
       select $1, $2, $3, $4, $5, 'INR', $6, b.case_id, b.id, 'Earning', now(), now()
       from ledger.payment_booking b where b.lender_id = $1`,
      [newId(), debit, credit, amountMinor, kind],
    );
  }
  await run(
    `insert into earnings.earning (lender_id, id, case_id, booking_id, source_loan_number, reference, field_partner_id, currency,
       base_minor, percent, amount_minor, status, earned_at, credited_at, reversal_id, base_before_minor)
     select $1, $2, b.case_id, b.id, b.source_loan_number, b.reference, $3, 'INR', b.applied_minor, 25000, $4, 'credited',
       now(), now(), $2, 0 from ledger.payment_booking b where b.lender_id = $1`,
    [newId(), accomplice.id, amountMinor],
  );
}

async function payOut(fieldPartner: FieldPartner, amountMinor: bigint): Promise<void> {
  const { kind } = await recordPayout(database.em(), {
    fieldPartnerId: fieldPartner.id,
    currency: currency("INR"),
    reference: `UTR${randomInt(1e12)}`,
    paidOn: dayIn(fieldPartner.timeZone, new Date()),
    until: null,
    amountMinor,
  });
  assert.equal(kind, "recorded");
}

describe("verifyBooks, after an earning was forged with the service's database role,", () => {
  test("reports an earning on a payment without a field partner", async () => {
    const { loan, reference } = await aPayment();
    expect(await problems()).toEqual([]);
    const accomplice = await aFieldPartner(database);
    await earnFor(accomplice, 12_500);
    await payOut(accomplice, 12_500n);
    const owners = `belong to ${accomplice.id}; the field partner of the booking is none.`;
    expect(await problems()).toEqual([
      `COMMISSION_UNLIKE_BOOKING: Transfers of its commission ${owners}`,
      `EARNING_UNLIKE_BOOKING: Loan ${loan}, payment ${reference}: its lines ${owners}`,
    ]);
  });

  test("reports an earning on a payment of another field partner", async () => {
    await aPayment(holder);
    const accomplice = await aFieldPartner(database);
    await earnFor(accomplice, 12_500);
    const found = await problems();
    expect(found.join()).toContain("its lines differ in their case, payment, field partner, currency or percentage.");
    expect(found.join()).toContain("COMMISSION_UNLIKE_BOOKING");
  });

  test("reports a further commission of the booking's own field partner", async () => {
    await aPayment(holder);
    await run(
      `insert into earnings.earning
       select (jsonb_populate_record(e, jsonb_build_object('id', $2::text, 'reversal_id', $2::text, 'base_before_minor', 1))).*
       from earnings.earning e where lender_id = $1`,
      [newId()],
    );
    expect((await problems()).join()).toContain(
      "500000 are applied, which earns 12500; its lines add up to 25000 (minor units).",
    );
  });

  test("reports a raised percentage of a line", async () => {
    await aPayment(holder);
    await run("update earnings.earning set percent = 1000000 where lender_id = $1");
    expect((await problems()).join()).toContain("EARNING_UNLIKE_BOOKING");
    expect((await problems()).join()).toContain("its lines have 100 %, its booking 2.5 %.");
  });

  test("reports amounts that were exchanged between two payments of one field partner", async () => {
    await aPayment(holder);
    await aPayment(holder);
    await forge("update ledger.payment_booking set commission_percent = null where lender_id = $1");
    await run(
      `update earnings.earning e set amount_minor = amount_minor + case when id = (
         select max(id::text)::uuid from earnings.earning where lender_id = $1) then 100 else -100 end where lender_id = $1`,
    );
    expect(await codes()).toEqual(new Set(["CONTENT_CHANGED", "EARNING_UNLIKE_BOOKING", "EARNING_UNLIKE_TRANSFERS"]));
  });

  test("reports a deleted line and its transfers", async () => {
    await aPayment(holder);
    await forge("delete from earnings.earning where lender_id = $1");
    expect(await codes()).toContain("EARNING_UNLIKE_TRANSFERS");
    await forge("delete from ledger.transfer where lender_id = $1 and kind in ('commission', 'earning_credited')");
    expect((await problems()).join()).toContain(
      "COMMISSION_UNLIKE_BOOKING: 500000 are applied, which earns 12500; its transfers add up to 0",
    );
  });

  test("reports a line whose booking does not exist", async () => {
    await aPayment(holder);
    await forge(`update earnings.earning set booking_id = '${newId()}' where lender_id = $1`);
    const found = await problems();
    expect(found.join()).toMatch(/EARNING_UNLIKE_BOOKING: .*the lines name booking .*, which does not exist\./);
    expect(found.filter((one) => one.startsWith("EARNING_UNLIKE_TRANSFERS"))).toHaveLength(2);
  });

  test.each([
    ["loan", "source_loan_number = 'LN/other'", "sourceLoanNumber is LN/other in its lines"],
    ["reference", "reference = 'UTR0'", "reference is UTR0 in its lines"],
  ])("reports a line with another %s", async (_, set, detail) => {
    await aPayment(holder);
    await run(`update earnings.earning set ${set} where lender_id = $1`);
    expect((await problems()).join()).toContain(detail);
  });
});

describe("verifyBooks accepts the earnings of a payment", () => {
  test("that was booked by an older version, without a rate", async () => {
    await aPayment(holder);
    await forge("update ledger.payment_booking set commission_percent = null where lender_id = $1");
    expect(await codes()).toEqual(new Set(["CONTENT_CHANGED"]));
  });

  test("that was paid out, reversed and deducted", async () => {
    const { loan, reference } = await aPayment(holder);
    await payOut(holder, 12_500n);
    await reversed(database, aReversal(lender, loan, reference, { amount: "1000" }));
    expect(await problems()).toEqual([]);
    await aPayment(holder);
    await payOut(holder, 10_000n);
    expect(await problems()).toEqual([]);
  });

  test("whose excess a reversal has applied later", async () => {
    const { loan, reference } = await aPayment(holder);
    await bookPayment(database, lender, { loan, reference: `${reference}/2`, amount: 2_000, paidAt: new Date() });
    await reversed(database, aReversal(lender, loan, reference));
    expect(await problems()).toEqual([]);
  });

  test("whose excess was applied later without a reversal", async () => {
    const { loan, reference } = await aPayment(holder);
    await bookPayment(database, lender, { loan, reference: `${reference}/2`, amount: 2_000, paidAt: new Date() });
    const ofExcess = "from ledger.payment_booking b where b.lender_id = $1 and b.excess_minor > 0";
    const columns = `lender_id, id, amount_minor, currency, case_id, booking_id, memo, effective_at, recorded_at`;
    const values = (amountMinor: number) =>
      `$1, $2, ${amountMinor}, 'INR', b.case_id, b.id, 'Excess applied', now(), now()`;
    await run(
      `insert into ledger.transfer (${columns}, kind, debit_account, credit_account, corrects, sequence)
       select ${values(40_000)}, 'correction', 'excess/' || b.case_id, 'receivable/' || b.case_id,
         (select t.id from ledger.transfer t where t.lender_id = $1 and t.kind = 'excess'), b.sequence + 1 ${ofExcess}`,
      [newId()],
    );
    const [expense, pending] = [`commission_expense/${lender.id}/INR`, `pending/${holder.id}/INR`];
    await run(
      `insert into ledger.transfer (${columns}, kind, debit_account, credit_account)
       select ${values(1_000)}, 'commission', '${expense}', '${pending}' ${ofExcess}`,
      [newId()],
    );
    await run(
      `insert into earnings.earning (lender_id, id, case_id, booking_id, source_loan_number, reference, field_partner_id,
         currency, base_minor, percent, amount_minor, status, earned_at, reversal_id, base_before_minor)
       select $1, $2, b.case_id, b.id, b.source_loan_number, b.reference, b.field_partner_id, 'INR', 40000, 25000, 1000,
         'pending', now(), $2, 0 ${ofExcess}`,
      [newId()],
    );
    expect((await problems()).filter((one) => /EARNING|COMMISSION/.test(one))).toEqual([]);
  });

  test("in every page of bookings", async () => {
    for (let count = 0; count < 3; count += 1) await aPayment(holder);
    expect(await verifyCommissions(database.em(), lender.id, { page: 2 })).toEqual({ problems: [], total: 0 });
    await run("update earnings.earning set percent = 1000000 where lender_id = $1");
    expect(await verifyCommissions(database.em(), lender.id, { page: 2 })).toMatchObject({ total: 3 });
  });
});
