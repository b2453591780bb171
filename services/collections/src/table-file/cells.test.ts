import { currency } from "@collections/money";
import { describe, expect, test } from "vitest";
import { readAmountCell } from "./amount-cell.ts";
import { readIdentityCell, readYesCell } from "./cells.ts";
import { hasTimeOfDay, readDayCell, readMomentCell } from "./day-cell.ts";

const INR = currency("INR");

describe("an amount", () => {
  test.each([
    ["5000", "5000"],
    ["1,23,456.50", "123456.50"],
    ["12,34,56,789", "123456789"],
    ["1,234,567.5", "1234567.5"],
    ["₹ 5,000", "5000"],
    ["Rs.5000/-", "5000"],
    ["rs 250.25", "250.25"],
    ["INR 99", "99"],
    ["00750", "750"],
    ["0", "0"],
    ["0.00", "0.00"],
    [".50", "0.50"],
    ["1'234.50", "1234.50"],
    ["1 234.50", "1234.50"],
    ["500 INR", "500"],
  ])("%j is read as %s", (text, source) => {
    expect(readAmountCell(text, INR)).toEqual({ value: { source } });
  });

  test.each([
    ["-500", /below 0/],
    ["(500)", /below 0/],
    ["1.23457E+05", /lost digits in a spreadsheet/],
    ["1,23", /comma before its decimals/],
    ["1.234,50", /comma before its decimals/],
    ["1,2345", /comma before its decimals/],
    ["1,2,3", /is not an amount; write it as/],
    ["1e2", /lost digits/],
    ["1,23E+15", /lost digits/],
    [".", /is not an amount/],
    ["12 345", /is not an amount/],
    ["five", /is not an amount/],
    ["$ 5", /is not an amount/],
    ["1O0", /is not an amount/],
  ])("%j is rejected", (text, fault) => {
    expect(readAmountCell(text, INR)).toEqual({ fault: expect.stringMatching(fault) as string });
  });

  test("may begin with the symbol of its own currency, but not with the symbol of another currency", () => {
    expect(readAmountCell("KWD 1.125", currency("KWD"))).toEqual({ value: { source: "1.125" } });
    expect(readAmountCell("₹ 1.125", currency("KWD"))).toHaveProperty("fault");
  });
});

test.each([
  ["1.234,50 €", "1234.50"],
  ["1.500", "1500"],
  ["12,5", "12.5"],
  ["1 234 567,89", "1234567.89"],
  ["€ 0,99", "0.99"],
])("reads %j with a decimal comma as %s", (text, source) => {
  expect(readAmountCell(text, currency("EUR"), ",")).toEqual({ value: { source } });
});

describe("a day", () => {
  test.each([
    "05/12/2026",
    "5-12-2026",
    "5.12.26",
    "2026-12-05",
    "2026/12/5",
    "05-Dec-2026",
    "5 December 2026",
    "05DEC26",
    "5th Dec, 2026",
    "Dec 5, 2026",
    "December 05 2026",
    "05/12/2026 00:00:00",
    "2026-12-05T00:00:00.000",
    "2026-12-05 00:00:00+00",
    "2026-12-05T00:00:00.000Z",
    "20261205",
  ])("%j is read as 5 December 2026", (text) => {
    expect(readDayCell(text, "dmy")).toEqual({ value: "2026-12-05" });
  });

  test("is read with the month first if the order is mdy", () => {
    expect(readDayCell("12/05/2026", "mdy")).toEqual({ value: "2026-12-05" });
  });

  test("with the year 99 is read as a day of 1999", () => {
    expect(readDayCell("01/02/99", "dmy")).toEqual({ value: "1999-02-01" });
  });

  test("may be the 29th of February in a leap year", () => {
    expect(readDayCell("29/02/2028", "dmy")).toEqual({ value: "2028-02-29" });
  });

  test.each([
    ["12/25/2026", /not in the calendar. It was read with the day first; .*--date-order mdy/],
    ["31/02/2026", /not in the calendar/],
    ["29/02/2026", /not in the calendar/],
    ["46361", /a date that the spreadsheet exported as a number/],
    ["05/12-2026", /is not a day. Write it as/],
    ["5 Foo 2026", /is not a day/],
    ["tomorrow", /is not a day/],
    ["05/12/2026 10:30", /is not a day/],
  ])("%j is rejected", (text, fault) => {
    expect(readDayCell(text, "dmy")).toEqual({ fault: expect.stringMatching(fault) as string });
  });
});

