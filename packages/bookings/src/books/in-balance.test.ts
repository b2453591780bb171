import { newId } from "@collections/database";
import { withoutTriggers } from "@collections/testing";
import { describe, expect, test } from "vitest";
import { collectionsLedger, statementOf } from "../index.ts";
import { bookingsDatabase } from "../../tests/bookings-database.ts";
import { NOW, SampleCase, writeBooks } from "../../tests/sample-books.ts";

const database = await bookingsDatabase();

async function problemsOf({ lenderId }: SampleCase): Promise<{ code: string; id: string; detail: string }[]> {
  const { problems } = await collectionsLedger.verify(database.em(), { book: lenderId, now: NOW });
  return problems.map(({ code, id, detail }) => ({ code, id, detail }));
}

/** Runs a statement as a superuser with triggers disabled. */
async function forge(sql: string, values: unknown[]): Promise<void> {
  await withoutTriggers(database.pool, (client) => client.query(sql, values));
}

/** SQL that recomputes the digest of a changed booking, as a forger who knows the digest function would do. */
const DIGEST = `digest = ledger.payment_booking_digest(lender_id, id, source_loan_number, reference, case_id, cycle,
  amount_minor, currency, mode, raw_mode, paid_at, link_id, visit_id, field_partner_id, attribution, applied_minor,
  excess_minor, outstanding_after_minor, total_collected_after_minor, status_after, sequence, warnings, recorded_at,
  in_balance_minor)`;

test("a booking written by the previous version has the digest that this version computes", async () => {
  const sample = new SampleCase(newId()).place(100n).pay(40n);
  await writeBooks(database, [sample]);
  await forge(
    `update ledger.payment_booking set ${DIGEST.replace(/,\s*in_balance_minor\)/, ")")} where lender_id = $1`,
    [sample.lenderId],
  );
  expect(await problemsOf(sample)).toEqual([]);
});

describe("a payment that the balance already included", () => {
  test("has two lines on the account statement, which leave the outstanding amount unchanged", async () => {
    const sample = new SampleCase(newId()).place(100_000n).payInBalance(40_000n, 40_000n, "UTR9");
    await writeBooks(database, [sample]);
    const [statement] = await statementOf(database.em(), { lenderId: sample.lenderId, caseIds: [sample.caseId] });
    expect(statement?.lines).toMatchObject([
      { kind: "placement", balanceMinor: 100_000n },
      {
        kind: "adjustment",
        memo: "Payment UTR9 was included in the balance of 20 Nov 09:41 UTC",
        at: NOW,
        debitMinor: 40_000n,
        balanceMinor: 140_000n,
      },
      { kind: "payment", reference: "UTR9", creditMinor: 40_000n, balanceMinor: 100_000n },
    ]);
    expect(statement?.totals).toMatchObject({ adjustedMinor: 40_000n, collectedMinor: 40_000n });
    expect(await problemsOf(sample)).toEqual([]);
  });

  test("may have excess while an amount is outstanding, unlike any other payment", async () => {
    const sample = new SampleCase(newId()).place(100n).payInBalance(140n, 100n).payInBalance(5n, 0n);
    await writeBooks(database, [sample]);
    expect(await problemsOf(sample)).toEqual([]);
    const other = new SampleCase(newId()).place(100n).payInBalance(140n, 100n);
    other.bookings[0] = { ...other.bookings[0]!, inBalanceMinor: null };
    await expect(writeBooks(database, [other])).rejects.toMatchObject({ code: "23514" });
    const unlike = new SampleCase(newId()).place(100n).payInBalance(140n, 100n);
    unlike.bookings[0] = { ...unlike.bookings[0]!, inBalanceMinor: 99n };
    await expect(writeBooks(database, [unlike])).rejects.toMatchObject({ code: "23514" });
  });

  test("is reported by verify if its adjustment was deleted", async () => {
    const sample = new SampleCase(newId()).place(100_000n).payInBalance(40_000n);
    const [booking] = sample.bookings;
    await writeBooks(database, [sample]);
    await forge("delete from ledger.transfer where kind = 'adjustment' and booking_id = $1", [booking!.id]);
    expect(await problemsOf(sample)).toContainEqual({
      code: "BOOKING_UNLIKE_TRANSFERS",
      id: booking!.id,
      detail: "It says that 40000 of its 40000 applied was in the balance already; its adjustments added 0.",
    });
  });
});

test.each([
  ["wrongly says that the balance included the payment", "pay", "applied_minor"],
  ["wrongly says that the balance did not include the payment", "payInBalance", "null"],
] as const)(
  "verify reports the booking of a payment if it %s, even with a recomputed digest",
  async (_, kind, forged) => {
    const sample = new SampleCase(newId()).place(100_000n)[kind](40_000n);
    const [booking] = sample.bookings;
    await writeBooks(database, [sample]);
    await forge(`update ledger.payment_booking set in_balance_minor = ${forged} where id = $1`, [booking!.id]);
    expect(await problemsOf(sample)).toContainEqual(expect.objectContaining({ code: "CONTENT_CHANGED" }));
    await forge(`update ledger.payment_booking set ${DIGEST} where id = $1`, [booking!.id]);
    expect(await problemsOf(sample)).toMatchObject([{ code: "BOOKING_UNLIKE_TRANSFERS", id: booking!.id }]);
  },
);
