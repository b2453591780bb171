import { isUniqueViolation, newId, transaction } from "@collections/database";
import { describe, expect, test } from "vitest";
import {
  bookingPage,
  bookingsFor,
  bookPayments,
  collectedBy,
  paymentPostings,
  paymentsAfter,
  paymentsOf,
  postTransfers,
} from "../index.ts";
import { bookingsDatabase } from "../../tests/bookings-database.ts";
import { SampleCase, writeBooks } from "../../tests/sample-books.ts";

const sent: string[] = [];

const database = await bookingsDatabase({ onStatement: ({ name }) => sent.push(name ?? "") });

describe("a booking", () => {
  test("is read back with every field as it was written", async () => {
    const sample = new SampleCase(newId(), "MUM/2023/00123").place(500_000n).pay(250_000n, { reference: "pay_Nx81" });
    const [booking] = sample.bookings;
    const odd = {
      ...booking!,
      rawMode: `it's \\ "ünïcode" 🪔, {NULL}`,
      warnings: [{ code: "LINK_NOT_RECOGNISED", pointer: "/linkId", detail: `"plink_77" isn't ours` }],
      linkId: null,
    };
    sample.bookings.splice(0, 1, odd);
    await writeBooks(database, [sample]);
    const key = { lenderId: sample.lenderId, loan: "MUM/2023/00123", reference: "pay_Nx81" };
    expect(await bookingsFor(database.em(), [key])).toEqual([odd]);
  });

  test("is found only under its own lender, loan and reference", async () => {
    const sample = new SampleCase(newId(), "LN-1").place(100n).pay(10n, { reference: "pay_1" });
    await writeBooks(database, [sample]);
    const key = { lenderId: sample.lenderId, loan: "LN-1", reference: "pay_1" };
    const strangers = [
      { ...key, lenderId: newId() },
      { ...key, loan: "LN-2" },
      { ...key, reference: "PAY_1" },
    ];
    for (const stranger of strangers) expect(await bookingsFor(database.em(), [stranger])).toEqual([]);
    expect(await bookingsFor(database.em(), [...strangers.slice(1), key])).toHaveLength(1);
  });

  test("counts as collected by its field partner if it was booked at or after `from` and before `to`", async () => {
    const sample = new SampleCase(newId()).place(500_000n).pay(250_000n).pay(1_000n);
    const { recordedAt } = sample.bookings[0]!;
    await writeBooks(database, [sample]);
    const later = new Date(recordedAt.getTime() + 1);
    const collected = { currency: "INR", payments: 2n, amountMinor: 251_000n };
    const { fieldPartnerId } = sample;
    expect(await collectedBy(database.em(), fieldPartnerId, { from: recordedAt, to: later })).toEqual([collected]);
    expect(await collectedBy(database.em(), fieldPartnerId, { from: later, to: new Date("2100-01-01") })).toEqual([]);
    expect(await collectedBy(database.em(), newId(), { from: recordedAt, to: later })).toEqual([]);
  });

  test("fails its whole transaction with a unique violation if its payment is already booked", async () => {
    const lenderId = newId();
    const first = new SampleCase(lenderId, "LN-1").place(1_000n).pay(400n, { reference: "pay_1" });
    await writeBooks(database, [first]);
    const repeat = new SampleCase(lenderId, "LN-1").pay(400n, { reference: "pay_1" });
    const other = new SampleCase(lenderId, "LN-2").place(700n).pay(100n);
    await expect(writeBooks(database, [other, repeat])).rejects.toSatisfy(isUniqueViolation);
    expect(await paymentsOf(database.em(), lenderId, "LN-2")).toEqual([]);
  });

  test("exists once after 20 concurrent transactions have booked the same payment", async () => {
    const sample = new SampleCase(newId(), "LN-1").place(1_000n);
    await writeBooks(database, [sample]);
    const outcomes = await Promise.allSettled(
      Array.from({ length: 20 }, () => {
        const copy = new SampleCase(sample.lenderId, "LN-1").pay(1_000n, { reference: "pay_1" });
        return transaction(database.em(), async (tx) => {
          bookPayments(tx, copy.bookings);
          postTransfers(tx, copy.bookings.flatMap(paymentPostings));
        });
      }),
    );
    expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    const failed = outcomes.filter((outcome) => outcome.status === "rejected");
    expect(failed.every(({ reason }) => isUniqueViolation(reason))).toBe(true);
    expect(await paymentsOf(database.em(), sample.lenderId, "LN-1")).toHaveLength(1);
  });

  test(
    "is written with one SQL statement per table, even in a batch of 32 cases of several lenders",
    { tags: "many-lenders" },
    async () => {
      const cases = Array.from({ length: 32 }, (_, index) => new SampleCase(newId(), `LN-${index}`).place(900n));
      await writeBooks(database, cases);
      for (const sample of cases) sample.pay(400n, { earnedMinor: 10n }).pay(600n, { earnedMinor: 12n });
      const keys = cases.map(({ lenderId, loan, bookings }) => ({ lenderId, loan, reference: bookings[0]!.reference }));
      sent.length = 0;
      await transaction(database.em(), async (tx) => {
        expect(await bookingsFor(tx, keys)).toEqual([]);
        bookPayments(
          tx,
          cases.flatMap(({ bookings }) => bookings),
        );
        postTransfers(
          tx,
          cases.flatMap(({ postings }) => postings),
        );
      });
      expect(sent.filter((name) => name.startsWith("ledger."))).toEqual([
        "ledger.bookings-for-of-many",
        "ledger.insert-payment_booking-of-many",
        "ledger.insert-transfer-of-many",
      ]);
      expect(await bookingsFor(database.em(), keys)).toHaveLength(32);
    },
  );
});