describe("a moment", () => {
  test.each([
    ["20/11/2026 18:00", "Asia/Kolkata", "2026-11-20T12:30:00.000Z"],
    ["20-Nov-2026 06:05:09 PM", "Asia/Kolkata", "2026-11-20T12:35:09.000Z"],
    ["2026-11-20 12:00 am", "UTC", "2026-11-20T00:00:00.000Z"],
    ["01/07/2026 12:00", "Europe/Berlin", "2026-07-01T10:00:00.000Z"],
    ["01/11/2026 00:30", "America/New_York", "2026-11-01T04:30:00.000Z"],
    ["2026-11-20T18:00:00+05:30", "UTC", "2026-11-20T12:30:00.000Z"],
    ["2026-11-27 06:30:00+00", "Asia/Kolkata", "2026-11-27T06:30:00.000Z"],
    ["2026-11-27 12:00:00.123456+05:30", "UTC", "2026-11-27T06:30:00.123Z"],
    ["2026-11-27 06:30:00 UTC", "Asia/Kolkata", "2026-11-27T06:30:00.000Z"],
    ["2026-11-27 06:30:00.000 +0000 UTC", "Asia/Kolkata", "2026-11-27T06:30:00.000Z"],
    ["2026-11-27-12.00.00.000000", "Asia/Kolkata", "2026-11-27T06:30:00.000Z"],
    ["27-NOV-26 12.00.00.000000 PM", "Asia/Kolkata", "2026-11-27T06:30:00.000Z"],
    ["20261127T063000Z", "Asia/Kolkata", "2026-11-27T06:30:00.000Z"],
    ["20261127120000", "Asia/Kolkata", "2026-11-27T06:30:00.000Z"],
  ])("%j in the time zone %s is read as %s", (text, zone, moment) => {
    expect(readMomentCell(text, "dmy", { timeZone: zone, balanceCutoff: null })).toEqual({ value: moment });
    expect(hasTimeOfDay(text)).toBe(true);
  });

  test.each([
    ["20/11/2026", /has no time of day, .* or give the time of the file's balances with --as-of/],
    ["20/11/2026 25:00", /is not a time of day/],
    ["20/11/2026 13:00 pm", /is not a time of day/],
    ["40/11/2026 13:00", /not in the calendar/],
    ["noon", /is not a day/],
    ["20/11/2026", /or register the lender's --balance-cutoff/],
  ])("%j is rejected", (text, fault) => {
    const clocks = { timeZone: "UTC", balanceCutoff: null };
    expect(readMomentCell(text, "dmy", clocks)).toEqual({ fault: expect.stringMatching(fault) as string });
  });
});

test("reads a day without a time as the --as-of moment, or as the lender's balance cut-off on that day if --as-of is absent", () => {
  const india = { timeZone: "Asia/Kolkata", balanceCutoff: "23:59" };
  const asOf = "2026-11-20T12:30:00.000Z";
  expect(readMomentCell("20/11/2026", "dmy", india)).toEqual({ value: "2026-11-20T18:29:00.000Z" });
  expect(readMomentCell("20/11/2026", "dmy", india, asOf)).toEqual({ value: asOf });
  expect(readMomentCell("20/11/2026 09:00", "dmy", india, asOf)).toEqual({ value: "2026-11-20T03:30:00.000Z" });
  expect(readMomentCell("40/11/2026", "dmy", india, asOf)).toHaveProperty("fault");
  // 20:00 UTC is already the next day in India.
  expect(readMomentCell("21/11/2026", "dmy", india, "2026-11-20T20:00:00.000Z")).toHaveProperty("value");
  expect(readMomentCell("20/11/2026", "dmy", india, "2026-11-20T20:00:00.000Z")).toEqual({
    fault:
      '"20/11/2026" is 2026-11-20, but --as-of is on 2026-11-21. ' +
      "Give the time of this day with --as-of, or write 20/11/2026 18:00.",
  });
  const skipped = { timeZone: "Europe/Berlin", balanceCutoff: "02:30" };
  expect(readMomentCell("2026-03-29", "dmy", skipped)).toEqual({ value: "2026-03-29T01:30:00.000Z" });
});

test("removes `.0` from an identity only in a column of whole numbers", () => {
  expect(readIdentityCell("LN-1E5", true)).toEqual({ value: "LN-1E5" });
  expect(readIdentityCell("0004711.0", true)).toEqual({ value: "0004711" });
  expect(readIdentityCell("4711.0", false)).toEqual({ value: "4711.0" });
  expect(readIdentityCell("9.82E+09", true)).toHaveProperty("fault");
});

test.each(["Y", "yes", "1", "TRUE"])("reads the cell %s as yes", (text) =>
  expect(readYesCell(text)).toEqual({ value: true }),
);
test.each(["n", "No", "0", "false"])("reads the cell %s as no", (text) =>
  expect(readYesCell(text)).toEqual({ value: false }),
);
test('rejects the cell "maybe", which means neither yes nor no', () =>
  expect(readYesCell("maybe")).toHaveProperty("fault"));
