import { beforeAll, describe, expect, test } from "vitest";
import { aLoan, csv, HEADER, outcome, rest, startLenderFiles, type LenderFiles } from "./fixtures/lender-file.ts";

let importOf: LenderFiles["importOf"];

beforeAll(async () => {
  ({ importOf } = await startLenderFiles());
});

describe("a loan number that a spreadsheet or an export has changed", () => {
  test.each([
    ['="A001234"', "A001234"],
    ['"=""B001234"""', "B001234"],
    ['=""C001234""', "C001234"],
    ['"= ""D 12"""', "D 12"],
    ["'0005678", "0005678"],
    ['"="" E-1 """', "E-1"],
    ["\u00A00005679\u200B", "0005679"],
  ])("is read from the cell %s as %s", async (cell, loan) => {
    expect(await importOf({ content: csv(HEADER, `${cell},${rest}`) })).toMatchObject(
      outcome({ stored: { [loan]: { pos: "50000" } } }),
    );
  });

  test.each([
    ["1.23E+15", /lost digits/],
    ['"1,23E+15"', /lost digits/],
    ["9E+09", /lost digits/],
    ["1.23457e15", /lost digits/],
    ["1.2E+015", /lost digits/],
    ["#N/A", /is an error of a spreadsheet/],
    ["#REF!", /is an error of a spreadsheet/],
    ["#VALUE!", /is an error of a spreadsheet/],
    ["#DIV/0!", /is an error of a spreadsheet/],
    ["#NAME?", /is an error of a spreadsheet/],
    ["#NULL!", /is an error of a spreadsheet/],
    ["#NUM!", /is an error of a spreadsheet/],
    ["#SPILL!", /is an error of a spreadsheet/],
    ["#CALC!", /is an error of a spreadsheet/],
    ["#NV", /is an error of a spreadsheet/],
    ["#WERT!", /is an error of a spreadsheet/],
    ["#¡VALOR!", /is an error of a spreadsheet/],
    ["#GETTING_DATA", /is an error of a spreadsheet/],
    ["#ERROR!", /is an error of a spreadsheet/],
    ["Err:502", /is an error of a spreadsheet/],
    ["Loading...", /is an error of a spreadsheet/],
    ["####", /did not fit its column/],
    ["############", /did not fit its column/],
    ["-", /says that the value is missing/],
    ["NA", /says that the value is missing/],
    ["N/A", /says that the value is missing/],
    ["n.a.", /says that the value is missing/],
    ["NULL", /says that the value is missing/],
    ["(null)", /says that the value is missing/],
    ["\\N", /says that the value is missing/],
    ["nil", /says that the value is missing/],
    ["None", /says that the value is missing/],
    ["NaN", /says that the value is missing/],
    ["05-Dec", /was made a date/],
    ["=A1&B1", /is a formula/],
  ])("is rejected as %s", async (cell, because) => {
    const [loan, row] = [aLoan(), `${cell},${rest}`];
    expect(await importOf({ content: csv(HEADER, row, `${loan},${rest}`) })).toMatchObject(
      outcome({ stored: { [loan]: {} }, rejected: [[2, because]] }),
    );
  });

  test("loses `.0` only in a column of whole numbers", async () => {
    const whole = csv(HEADER, `4711.0,${rest}`, `4712,${rest}`, `#N/A,${rest}`, `0004713.00,${rest}`);
    expect(await importOf({ content: whole })).toMatchObject(
      outcome({ stored: { 4711: {}, 4712: {}, "0004713": {} }, rejected: [[4, /error of a spreadsheet/]] }),
    );
    const mixed = csv(HEADER, `4714.0,${rest}`, `LN-A,${rest}`);
    expect(await importOf({ content: mixed })).toMatchObject(outcome({ stored: { "4714.0": {}, "LN-A": {} } }));
  });

  test("is warned about if it ends in zeros after fifteen digits", async () => {
    const content = csv(HEADER, `1234567890123450,${rest}`, `1234567890123456,${rest}`, `123456789012345000,${rest}`);
    expect(await importOf({ content })).toMatchObject(
      outcome({
        stored: { "1234567890123450": {}, "1234567890123456": {}, "123456789012345000": {} },
        answer: { columnWarnings: [{ column: "Loan No", code: "DIGITS_MAY_BE_LOST", count: 2, first: { line: 2 } }] },
      }),
    );
  });

  test.each(["-", "N/A", "NULL", "nil", "\\N", "NaN", "<NA>"])(
    "is no matter of optional cells with %s",
    async (cell) => {
      const loan = aLoan();
      const content = csv(`${HEADER},EMI,DPD,City,Next Due Date,Email`, `${loan},${rest}${`,${cell}`.repeat(5)}`);
      const nothing = { emi: null, dpd: null, city: null, due: null, email: null };
      expect(await importOf({ content })).toMatchObject(outcome({ stored: { [loan]: nothing } }));
    },
  );

  test.each(["#N/A", "#REF!", "####"])("leaves optional cells with %s out", async (cell) => {
    const loan = aLoan();
    const content = csv(`${HEADER},EMI,City`, `${loan},${rest},${cell},${cell}`);
    const leftOut = [[2, /column "EMI": Left out: .*column "City": Left out/]] as const;
    expect(await importOf({ content })).toMatchObject(
      outcome({ stored: { [loan]: { emi: null, city: null } }, leftOut }),
    );
  });
});

