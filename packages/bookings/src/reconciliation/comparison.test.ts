import { currency } from "@collections/money";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  type BookedPayment,
  type ComparedItem,
  Comparison,
  type ComparisonTotals,
  type FoundDifference,
  pairElsewhere,
  type ReportedPayment,
} from "./comparison.ts";

const INR = currency("INR");
const window = { from: new Date("2026-11-20T18:30:00Z"), to: new Date("2026-11-21T18:30:00Z") };
const NOON = new Date("2026-11-21T06:30:00Z");
const LATER = new Date("2026-11-21T18:30:00Z");

function row(
  reference: string,
  loan: string,
  amountMinor: bigint,
  more: Partial<ReportedPayment> = {},
): ReportedPayment {
  return {
    position: 0,
    loan,
    reference,
    amountMinor,
    currency: INR,
    paidAt: NOON,
    mode: null,
    isLoanKnown: true,
    ...more,
  };
}

function payment(
  reference: string,
  loan: string,
  amountMinor: bigint,
  more: Partial<BookedPayment> = {},
): BookedPayment {
  const bookingId = `${loan} ${reference}`;
  return { bookingId, loan, reference, amountMinor, reversedMinor: 0n, currency: INR, paidAt: NOON, ...more };
}

/** Merges both sides in the order that a comparison needs. */
function inOrder(rows: readonly ReportedPayment[], payments: readonly BookedPayment[]): ComparedItem[] {
  const keyed = [
    ...rows.map((one) => ({ key: [one.reference, one.loan, 0, one.position], item: { row: one } })),
    ...payments.map((one) => ({ key: [one.reference, one.loan, 1, 0], item: { payment: one } })),
  ];
  return keyed.toSorted((a, b) => compareKeys(a.key, b.key)).map(({ item }) => item);
}

function compareKeys(a: readonly (string | number)[], b: readonly (string | number)[]): number {
  const at = a.findIndex((part, index) => part !== b[index]);
  return at === -1 ? 0 : a[at]! < b[at]! ? -1 : 1;
}

function compare(
  rows: readonly ReportedPayment[],
  payments: readonly BookedPayment[],
): { found: FoundDifference[]; totals: ComparisonTotals } {
  const comparison = new Comparison(window);
  const found = inOrder(rows, payments).flatMap((item) => comparison.add(item));
  found.push(...comparison.end());
  return { found, totals: comparison.totals() };
}

function listsOf(rows: readonly ReportedPayment[], payments: readonly BookedPayment[]): string[] {
  return compare(rows, payments).found.map(
    ({ list, row: ofLender, payment: booked }) => `${list} ${ofLender?.loan ?? "-"}/${booked?.loan ?? "-"}`,
  );
}

describe("a row and a payment with the same loan and reference", () => {
  test.each([
    ["the same amount", row("U1", "LN-1", 500n), payment("U1", "LN-1", 500n), []],
    ["another amount", row("U1", "LN-1", 500n), payment("U1", "LN-1", 501n), ["amountDiffers LN-1/LN-1"]],
    [
      "another currency",
      row("U1", "LN-1", 500n, { currency: currency("KWD") }),
      payment("U1", "LN-1", 500n),
      ["amountDiffers LN-1/LN-1"],
    ],
    ["no time in the row", row("U1", "LN-1", 500n, { paidAt: null }), payment("U1", "LN-1", 500n), []],
    [
      "a payment at the end of the window, which is not included",
      row("U1", "LN-1", 500n),
      payment("U1", "LN-1", 500n, { paidAt: LATER }),
      ["otherDay LN-1/LN-1"],
    ],
    [
      "a payment at the beginning of the window",
      row("U1", "LN-1", 500n),
      payment("U1", "LN-1", 500n, { paidAt: window.from }),
      [],
    ],
    [
      "a row of the next day",
      row("U1", "LN-1", 500n, { paidAt: LATER }),
      payment("U1", "LN-1", 500n),
      ["otherDay LN-1/LN-1"],
    ],
    [
      "another amount on another day",
      row("U1", "LN-1", 400n),
      payment("U1", "LN-1", 500n, { paidAt: LATER }),
      ["amountDiffers LN-1/LN-1"],
    ],
    [
      "a payment that was reversed in full",
      row("U1", "LN-1", 500n),
      payment("U1", "LN-1", 500n, { reversedMinor: 500n }),
      ["reversed LN-1/LN-1"],
    ],
    [
      "a payment that was reversed in part, and its first amount",
      row("U1", "LN-1", 500n),
      payment("U1", "LN-1", 500n, { reversedMinor: 100n }),
      ["reversed LN-1/LN-1"],
    ],
    [
      "a payment that was reversed in part, and the rest",
      row("U1", "LN-1", 400n),
      payment("U1", "LN-1", 500n, { reversedMinor: 100n }),
      [],
    ],
  ])("%s", (_title, ofLender, booked, expected) => {
    expect(listsOf([ofLender], [booked])).toEqual(expected);
    expect(compare([ofLender], [booked]).totals.matched).toBe(expected.length === 0 ? 1 : 0);
  });
});

