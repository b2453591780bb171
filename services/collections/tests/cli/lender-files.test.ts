import { lenderByCode } from "@collections/lenders";
import { currency as currencyOf, type CurrencyCode } from "@collections/money";
import { afterFile } from "@collections/testing";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { commandsInProcess } from "../fixtures/commands.ts";
import { aLender, startTestService, type TestService } from "../fixtures/fixture.ts";
import type { Cli } from "../fixtures/processes.ts";

const folder = mkdtempSync(join(tmpdir(), "collections-lender-files-"));
afterFile(() => rmSync(folder, { recursive: true, force: true }));

const INR = currencyOf("INR");
const USD = currencyOf("USD");

let service: TestService;
let cli: Cli;
let files = 0;
/** Codes of lenders by currency and country. Each file has loans of its own. */
const lenders = new Map<string, string>();

beforeAll(async () => {
  service = await startTestService({ hasWorker: false });
  cli = commandsInProcess({ DATABASE_URL: service.databaseUrl });
});

async function lenderOf(currency: CurrencyCode, country: string): Promise<string> {
  const key = `${currency} ${country}`;
  const known = lenders.get(key);
  if (known !== undefined) return known;
  const { code } = await aLender(service, {
    currency,
    country,
    timeZone: "Asia/Kolkata",
    ...(currency !== INR && { fallbackUpiId: null, fallbackBank: null }),
  });
  lenders.set(key, code);
  return code;
}

function aFile(content: string): string {
  const path = join(folder, `${(files += 1)}.csv`);
  writeFileSync(path, content);
  return path;
}

type Stored = Record<string, unknown>;

/** Returns the cases of a lender by loan number, except those that were there before. */
async function casesOf(code: string, before: ReadonlySet<string>): Promise<Record<string, Stored>> {
  const { id } = (await lenderByCode(service.app.database.em(), code))!;
  const { rows } = await service.app.database.pool.query<Stored & { loan: string }>(
    `select source_loan_number as loan, borrower_name as name, borrower_phone as phone, alternate_phones as alternates, outstanding_minor as pos,
       emi_minor as emi, dpd, next_due_date::text as due, do_not_contact_until::text as dnc,
       to_char(outstanding_as_of at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "asOf", addresses -> 0 ->> 'city' as city, borrower_email as email
     from cases.collection_case where lender_id = $1`,
    [id],
  );
  return Object.fromEntries(rows.filter(({ loan }) => !before.has(loan)).map(({ loan, ...one }) => [loan, one]));
}

interface Answer {
  error?: { code: string; detail: string };
  examples?: { rejected: { line: number; because: string }[]; leftOut: { line: number; because: string }[] };
  rejectedFile: string | null;
  reading: unknown[];
  skippedRows: unknown[];
  columnWarnings: unknown[];
  headerLine: number;
}

interface Expected {
  /** The stored cases by loan number, with the fields that matter. */
  stored: Record<string, Stored>;
  rejected?: readonly (readonly [line: number, because: RegExp])[];
  leftOut?: readonly (readonly [line: number, because: RegExp])[];
  /** Why nothing of the file was applied. */
  refused?: RegExp;
  /** A part of the answer. */
  answer?: object;
}

interface LenderFile {
  readonly content: string;
  readonly currency?: CurrencyCode;
  readonly country?: string;
  readonly options?: readonly string[];
}

/** Imports a file, and returns everything that was stored, rejected and left out. */
async function importOf({ content, currency = INR, country = "IN", options = [] }: LenderFile): Promise<object> {
  const code = await lenderOf(currency, country);
  const before = new Set(Object.keys(await casesOf(code, new Set())));
  const result = await cli("case", "import", aFile(content), "--lender", code, "--yes", "--json", ...options);
  const answer = JSON.parse(result.stdout) as Answer;
  const stored = await casesOf(code, before);
  const { rejected, leftOut } = answer.examples ?? { rejected: [], leftOut: [] };
  const loanNumbers = Object.keys(stored).toSorted();
  return { code: result.code, refused: answer.error?.detail, loanNumbers, stored, rejected, leftOut, answer };
}

const matching = (pattern: RegExp | undefined) => (pattern ? (expect.stringMatching(pattern) as string) : undefined);

/** Returns the expected result of `importOf`. */
function outcome({ stored, rejected = [], leftOut = [], refused, answer = {} }: Expected): object {
  const examples = (rows: readonly (readonly [number, RegExp])[]) =>
    rows.map(([line, because]) => ({ line, because: matching(because) }));
  const exitCode = rejected.length > 0 ? 6 : 0;
  return {
    code: refused ? 1 : exitCode,
    refused: matching(refused),
    loanNumbers: Object.keys(stored).toSorted(),
    stored,
    rejected: examples(rejected),
    leftOut: examples(leftOut),
    answer,
  };
}

