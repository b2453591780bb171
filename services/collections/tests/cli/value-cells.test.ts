import { currency as currencyOf } from "@collections/money";
import { beforeAll, describe, expect, test } from "vitest";
import { aLoan, csv, HEADER, INR, outcome, rest, startLenderFiles, type LenderFiles } from "./fixtures/lender-file.ts";

let importOf: LenderFiles["importOf"];

beforeAll(async () => {
  ({ importOf } = await startLenderFiles());
});

const USD = currencyOf("USD");

describe("a column of dates", () => {
  const DATES = `${HEADER},DNC Until`;
  const dates = (...days: string[]) => {
    const names = days.map(aLoan);
    return { names, content: csv(DATES, ...days.map((day, index) => `${names[index]},${rest},${day}`)) };
  };

  test.each([
    ["12/25/2026", "12/03/2026", "2026-12-25", "2026-12-03"],
    ["25/12/2026", "03/12/2026", "2026-12-25", "2026-12-03"],
    ["12-31-26", "01-02-27", "2026-12-31", "2027-01-02"],
    ["25.12.2026", "03.12.2026", "2026-12-25", "2026-12-03"],
  ])("with %s and %s proves its order", async (first, second, firstDay, secondDay) => {
    const { names, content } = dates(first, second);
    const stored = { [names[0]!]: { dnc: firstDay }, [names[1]!]: { dnc: secondDay } };
    const [low, high] = [firstDay, secondDay].toSorted();
    expect(await importOf({ content })).toMatchObject(
      outcome({
        stored,
        answer: { reading: [{}, { column: "DNC Until", decidedBy: "cells", first: low, last: high }] },
      }),
    );
  });

  test.each([
    ["two orders", ["12/25/2026", "25/12/2026"], [], /"DNC Until" is written in two ways.*--date-order/],
    ["another order than the option", ["12/25/2026"], ["--date-order", "dmy"], /but --date-order is dmy/],
    ["another order than this option", ["25/12/2026"], ["--date-order", "mdy"], /but --date-order is mdy/],
  ])("with %s stops the file before a row is applied", async (_, days, options, refused) => {
    expect(await importOf({ content: dates("03/04/2026", ...days).content, options })).toMatchObject(
      outcome({ stored: {}, refused }),
    );
  });

  test.each([
    ["IN", [], "2026-12-03", "country"],
    ["US", [], "2026-03-12", "country"],
    ["IN", ["--date-order", "mdy"], "2026-03-12", "option"],
  ])("that leaves both readings open is read as usual in %s with %j", async (country, options, day, decidedBy) => {
    const { names, content } = dates("03/12/2026");
    const answer = { reading: [{}, { decidedBy, open: { line: 2, text: "03/12/2026" }, first: day, last: day }] };
    expect(await importOf({ content, country, options, currency: country === "US" ? USD : INR })).toMatchObject(
      outcome({ stored: { [names[0]!]: { dnc: day } }, answer }),
    );
  });

  test("that leaves both readings open is read like the other columns", async () => {
    const loan = aLoan();
    const content = csv(`${DATES},Next Due Date`, `${loan},${rest},12/03/2026,12/25/2026`);
    expect(await importOf({ content })).toMatchObject(
      outcome({
        stored: { [loan]: { dnc: "2026-12-03", due: "2026-12-25" } },
        answer: { reading: [{}, { decidedBy: "other columns" }, {}] },
      }),
    );
  });

  test.each([
    ["2026-11-27 06:30:00+00", "2026-11-27T06:30:00.000Z"],
    ["2026-11-27T12:00:00.123+05:30", "2026-11-27T06:30:00.123Z"],
    ["2026-11-27 06:30:00 UTC", "2026-11-27T06:30:00.000Z"],
    ["27-NOV-26 12.00.00.000000 PM", "2026-11-27T06:30:00.000Z"],
    ["2026-11-27-12.00.00.000000", "2026-11-27T06:30:00.000Z"],
    ["20261127T063000Z", "2026-11-27T06:30:00.000Z"],
  ])("may have timestamps such as %s", async (cell, moment) => {
    const loan = aLoan();
    const content = csv(`${HEADER},As Of`, `${loan},${rest},${cell}`);
    expect(await importOf({ content })).toMatchObject(outcome({ stored: { [loan]: { asOf: moment } } }));
  });
});

