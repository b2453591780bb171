import { currency } from "@collections/money";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  type BookedPayment,
  type ComparedItem,
  Comparison,
  type ComparisonTotals,
  type FoundDifference,
  isFar,
  isIn,
  type Leftover,
  type ReportedPayment,
} from "./comparison.ts";
import { pairAcrossLoans } from "./pair-across-loans.ts";
import { type LoanPayment, pairOnLoan } from "./pair-on-loan.ts";

const INR = currency("INR");
const window = { from: new Date("2026-11-20T18:30:00Z"), to: new Date("2026-11-21T18:30:00Z") };
const NOON = new Date("2026-11-21T06:30:00Z");
const LATER = new Date("2026-11-21T18:30:00Z");
const FAR = new Date("2026-05-11T06:30:00Z");

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

const rules = { window, dayOf: (at: Date) => new Date(at.getTime() + 5.5 * 3_600_000).toISOString().slice(0, 10) };

/** Compares in the three steps of a run. `parts` has the `partOf` of payments by their booking ids. */
function compare(
  rows: readonly ReportedPayment[],
  payments: readonly BookedPayment[],
  parts: Readonly<Record<string, string>> = {},
): { found: FoundDifference[]; totals: ComparisonTotals } {
  const comparison = new Comparison(window);
  const isWhole = ({ loan, reference }: BookedPayment) =>
    payments.some((one) => one.loan === loan && parts[one.bookingId] === reference);
  const isStaged = (one: BookedPayment) =>
    !isFar(window, one.paidAt) || rows.some(({ loan, reference }) => loan === one.loan && reference === one.reference);
  for (const item of inOrder(rows, payments.filter(isStaged))) {
    comparison.add("payment" in item && isWhole(item.payment) ? { ...item, hasParts: true } : item);
  }
  comparison.end();
  const { differences, leftovers } = comparison.take();
  const found = [...differences];
  const restRows: ReportedPayment[] = [];
  const restPayments: BookedPayment[] = [];
  for (const [loan, ofLoan] of Map.groupBy(leftovers, loanOf)) {
    const staged = new Set(ofLoan.flatMap((one) => (one.kind === "row" ? [] : [one.payment])));
    const distant = payments.filter(
      (one) =>
        one.loan === loan && isFar(window, one.paidAt) && one.amountMinor > one.reversedMinor && !staged.has(one),
    );
    const near = ofLoan.flatMap((one) => (one.kind === "payment" ? [one.payment] : []));
    const result = pairOnLoan(
      {
        rows: ofLoan.flatMap((one) => (one.kind === "row" ? [one.row] : [])),
        pairs: ofLoan.flatMap((one) => (one.kind === "pair" ? [one] : [])),
        payments: [...near, ...distant].map((one): LoanPayment => ({ ...one, partOf: parts[one.bookingId] ?? null })),
      },
      rules,
    );
    found.push(...result.differences);
    comparison.correct(result.matched, result.ours);
    restRows.push(...result.rows);
    restPayments.push(...result.payments);
  }
  const references = Map.groupBy([...restRows, ...restPayments], ({ reference }) => reference).keys();
  for (const reference of references) {
    const result = pairAcrossLoans({
      rows: restRows.filter((one) => one.reference === reference),
      payments: restPayments.filter((one) => one.reference === reference),
      elsewhere: payments.filter((one) => one.reference === reference && one.amountMinor > one.reversedMinor),
    });
    found.push(...result.differences);
    const inWindow = result.payments.filter(({ paidAt }) => isIn(window, paidAt));
    found.push(...inWindow.map((one) => ({ list: "onlyOurs" as const, row: null, payment: one })));
  }
  return { found, totals: comparison.totals() };
}

function loanOf(leftover: Leftover): string {
  return leftover.kind === "row" ? leftover.row.loan : leftover.payment.loan;
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
      "a row more than a day later",
      row("U1", "LN-1", 500n, { paidAt: FAR }),
      payment("U1", "LN-1", 500n),
      ["outsideWindow LN-1/LN-1"],
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
    expect(listsOf([row("U1", "LN-1", 500n)], [payment("U2", "LN-1", 501n)])).toEqual([
      "onlyYours LN-1/-",
      "onlyOurs -/LN-1",
    ]);
  });

  test("with the same reference are onOtherLoan, whatever their amounts", () => {
    expect(listsOf([row("U1", "LN-1", 500n)], [payment("U1", "LN-2", 700n)])).toEqual(["onOtherLoan LN-1/LN-2"]);
  });

  test("with the same reference are paired by amount first", () => {
    const rows = [row("U1", "LN-1", 500n), row("U1", "LN-2", 700n), row("U1", "LN-5", 1n)];
    const payments = [payment("U1", "LN-3", 700n), payment("U1", "LN-4", 900n)];
    expect(listsOf(rows, payments)).toEqual([
      "onOtherLoan LN-1/LN-4",
      "onOtherLoan LN-2/LN-3",
      "onOtherLoan LN-5/LN-3",
    ]);
  });

  test.each([
    ["matches its own row", [row("U1", "LN-2", 500n)], payment("U1", "LN-2", 500n)],
    ["has another amount and day", [], payment("U1", "LN-2", 900n, { paidAt: FAR })],
  ])("are onOtherLoan if the payment of the other loan %s", (_title, rows, booked) => {
    expect(listsOf([row("U1", "LN-1", 500n), ...rows], [booked])).toEqual(["onOtherLoan LN-1/LN-2"]);
  });

  test("are not paired if the payment of the other loan was reversed in full", () => {
    const reversed = payment("U1", "LN-2", 500n, { reversedMinor: 500n });
    expect(listsOf([row("U1", "LN-1", 500n)], [reversed])).toEqual(["onlyYours LN-1/-"]);
  });
});