describe("a row without a payment and a payment without a row", () => {
  test("are onlyYours and onlyOurs", () => {
    expect(listsOf([row("U1", "LN-1", 500n)], [payment("U2", "LN-1", 500n)])).toEqual([
      "onlyYours LN-1/-",
      "onlyOurs -/LN-1",
    ]);
  });

  test("with the same reference are onOtherLoan, whatever their amounts", () => {
    expect(listsOf([row("U1", "LN-1", 500n)], [payment("U1", "LN-2", 700n)])).toEqual(["onOtherLoan LN-1/LN-2"]);
  });

  test("with the same reference are paired by amount, and the last two with each other", () => {
    const rows = [row("U1", "LN-1", 500n), row("U1", "LN-2", 700n)];
    const payments = [payment("U1", "LN-3", 700n), payment("U1", "LN-4", 900n)];
    expect(listsOf(rows, payments)).toEqual(["onOtherLoan LN-2/LN-3", "onOtherLoan LN-1/LN-4"]);
  });

  test("are not paired by a reference that several rows and payments have with different amounts", () => {
    const rows = [row("CASH", "LN-1", 500n), row("CASH", "LN-2", 600n)];
    const payments = [payment("CASH", "LN-3", 700n), payment("CASH", "LN-4", 900n)];
    expect(listsOf(rows, payments)).toEqual([
      "onlyYours LN-1/-",
      "onlyYours LN-2/-",
      "onlyOurs -/LN-3",
      "onlyOurs -/LN-4",
    ]);
  });

  test("are not paired if another loan has the payment of the row", () => {
    const rows = [row("U1", "LN-1", 500n), row("U1", "LN-2", 500n)];
    expect(listsOf(rows, [payment("U1", "LN-2", 500n)])).toEqual(["onlyYours LN-1/-"]);
  });
});

test("a payment outside the window without a row is ignored", () => {
  const { found, totals } = compare([], [payment("U1", "LN-1", 500n, { paidAt: LATER })]);
  expect({ found, ours: totals.ours }).toEqual({ found: [], ours: [] });
});

test("a payment that was reversed in full and has no row is ignored and not counted", () => {
  const { found, totals } = compare([], [payment("U1", "LN-1", 500n, { reversedMinor: 500n })]);
  expect({ found, ours: totals.ours }).toEqual({ found: [], ours: [] });
});

test("the second row with the same loan and reference is rejected and names the first row", () => {
  const rows = [row("U1", "LN-1", 500n, { position: 3 }), row("U1", "LN-1", 500n, { position: 7 })];
  const { found, totals } = compare(rows, [payment("U1", "LN-1", 500n)]);
  expect(found).toMatchObject([{ list: "rejected", row: { position: 7 }, duplicateOf: 3 }]);
  expect(totals).toMatchObject({ matched: 1, yours: [{ currency: INR, count: 1, amountMinor: 500n }] });
});

test("counts and sums are by currency, and those of payments are net of reversals", () => {
  const JPY = currency("JPY");
  const rows = [row("U1", "LN-1", 500n), row("U2", "LN-2", 700n, { currency: JPY })];
  const payments = [payment("U1", "LN-1", 600n, { reversedMinor: 100n }), payment("U3", "LN-3", 50n)];
  expect(compare(rows, payments).totals).toMatchObject({
    yours: [
      { currency: INR, count: 1, amountMinor: 500n },
      { currency: JPY, count: 1, amountMinor: 700n },
    ],
    ours: [{ currency: INR, count: 2, amountMinor: 550n }],
  });
});