describe("a loan number that looks like another", () => {
  test.each(["LN\u2060-A7001", "LN-A\u00AD7001", "LN-A7001\u202D", "LN\u200D-A7001"])(
    "is rejected as %j, because it has invisible characters",
    async (loan) => {
      expect(await importOf({ content: csv(HEADER, `${loan},${rest}`) })).toMatchObject(
        outcome({ stored: {}, rejected: [[2, /column "Loan No": The loan number has invisible characters/]] }),
      );
    },
  );

  test("in another normal form is the same loan", async () => {
    const [composed, decomposed] = ["CAFÉ-9", "CAFÉ-9".normalize("NFD")];
    expect(await importOf({ content: csv(HEADER, `${decomposed},${rest}`, `${composed},${rest}`) })).toMatchObject(
      outcome({ stored: { [composed]: {} }, rejected: [[3, /Line 2 is about the same loan/]] }),
    );
    expect(await importOf({ content: csv(HEADER, `${decomposed},${rest}`) })).toMatchObject(outcome({ stored: {} }));
  });

  test("without the leading zeros of an open loan stops the file", async () => {
    await importOf({ content: csv(HEADER, `0004799,${rest}`, `4798,${rest}`) });
    const other = aLoan();
    const content = csv(HEADER, `${other},${rest}`, `4799,${rest}`, `04798,${rest}`);
    const refused =
      /2 new loan numbers[^]*line 3: 4799, and the loan 0004799 is open\n[^]*line 4: 04798[^]*--allow-sim/;
    expect(await importOf({ content })).toMatchObject(outcome({ stored: {}, refused }));
    expect(await importOf({ content, options: ["--allow-similar-loans"] })).toMatchObject(
      outcome({ stored: { [other]: {}, 4799: {}, "04798": {} }, answer: { warnings: { SIMILAR_LOAN_NUMBER: 2 } } }),
    );
    // The loans exist now, so they are not new.
    expect(await importOf({ content })).toMatchObject(outcome({ stored: {} }));
  });

  test("without the leading zeros of an earlier line stops the file", async () => {
    const content = csv(HEADER, `0004801,${rest}`, `4802,${rest}`, `4802,${rest}`, `4801.0,${rest}`);
    const refused = /1 new loan number differs[^]*line 5: 4801, and line 2 has the other one/;
    expect(await importOf({ content })).toMatchObject(outcome({ stored: {}, refused }));
  });

  test("is no matter of rows that withdraw a loan", async () => {
    await importOf({ content: csv(HEADER, `0004803,${rest}`) });
    const content = csv(`${HEADER},Action`, `4803,,,,withdraw`);
    expect(await importOf({ content })).toMatchObject(outcome({ stored: {}, rejected: [[2, /no case/i]] }));
  });
});