test("an empty batch sends no SQL statement", async () => {
  sent.length = 0;
  await transaction(database.em(), async (tx) => {
    expect([await bookingsFor(tx, []), await paymentsAfter(tx, [])]).toEqual([[], []]);
    bookPayments(tx, []);
    postTransfers(tx, []);
  });
  expect(sent.filter((name) => name.startsWith("ledger."))).toEqual([]);
});

describe("a loan's payments", () => {
  test("are returned newest first, up to the limit", async () => {
    const sample = new SampleCase(newId(), "LN-1").place(1_000n).pay(1n).pay(2n).pay(3n);
    await writeBooks(database, [sample]);
    const payments = await paymentsOf(database.em(), sample.lenderId, "LN-1", 2);
    expect(payments.map(({ amountMinor }) => amountMinor)).toEqual([3n, 2n]);
  });

  test("are returned if they were paid after the time that is given for this loan", async () => {
    const lenderId = newId();
    const cases = ["LN-1", "LN-2"].map((loan) => new SampleCase(lenderId, loan).place(1_000n).pay(1n).pay(2n));
    for (const { bookings } of cases) bookings[1] = { ...bookings[1]!, paidAt: new Date("2026-11-21T00:00:00Z") };
    await writeBooks(database, cases);
    const found = await paymentsAfter(database.em(), [
      { lenderId, loan: "LN-1", after: new Date("2026-11-20T12:00:00Z") },
      { lenderId, loan: "LN-2", after: new Date("2026-11-21T00:00:00Z") },
    ]);
    expect(found.map(({ sourceLoanNumber, amountMinor }) => [sourceLoanNumber, amountMinor])).toEqual([["LN-1", 2n]]);
    const ofAnotherLender = { lenderId: newId(), loan: "LN-1", after: new Date(0) };
    expect(await paymentsAfter(database.em(), [ofAnotherLender])).toEqual([]);
  });

  test("are returned page by page in the order of their ids", async () => {
    const sample = new SampleCase(newId()).place(1_000n).pay(1n).pay(2n).pay(3n);
    const ids = sample.bookings.map(({ id }) => id);
    await writeBooks(database, [sample]);
    const first = await bookingPage(database.em(), sample.lenderId, undefined, 2);
    const second = await bookingPage(database.em(), sample.lenderId, first.at(-1)?.id, 2);
    expect([...first, ...second].map(({ id }) => id)).toEqual(ids);
  });
});