test("a reference on thousands of loans is reported before all its items were added", () => {
  const comparison = new Comparison(window);
  const rows = Array.from({ length: 5_000 }, (_, index) => row("CASH", `LN-${10_000 + index}`, BigInt(index + 1)));
  const during = rows.flatMap((one) => comparison.add({ row: one }));
  expect(during.length).toBeGreaterThan(3_900);
  const found = [...during, ...comparison.end()];
  expect(found.map(({ list }) => list)).toEqual(rows.map(() => "onlyYours"));
});

describe("a row without a payment in the window, and payments of other days", () => {
  const missing = [row("U1", "LN-1", 500n), row("U1", "LN-2", 500n), row("U2", "LN-3", 700n)].map((one) => ({
    list: "onlyYours" as const,
    row: one,
    payment: null,
  }));
  const lists = (...elsewhere: BookedPayment[]) =>
    pairElsewhere(missing, elsewhere).map(({ list, payment: paired }) => `${list} ${paired?.loan ?? "-"}`);

  test("are onOtherLoan if they have the same reference and amount, each payment once", () => {
    expect(lists(payment("U1", "LN-8", 500n))).toEqual(["onOtherLoan LN-8", "onlyYours -", "onlyYours -"]);
    expect(lists(payment("U1", "LN-8", 600n, { reversedMinor: 100n }), payment("U1", "LN-9", 500n))).toEqual([
      "onOtherLoan LN-8",
      "onOtherLoan LN-9",
      "onlyYours -",
    ]);
  });

  test("are not paired if their references, amounts or currencies differ", () => {
    const JPY = currency("JPY");
    const others = [
      payment("U2", "LN-8", 500n),
      payment("U1", "LN-9", 700n),
      payment("U1", "LN-9", 500n, { currency: JPY }),
    ];
    expect(lists(...others)).toEqual(["onlyYours -", "onlyYours -", "onlyYours -"]);
  });
});

test("each row and each payment of the window is in exactly one list or matches, whatever the lists contain", () => {
  const key = fc.record({ reference: fc.constantFrom("A", "B", "C"), loan: fc.constantFrom("1", "2", "3", "4") });
  const paidAt = fc.constantFrom(window.from, NOON, LATER);
  const amountMinor = fc.bigInt({ min: 1n, max: 3n });
  const rows = fc.array(fc.record({ key, amountMinor, paidAt: fc.option(paidAt) }), { maxLength: 12 });
  const bookings = fc.uniqueArray(
    fc.record({ key, amountMinor, paidAt, reversedMinor: fc.bigInt({ min: 0n, max: 3n }) }),
    {
      selector: ({ key: { reference, loan } }) => `${reference} ${loan}`,
    },
  );
  fc.assert(
    fc.property(rows, bookings, (someRows, someBookings) => {
      const ofLender = someRows.map((one, position) =>
        row(one.key.reference, one.key.loan, one.amountMinor, { position, paidAt: one.paidAt }),
      );
      const booked = someBookings.map((one) => {
        const reversedMinor = one.reversedMinor > one.amountMinor ? one.amountMinor : one.reversedMinor;
        return payment(one.key.reference, one.key.loan, one.amountMinor, { paidAt: one.paidAt, reversedMinor });
      });
      const { found, totals } = compare(ofLender, booked);
      const rowsFound = found.flatMap((one) => (one.row ? [one.row] : []));
      const paymentsFound = found.flatMap((one) => (one.payment ? [one.payment] : []));
      expect(new Set(rowsFound).size).toBe(rowsFound.length);
      expect(new Set(paymentsFound).size).toBe(paymentsFound.length);
      expect(rowsFound.length + totals.matched).toBe(ofLender.length);
      const matchedRows = ofLender.filter((one) => !rowsFound.includes(one));
      const expectedOurs = booked.filter(
        (one) => one.paidAt < window.to && one.amountMinor > one.reversedMinor && !paymentsFound.includes(one),
      );
      expect(expectedOurs.map(({ loan, reference }) => `${loan} ${reference}`).toSorted()).toEqual(
        matchedRows.map(({ loan, reference }) => `${loan} ${reference}`).toSorted(),
      );
    }),
  );
});