describe("a column of amounts", () => {
  const amounts = (...cells: string[]) => {
    const names = cells.map(aLoan);
    const rows = cells.map((cell, index) => `${names[index]};Ravi Kumar;+919820000001;${cell}`);
    return { names, content: csv("Loan No;Customer Name;Mob No;POS", ...rows) };
  };

  test.each([
    ["EUR", "IN", ["1.234,50", "1.500"], ["123450", "150000"]],
    ["EUR", "IN", ["12,5", "1.500"], ["1250", "150000"]],
    ["EUR", "DE", ["1,234.50", "1,500"], ["123450", "150000"]],
    ["EUR", "DE", ["1 234,50 €", "€ 7,00"], ["123450", "700"]],
    ["TND", "TN", ["1.125,500", "125,500"], ["1125500", "125500"]],
    ["INR", "IN", ["1,23,456.50", "1,500"], ["12345650", "150000"]],
    ["INR", "DE", ["1.23.456,50", "1.500"], ["12345650", "150000"]],
    ["USD", "US", [".50", "1'234.00"], ["50", "123400"]],
  ])("in %s of a lender in %s with %j proves its decimal sign", async (currency, country, cells, minor) => {
    const { names, content } = amounts(...cells);
    const stored = Object.fromEntries(names.map((name, index) => [name, { pos: minor[index] }]));
    expect(await importOf({ content, currency: currencyOf(currency), country })).toMatchObject(
      outcome({ stored, answer: { reading: [{ decidedBy: "cells" }] } }),
    );
  });

  test.each([
    ["two signs", ["1.234,50", "1,234.50"], [], /"POS" is written in two ways.*--decimal/],
    ["one cell of two signs", ["1,23,456", "12,34"], [], /"POS" is written in two ways.*--decimal/],
    ["another sign than the option", ["1.234,50"], ["--decimal", "point"], /but --decimal is point/],
    ["another sign than this option", ["1,234.50"], ["--decimal", "comma"], /but --decimal is comma/],
  ])("with %s stops the file before a row is applied", async (_, cells, options, refused) => {
    expect(await importOf({ content: amounts("1000", ...cells).content, options })).toMatchObject(
      outcome({ stored: {}, refused }),
    );
  });

  test.each([
    ["EUR", "DE", [], "1.500", "150000", "country"],
    ["EUR", "IN", [], "1.500", "150", "country"],
    ["TND", "TN", [], "125,500", "125500", "country"],
    ["INR", "IN", ["--decimal", "comma"], "1.500", "150000", "option"],
  ])("in %s that is open is read as usual in %s with %j", async (currency, country, options, cell, pos, decidedBy) => {
    const { names, content } = amounts(cell);
    const answer = { reading: [{ column: "POS", decidedBy, open: { line: 2, text: cell } }] };
    expect(await importOf({ content, currency: currencyOf(currency), country, options })).toMatchObject(
      outcome({ stored: { [names[0]!]: { pos } }, answer }),
    );
  });

  test("is shown with smallest, largest and sum", async () => {
    const { names, content } = amounts("1000", "5", "2.50");
    const range = { currency: "INR", smallest: "2.50", largest: "1000.00", sum: "1007.50" };
    const stored = Object.fromEntries(names.map((name) => [name, {}]));
    expect(await importOf({ content })).toMatchObject(outcome({ stored, answer: { reading: [{ amounts: [range] }] } }));
  });

  test.each(["1e2", "1E+05", '"1,5E+05"'])("has no amount %s", async (cell) => {
    const { content } = amounts(cell);
    expect(await importOf({ content })).toMatchObject(outcome({ stored: {}, rejected: [[2, /lost digits/]] }));
  });
});

describe("a cell of phones", () => {
  test.each([
    ["0919822012345", "+919822012345", []],
    ["९८२२०१२३४५", "+919822012345", []],
    ["9822012345 (office)", "+919822012345", []],
    ["9822012345.0", "+919822012345", []],
    ["'+919822012345", "+919822012345", []],
    ["\u202A+91 09822012345\u202C", "+919822012345", []],
    ["9822012345 / 9822012346", "+919822012345", ["+919822012346"]],
    ['"9822012345, 9822012346 wife; 9822012347"', "+919822012345", ["+919822012346", "+919822012347"]],
  ])("%j is stored as %s with the alternates %j", async (cell, phone, alternates) => {
    const loan = aLoan();
    expect(await importOf({ content: csv(HEADER, `${loan},Ravi Kumar,${cell},500`) })).toMatchObject(
      outcome({ stored: { [loan]: { phone, alternates } } }),
    );
  });

  test.each(["0000000000", "982201234", "98220123456", "+91 0000000000"])("%j is no number in India", async (cell) => {
    const rejected = [[2, /"Mob No": There is no such number in IN/]] as const;
    expect(await importOf({ content: csv(HEADER, `${aLoan()},Ravi Kumar,${cell},500`) })).toMatchObject(
      outcome({ stored: {}, rejected }),
    );
  });

  test("is shown as stored, also in the reason of a rejected row", async () => {
    const loan = aLoan();
    const content = csv(
      `${HEADER},Currency`,
      `${loan},Ravi Kumar,098220 12345,500,`,
      `${aLoan()},,0919822012346,500,`,
      `${aLoan()},Ravi Kumar,+919822012347,500,Rupees`,
      `${aLoan()},Ravi Kumar,9822012348 (office),5 00,`,
    );
    const read = (phone: string) => new RegExp(`column "Mob No": The phone is read as \\${phone}\\.$`);
    expect(await importOf({ content })).toMatchObject(
      outcome({
        stored: { [loan]: { phone: "+919822012345" } },
        rejected: [
          [3, read("+919822012346")],
          [4, /^column "Currency": [^:]*$/],
          [5, read("+919822012348")],
        ],
        answer: { examples: { created: [{ borrowerPhone: "+919822012345" }] } },
      }),
    );
  });

  test("of alternates is left out alone", async () => {
    const loan = aLoan();
    const content = csv(`${HEADER},Alt Mobile,Mobile 2`, `${loan},${rest},0000000000,9822012346`);
    const leftOut = [[2, /There is no such number in IN/]] as const;
    expect(await importOf({ content })).toMatchObject(
      outcome({ stored: { [loan]: { alternates: ["+919822012346"] } }, leftOut }),
    );
  });
});