describe("a row and a payment of the same loan with different references", () => {
  test.each([
    ["004122", "4122"],
    ["'4122", "4122"],
    ["utr-41 22", "UTR4122"],
    ["4122.0", "4122"],
    ['="4122"', "4122"],
  ])("are referenceDiffers for %s and %s, whatever the amount and day", (ofRow, booked) => {
    const paidAt = FAR;
    expect(listsOf([row(ofRow, "LN-1", 500n)], [payment(booked, "LN-1", 700n, { paidAt })])).toEqual([
      "referenceDiffers LN-1/LN-1",
    ]);
  });

  test.each([
    ["000", "00"],
    ["-", "'"],
    ["U1.5", "U15"],
    ["U01", "U1"],
  ])("are not paired by reference for %s and %s", (ofRow, booked) => {
    expect(listsOf([row(ofRow, "LN-1", 500n)], [payment(booked, "LN-1", 700n)])).toEqual([
      "onlyYours LN-1/-",
      "onlyOurs -/LN-1",
    ]);
  });

  test("are referenceDiffers with the same amount on the same local day", () => {
    const justBefore = new Date("2026-11-20T18:29:59Z");
    const rows = [row("A", "LN-1", 500n), row("B", "LN-2", 500n, { paidAt: null })];
    expect(listsOf(rows, [payment("Z", "LN-1", 500n)])).toContain("referenceDiffers LN-1/LN-1");
    expect(listsOf(rows, [payment("Z", "LN-2", 500n)])).toContain("referenceDiffers LN-2/LN-2");
    expect(listsOf([rows[0]!], [payment("Z", "LN-1", 500n, { paidAt: justBefore })])).toEqual(["onlyYours LN-1/-"]);
  });

  test("are referenceDiffers with the amount before or after a partial reversal", () => {
    const booked = payment("Z", "LN-1", 500n, { reversedMinor: 100n });
    expect(listsOf([row("A", "LN-1", 400n)], [booked])).toEqual(["referenceDiffers LN-1/LN-1"]);
    expect(listsOf([row("A", "LN-1", 500n)], [booked])).toEqual(["referenceDiffers LN-1/LN-1"]);
  });

  test("are all referenceDiffers if more rows than payments could be meant", () => {
    const rows = [row("A", "LN-1", 500n), row("B", "LN-1", 500n), row("C", "LN-1", 501n)];
    expect(listsOf(rows, [payment("Z", "LN-1", 500n)])).toEqual([
      "referenceDiffers LN-1/LN-1",
      "referenceDiffers LN-1/LN-1",
      "onlyYours LN-1/-",
    ]);
  });

  test("leave a payment to the row with its own reference", () => {
    const rows = [row("Z", "LN-1", 500n), row("A", "LN-1", 500n)];
    expect(listsOf(rows, [payment("Z", "LN-1", 500n)])).toEqual(["onlyYours LN-1/-"]);
  });

  test("are not paired if the payment was reversed in full", () => {
    const reversed = payment("04122", "LN-1", 500n, { reversedMinor: 500n });
    expect(listsOf([row("4122", "LN-1", 500n)], [reversed])).toEqual(["onlyYours LN-1/-"]);
  });
});

describe("a row outside the window without a payment", () => {
  test.each([
    [LATER, "otherDay"],
    [FAR, "outsideWindow"],
  ])("at %s is %s", (paidAt, list) => {
    expect(listsOf([row("U1", "LN-1", 500n, { paidAt })], [])).toEqual([`${list} LN-1/-`]);
  });
});

describe("rows with the same loan and reference and different amounts", () => {
  const rows = [row("U1", "LN-1", 300n, { position: 2 }), row("U1", "LN-1", 200n, { position: 3 })];

  test("are all rejected if no payment is booked", () => {
    const { found, totals } = compare(rows, []);
    expect(found).toMatchObject([
      { list: "rejected", row: { position: 2 }, conflicting: [2, 3] },
      { list: "rejected", row: { position: 3 }, conflicting: [2, 3] },
    ]);
    expect(totals).toMatchObject({ matched: 0, yours: [] });
  });

  test("leave the row with the booked amount", () => {
    const { found, totals } = compare(rows, [payment("U1", "LN-1", 200n)]);
    expect(found).toMatchObject([{ list: "rejected", row: { position: 2 } }]);
    expect(totals).toMatchObject({ matched: 1, yours: [{ count: 1, amountMinor: 200n }] });
  });
});