let loans = 0;
/** Returns a loan number that no other file has. */
const aLoan = () => `LN-${(loans += 1)}`;

const HEADER = "Loan No,Customer Name,Mob No,POS";
const rest = "Ravi Kumar,+919820000001,500";
const csv = (...lines: string[]) => `${lines.join("\n")}\n`;

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

describe("the shape of a file", () => {
  const row = () => {
    const loan = aLoan();
    return { loan, line: `${loan},${rest}` };
  };
  const shapes: [string, (line: string) => string, object][] = [
    ["a title", (line) => csv("Acme Finance Ltd", "As on 27/11/2026", "", HEADER, line), { headerLine: 4 }],
    ["titles with separators", (line) => csv("Acme, Pune,,", "Branch: PUNE-1,,,", HEADER, line), { headerLine: 3 }],
    ["a title with a quotation mark", (line) => csv('"Acme Finance', HEADER, line), { headerLine: 2 }],
    ["a word for the header in its title", (line) => csv("Name", HEADER, line), { headerLine: 2 }],
    ["sep=;", (line) => csv("sep=;", HEADER.replaceAll(",", ";"), line.replaceAll(",", ";")), { headerLine: 2 }],
    ['"sep=|"', (line) => csv('"sep=|"', HEADER.replaceAll(",", "|"), line.replaceAll(",", "|")), { headerLine: 2 }],
    ["tabs", (line) => csv(HEADER.replaceAll(",", "\t"), line.replaceAll(",", "\t")), { headerLine: 1 }],
    [
      "commas in the names of columns",
      (line) => csv("Loan No;Customer Name;Mob No;POS;Tel, fax, web, mail, post", `${line.replaceAll(",", ";")};`),
      { unknownColumns: ["Tel, fax, web, mail, post"] },
    ],
    [
      "a line break in the header",
      (line) =>
        csv('"Loan\nNo","Customer\nName",Mob No,"POS\n(in INR, incl. fees)"', line).replace(
          '"POS\n(in INR, incl. fees)"',
          "POS",
        ),
      { headerLine: 1 },
    ],
    ["its header on each page", (line) => csv(HEADER, line, HEADER), { skippedRows: [{ line: 3 }] }],
    [
      "a totals row",
      (line) => csv(HEADER, line, "Total,,,500"),
      { skippedRows: [{ line: 3, because: "it is a row of totals" }] },
    ],
    ["a grand total", (line) => csv(HEADER, line, ",Grand Total:,,500"), { skippedRows: [{ line: 3 }] }],
    [
      "sums without a word",
      (line) => csv(HEADER, line, ",,,500"),
      { skippedRows: [{ line: 3, because: expect.stringMatching(/sums/) as string }] },
    ],
    [
      "a count and a footer",
      (line) => csv(HEADER, line, "Total records: 1,,,", "*** End of report ***"),
      { skippedRows: [{ line: 3 }, { line: 4 }] },
    ],
  ];

  test.each(shapes)("may have %s", async (_, content, answer) => {
    const { loan, line } = row();
    expect(await importOf({ content: content(line) })).toMatchObject(
      outcome({ stored: { [loan]: { pos: "50000" } }, answer }),
    );
  });

  test("keeps a row without a loan number whose amount is no sum", async () => {
    const { loan, line } = row();
    const rejected = [[3, /sourceLoanNumber is required/]] as const;
    expect(await importOf({ content: csv(HEADER, line, ",Kul Bahadur,9820000002,700") })).toMatchObject(
      outcome({ stored: { [loan]: {} }, rejected }),
    );
  });

  test("takes the header of `--header-line`", async () => {
    const { loan, line } = row();
    const content = csv("Loan No,Name,Mob No,POS,Due", `${HEADER},Note`, `${line},9`);
    expect(await importOf({ content, options: ["--header-line", "2"] })).toMatchObject(
      outcome({ stored: { [loan]: {} }, answer: { headerLine: 2 } }),
    );
  });

  test("shows the header as it was read if a column is missing", async () => {
    const refused =
      /No column for borrowerPhone[^]*in line 2, separated by commas: "Loan No", "Customer Name", "Handy", "POS"/;
    expect(await importOf({ content: csv("Acme", "Loan No,Customer Name,Handy,POS", `X,${rest}`) })).toMatchObject(
      outcome({ stored: {}, refused }),
    );
  });

  test.each([
    ["DPD", "NPA"],
    ["DPD", "45 days"],
    ["Next Due Date", "31/11/2026"],
    ["Next Due Date", "soon"],
    ["EMI", "1500 Dr"],
    ["EMI", "-500"],
    ["Email", "ravi at example"],
    ["Latitude", "north"],
    ["Longitude", "999"],
    ["Language", "??x"],
  ])("leaves out the %s %s, and imports the loan", async (column, cell) => {
    const { loan, line } = row();
    const leftOut = [[2, new RegExp(`column "${column}": Left out: `)]] as const;
    expect(await importOf({ content: csv(`${HEADER},${column}`, `${line},${cell}`) })).toMatchObject(
      outcome({ stored: { [loan]: {} }, leftOut }),
    );
  });

  test.each([
    ["POS", "500 Dr"],
    ["DNC Until", "31/11/2026"],
    ["As Of", "31/11/2026 10:00"],
    ["WhatsApp Consent", "perhaps"],
    ["Currency", "Rupees"],
  ])("rejects the row for the %s %s, which decides about money or contact", async (column, cell) => {
    const content =
      column === "POS"
        ? csv(HEADER, `${aLoan()},Ravi Kumar,9820000001,${cell}`)
        : csv(`${HEADER},${column}`, `${aLoan()},${rest},${cell}`);
    expect(await importOf({ content })).toMatchObject(
      outcome({ stored: {}, rejected: [[2, new RegExp(`column "${column}"`)]] }),
    );
  });

  test("refuses a line of more than 65,536 characters", async () => {
    const { line } = row();
    expect(await importOf({ content: csv(HEADER, line, `${"x".repeat(70_000)},${rest}`) })).toMatchObject(
      outcome({ stored: {}, refused: /line 3 has more than 65,536 characters/ }),
    );
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

describe("the file of rejected rows", () => {
  test("is not written in a dry run, and replaces no link", async () => {
    const code = await lenderOf(INR, "IN");
    const path = aFile(csv(HEADER, `${aLoan()},,9820000001,500`));
    const target = join(folder, "target.txt");
    symlinkSync(target, path.replace(".csv", ".rejected.csv"));
    const before = readdirSync(folder);
    const dry = await cli("case", "import", path, "--lender", code, "--dry-run", "--json");
    expect(JSON.parse(dry.stdout)).toMatchObject({ summary: { rejected: 1 }, rejectedFile: null });
    expect(readdirSync(folder)).toEqual(before);
    const { stdout } = await cli("case", "import", path, "--lender", code, "--yes", "--json");
    const { rejectedFile } = JSON.parse(stdout) as Answer;
    expect(rejectedFile).toBe(path.replace(".csv", ".rejected-2.csv"));
    expect(readFileSync(rejectedFile!, "utf8")).toContain("borrowerName is required");
    expect(existsSync(target)).toBe(false);
  });
});

describe("a file of payments", () => {
  const reconcile = async (content: string, ...options: string[]) => {
    const code = await lenderOf(INR, "IN");
    const day = ["--from", "2026-11-21 00:00", "--to", "2026-11-22 00:00"];
    const { stdout } = await cli(
      "payment",
      "reconcile",
      aFile(content),
      "--lender",
      code,
      ...day,
      "--json",
      ...options,
    );
    return JSON.parse(stdout) as Record<string, unknown> & { error?: { detail: string } };
  };
  const PAYMENTS = "Loan No,UTR,Amount Paid,Payment Date";

  test("is read by the same rules", async () => {
    const answer = await reconcile(
      csv(
        "Statement of Acme",
        PAYMENTS,
        '"=""0001""","=""0077001""",1.500,2026-11-21 06:30:00+00',
        '0002,\'0077002,"1.234,50",21/11/2026 12:00',
        '0003,"1,23E+15",7,21/11/2026 12:00',
        "0004,#N/A,7,21/11/2026 12:00",
        "####,UTR9,7,21/11/2026 12:00",
        "0005,NULL,1e2,21/11/2026 12:00",
        'Total,,"2.755,50",',
      ),
    );
    expect(answer).toMatchObject({
      counts: { onlyYours: 2, rejected: 4 },
      onlyYours: [
        { loan: "0001", reference: "0077001", yours: { amount: "1500.00", paidAt: "2026-11-21T06:30:00.000Z" } },
        { loan: "0002", reference: "0077002", yours: { amount: "1234.50" } },
      ],
      rejected: [{ line: 5 }, { line: 6 }, { line: 7 }, { line: 8 }],
      file: { headerLine: 2, skippedRows: [{ line: 9 }], reading: [{ decimal: "comma" }, { dateOrder: "dmy" }] },
    });
  });

  test.each([
    [csv(PAYMENTS, "1,U1,5,25/11/2026 12:00", "2,U2,5,11/25/2026 12:00"), /two ways.*--date-order/],
    [csv(PAYMENTS, '1,U1,"1.234,50",', '2,U2,"1,234.50",'), /two ways.*--decimal/],
  ])("with a contradiction is not compared", async (content, detail) => {
    expect((await reconcile(content)).error?.detail).toMatch(detail);
  });
});
