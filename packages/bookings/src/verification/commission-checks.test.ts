import { newId } from "@collections/database";
import type { Percent } from "@collections/money";
import { withoutTriggers } from "@collections/testing";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { collectionsLedger } from "../index.ts";
import { bookingsDatabase } from "../../tests/bookings-database.ts";
import { NOW, SampleCase, writeBooks } from "../../tests/sample-books.ts";

const database = await bookingsDatabase();
/** 2.5 % */
const RATE = 25_000n as Percent;

let sample: SampleCase;
beforeEach(() => {
  sample = new SampleCase(newId()).place(100_000n);
});
afterEach(async () => {
  for (const table of ["account", "transfer", "payment_booking", "payment_reversal", "chain_block"]) {
    await withoutTriggers(database.pool, (client) => client.query(`delete from ledger.${table}`));
  }
});

async function problems(): Promise<string[]> {
  const { problems } = await collectionsLedger.verify(database.em(), { now: NOW });
  return problems.map(({ code, detail }) => `${code}: ${detail}`);
}

/** Inserts transfers of the last payment as the service's database role can: with triggers, which compute the digests. */
async function post(kind: string, debit: string, credit: string, amount: bigint): Promise<void> {
  const sequence = credit.startsWith("receivable/") ? 9n : null;
  await database.pool.query(
    `insert into ledger.transfer (lender_id, id, debit_account, credit_account, amount_minor, currency, kind, case_id,
       booking_id, corrects, sequence, memo, effective_at, recorded_at)
     select $1, $2, $3, $4, $5, 'INR', $6::text, $7, b.id,
       case when $6 = 'correction' then (select id from ledger.transfer where lender_id = $1 and booking_id = b.id limit 1) end,
       $9, 'Forged', $8, $8
     from ledger.payment_booking b where b.lender_id = $1 order by b.sequence desc limit 1`,
    [sample.lenderId, newId(), debit, credit, amount, kind, sample.caseId, NOW, sequence],
  );
}

const expense = () => `commission_expense/${sample.lenderId}/INR`;
const account = (state: string, owner = sample.fieldPartnerId) => `${state}/${owner}/INR`;

describe("verify, without a problem,", () => {
  test.each<[string, bigint, bigint]>([
    ["rounds 2.5 to 2", 100n, 2n],
    ["rounds 7.5 to 8", 300n, 8n],
    ["rounds 2.525 to 3", 101n, 3n],
    ["accepts no commission on 1", 1n, 0n],
  ])("%s", async (_, amountMinor, earnedMinor) => {
    await writeBooks(database, [sample.pay(amountMinor, { earnedMinor, percent: RATE })]);
    expect(await problems()).toEqual([]);
  });

  test("accepts a booking of an older version, whatever it earned", async () => {
    await writeBooks(database, [sample.pay(40_000n, { earnedMinor: 17n })]);
    expect(await problems()).toEqual([]);
  });

  test("accepts a commission on excess that was applied later", async () => {
    await writeBooks(database, [sample.pay(99_000n).pay(3_000n, { earnedMinor: 25n, percent: RATE })]);
    await post("correction", `excess/${sample.caseId}`, `receivable/${sample.caseId}`, 2_000n);
    await post("commission", expense(), account("pending"), 50n);
    const found = await problems();
    expect(found.filter((one) => /COMMISSION|EARNING/.test(one))).toEqual([]);
  });
});

describe("verify reports", () => {
  test("a commission on a booking without a field partner", async () => {
    await writeBooks(database, [sample.pay(40_000n, { isAttributed: false })]);
    expect(await problems()).toEqual([]);
    await post("commission", expense(), account("pending"), 1_000n);
    await post("earning_credited", account("pending"), account("credited"), 1_000n);
    await post("payout", account("credited"), account("paid"), 1_000n);
    expect(await problems()).toEqual([
      `COMMISSION_UNLIKE_BOOKING: Transfers of its commission belong to ${sample.fieldPartnerId}; the field partner of the booking is none.`,
    ]);
  });

  test("a commission of another field partner than the booking's", async () => {
    await writeBooks(database, [sample.pay(40_000n, { earnedMinor: 1_000n, percent: RATE })]);
    const accomplice = newId();
    await post("commission", expense(), account("pending", accomplice), 5n);
    expect((await problems()).join()).toMatch(
      new RegExp(`COMMISSION_UNLIKE_BOOKING: Transfers .* belong to .*${accomplice}.*is ${sample.fieldPartnerId}`),
    );
  });

  test.each<[string, bigint]>([
    ["too high", 1_001n],
    ["too low", 999n],
    ["missing", 0n],
  ])("a commission that is %s", async (_, earnedMinor) => {
    await writeBooks(database, [sample.pay(40_000n, { earnedMinor, percent: RATE })]);
    const detail = `40000 are applied, which earns 1000; its transfers add up to ${earnedMinor} (minor units).`;
    expect(await problems()).toEqual([`COMMISSION_UNLIKE_BOOKING: ${detail}`]);
  });

  test("a commission that stays although the payment was reversed", async () => {
    await writeBooks(database, [sample.pay(40_000n, { earnedMinor: 1_000n, percent: RATE }).reverse(10_000n)]);
    const detail = "30000 are applied, which earns 750; its transfers add up to 1000 (minor units).";
    expect(await problems()).toEqual([`COMMISSION_UNLIKE_BOOKING: ${detail}`]);
    await post("correction", account("pending"), expense(), 250n);
    expect(await problems()).toEqual([]);
  });
});