describe("a payment with a part", () => {
  const parts = { "LN-1 Q": "P" };
  const [whole, part] = [payment("P", "LN-1", 100n), payment("Q", "LN-1", 20n)];
  const later = { ...part, paidAt: new Date("2026-11-29T06:30:00Z") };
  const isOne = [{ currency: INR, count: 1, amountMinor: 120n }];

  test.each([
    ["of the same day", part],
    ["of another day", later],
  ])("matches a row with the sum if the part is %s", (_title, one) => {
    const { found, totals } = compare([row("P", "LN-1", 120n)], [whole, one], parts);
    expect({ found, matched: totals.matched, ours: totals.ours }).toEqual({ found: [], matched: 1, ours: isOne });
  });

  test("matches two rows that list both", () => {
    const { found, totals } = compare([row("P", "LN-1", 100n), row("Q", "LN-1", 20n)], [whole, part], parts);
    expect({ found, matched: totals.matched }).toEqual({ found: [], matched: 2 });
    expect(totals.ours).toEqual([{ currency: INR, count: 2, amountMinor: 120n }]);
  });

  test.each([
    ["part of the same day", part],
    ["part of another day", later],
  ])("differs from a row with the first amount by the %s", (_title, one) => {
    const { found } = compare([row("P", "LN-1", 100n)], [whole, one], parts);
    expect(found).toMatchObject([{ list: "amountDiffers", payment: { reference: "P", amountMinor: 120n } }]);
  });

  test("is onlyOurs with the sum if no row lists it", () => {
    const { found } = compare([], [whole, part], parts);
    expect(found).toMatchObject([{ list: "onlyOurs", payment: { reference: "P", amountMinor: 120n } }]);
  });

  test("is paired with a row of another reference and the sum", () => {
    const { found } = compare([row("X", "LN-1", 120n)], [whole, part], parts);
    expect(found).toMatchObject([{ list: "referenceDiffers", payment: { reference: "P", amountMinor: 120n } }]);
  });

  test("counts in its own window, not in the window of the part", () => {
    const { found, totals } = compare([], [{ ...whole, paidAt: FAR }, part], parts);
    expect({ found, ours: totals.ours }).toEqual({ found: [], ours: [] });
  });

  test("that is unknown leaves the part as a payment of its own", () => {
    const { found } = compare([], [part], parts);
    expect(found).toMatchObject([{ list: "onlyOurs", payment: { reference: "Q", amountMinor: 20n } }]);
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

test("the memory does not grow with the rows of one reference", () => {
  const comparison = new Comparison(window);
  for (let index = 0; index < 5_000; index += 1) {
    comparison.add({ row: row("CASH", `LN-${10_000 + index}`, BigInt(index + 1)) });
    expect(comparison.take().leftovers).toHaveLength(index === 0 ? 0 : 1);
  }
});

test("each row and each payment of the window is in exactly one list or matches", () => {
  const key = fc.record({
    reference: fc.constantFrom("A", "a", "0A", "B", "C"),
    loan: fc.constantFrom("1", "2", "3"),
  });
  const paidAt = fc.constantFrom(window.from, NOON, LATER, FAR);
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
      expect(new Set(rowsFound).size).toBe(rowsFound.length);
      expect(rowsFound.length + totals.matched).toBe(ofLender.length);
      const matched = new Set(ofLender.filter((one) => !rowsFound.includes(one)).map(keyOf));
      const listsByPayment = Map.groupBy(
        found.filter((one) => one.payment !== null),
        (one) => keyOf(one.payment!),
      );
      for (const one of booked) {
        const lists = new Set(listsByPayment.get(keyOf(one))?.map(({ list }) => list));
        // A row of another loan shows its payment in `onOtherLoan`, also if the payment belongs to a row of its own loan.
        if (lists.size > 1 || matched.has(keyOf(one))) lists.delete("onOtherLoan");
        const isExpected = one.paidAt < window.to && one.paidAt >= window.from && one.amountMinor > one.reversedMinor;
        const places = lists.size + (matched.has(keyOf(one)) ? 1 : 0);
        expect(places, keyOf(one)).toBeGreaterThanOrEqual(isExpected ? 1 : 0);
        expect(places, keyOf(one)).toBeLessThanOrEqual(1);
      }
      for (const { list, row: missing } of found) {
        if (list !== "onlyYours") continue;
        const isBookedElsewhere = booked.some(
          (one) =>
            one.reference === missing!.reference && one.loan !== missing!.loan && one.amountMinor > one.reversedMinor,
        );
        expect(isBookedElsewhere).toBe(false);
        expect(missing!.paidAt === null || isIn(window, missing!.paidAt)).toBe(true);
      }
    }),
    { numRuns: 2_000 },
  );
});

function keyOf({ loan, reference }: { readonly loan: string; readonly reference: string }): string {
  return `${loan} ${reference}`;
}
