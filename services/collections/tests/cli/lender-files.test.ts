import { existsSync, readdirSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import {
  aLoan,
  csv,
  HEADER,
  INR,
  outcome,
  rest,
  startLenderFiles,
  type Answer,
  type LenderFiles,
} from "./fixtures/lender-file.ts";

let importOf: LenderFiles["importOf"];
let lenderOf: LenderFiles["lenderOf"];
let aFile: LenderFiles["aFile"];
let cli: LenderFiles["cli"];
let folder: LenderFiles["folder"];

beforeAll(async () => {
  ({ importOf, lenderOf, aFile, cli, folder } = await startLenderFiles());
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
