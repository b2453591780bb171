import { verifyBooks } from "@collections/flows";
import { sessionsWaitingForLocks } from "@collections/testing";
import { describe, expect, test } from "vitest";
import { aRow } from "../fixtures/fixture.ts";
import { HEADER, paymentFiles } from "./fixtures/payment-files.ts";

const files = paymentFiles();
const BOOKING = ["--confirm-missing", "--yes", "--reason", "lost"];

/** Stops the command before it books the page with a loan, and runs `act` meanwhile. */
async function whileBooking(path: string, loan: string, act: () => Promise<void>) {
  const locks = await files.holdLocks(
    "select from cases.collection_case where lender_id = $1 and source_loan_number = $2 for update",
    [await files.lenderId(), loan],
  );
  const ended = files.reconcile(path, ...BOOKING);
  await expect.poll(() => sessionsWaitingForLocks(files.service.app.database.pool)).toBe(1);
  await act();
  await locks.rollBack();
  return ended;
}

describe("a payment confirmed between comparison and booking", () => {
  test("under another reference is not booked again", async () => {
    await files.lender.importCases(["A-0", "A-1", "A-2", "A-3"].map((loan) => aRow(loan)));
    const path = files.aFile(
      HEADER,
      "A-0,U0,10,21/11/2026 12:00,UPI",
      "A-1,123,20,21/11/2026 12:00,UPI",
      "A-2,U2,30,21/11/2026 12:00,UPI",
      "A-3,U3,40,21/11/2026 12:00,UPI",
    );
    const { code, answer } = await whileBooking(path, "A-0", async () => {
      // The same payment with zeros, and with the reference of a link. The third is of another amount and reference.
      await files.confirm("A-1", "00123", 20, "2026-11-19T06:30:00Z");
      await files.confirm("A-2", "link_9", 30, "2026-11-21T09:00:00Z");
      await files.confirm("A-3", "U33", 41);
    });
    const refusal = { code: "REFERENCE_DIFFERS", detail: expect.stringContaining("under the reference") as unknown };
    expect({ code, answer }).toMatchObject({
      code: 6,
      answer: {
        counts: { onlyYours: 4 },
        confirmed: {
          booked: 2,
          alreadyBooked: 0,
          refusedCount: 2,
          refused: [
            { position: 3, loan: "A-1", reference: "123", ...refusal },
            { position: 4, loan: "A-2", reference: "U2", ...refusal },
          ],
        },
      },
    });
    expect(await files.stored()).toMatchObject({ bookings: 5 });
    const again = await files.cli(...files.args(path, ...BOOKING));
    expect(again.stdout).toContain("123 (booked as 00123)");
    expect(again.stdout).toContain("line 4: POST /api/v1/partner/cases/A-2/payments/confirm");
  });

  test("under the same reference counts as booked", async () => {
    await files.lender.importCases(["B-0", "B-1"].map((loan) => aRow(loan)));
    const path = files.aFile(HEADER, "B-0,U0,10,21/11/2026 12:00,UPI", "B-1,U1,20,21/11/2026 12:00,UPI");
    // A further payment of the same amount belongs to no row.
    const { code, answer } = await whileBooking(path, "B-0", async () => {
      await files.confirm("B-1", "U1", 20);
      await files.confirm("B-1", "U9", 20);
    });
    expect({ code, answer }).toMatchObject({
      code: 0,
      answer: { confirmed: { booked: 1, alreadyBooked: 1, refusedCount: 0 } },
    });
  });

  test("does not stop a row beside a payment of another row", async () => {
    await files.lender.importCases(["C-0", "C-1"].map((loan) => aRow(loan)));
    await files.confirm("C-1", "K1", 20);
    const path = files.aFile(
      HEADER,
      "C-0,U0,10,21/11/2026 12:00,UPI",
      "C-1,K1,20,21/11/2026 12:00,UPI",
      "C-1,U1,20,21/11/2026 12:00,UPI",
    );
    // The sequence of C-1 grows, but `K1` was known.
    const { code, answer } = await whileBooking(path, "C-0", () => files.confirm("C-1", "U9", 7));
    expect({ code, answer }).toMatchObject({
      code: 0,
      answer: { counts: { matched: 1, onlyYours: 2 }, confirmed: { booked: 2, alreadyBooked: 0, refusedCount: 0 } },
    });
  });

  test("is found on both pages, with several rows of one loan", async () => {
    const indexes = Array.from({ length: 70 }, (_, index) => String(index).padStart(3, "0"));
    // Two loans have rows of the same amount on both pages.
    const loanOf = new Map([
      ["068", "D-000"],
      ["069", "D-020"],
    ]);
    const loan = (index: string) => loanOf.get(index) ?? `D-${index}`;
    await files.lender.importCases(indexes.map((index) => aRow(`D-${index}`)));
    const path = files.aFile(HEADER, ...indexes.map((index) => `${loan(index)},U${index},10,21/11/2026 12:00,UPI`));
    const { code, answer } = await whileBooking(path, "D-000", async () => {
      await files.confirm("D-010", "X10", 10);
      await files.confirm("D-066", "X66", 10);
      await files.confirm("D-067", "U067", 10);
      // Belongs to the row on the second page, and not to `U020` on the first.
      await files.confirm("D-020", "U069", 10);
    });
    expect({ code, answer }).toMatchObject({
      code: 6,
      answer: {
        confirmed: {
          booked: 66,
          alreadyBooked: 2,
          refusedCount: 2,
          refused: [
            { reference: "U010", code: "REFERENCE_DIFFERS" },
            { reference: "U066", code: "REFERENCE_DIFFERS" },
          ],
        },
      },
    });
    expect(await files.stored()).toMatchObject({ bookings: 70 });
    const books = await verifyBooks(files.service.app.database.em(), {
      lenderId: await files.lenderId(),
      now: new Date(),
    });
    expect(books.problems).toEqual([]);
  });
});
