import { publicId } from "@collections/database";
import { lenderByCode } from "@collections/lenders";
import { afterFile } from "@collections/testing";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { plainDigits } from "../../src/table-file/workbook/number-format.ts";
import { workbookAsText } from "../../src/table-file/workbook/workbook-as-text.ts";
import { commandsInProcess } from "../fixtures/commands.ts";
import { aFieldPartner, aLender, aRow, startTestService, type TestService } from "../fixtures/fixture.ts";
import type { Cli } from "../fixtures/processes.ts";
import { type CellSpec, oneSheet, sheetOf, workbook, workbookParts, type ZipPart, zip } from "../fixtures/workbook.ts";

const folder = mkdtempSync(join(tmpdir(), "collections-workbooks-"));
afterFile(() => rmSync(folder, { recursive: true, force: true }));

const HEADER = ["Loan No", "Customer Name", "Mob No", "POS"];
let files = 0;

function aFile(content: Buffer | string, name = `${(files += 1)}.xlsx`): string {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
}

/** Returns the CSV text of a sheet. */
async function textOf(content: Buffer, sheet?: string): Promise<string> {
  const source = await workbookAsText(aFile(content), sheet);
  await using bytes = source.bytes;
  const blocks: Buffer[] = [];
  for await (const block of bytes.blocks()) blocks.push(Buffer.from(block));
  return Buffer.concat(blocks).toString();
}

/** Returns the text of one cell, which stands in A2. */
async function cellText(cell: CellSpec, options: { date1904?: boolean } = {}): Promise<string> {
  const text = await textOf(workbook({ ...options, sheets: [{ name: "S", rows: [["A"], [cell]] }] }));
  return text.split("\n")[1]!;
}

describe("a cell of a workbook", () => {
  test.each<[string, CellSpec, string]>([
    ["a text", "LN-1", "LN-1"],
    ["a text with a comma and quotes", 'Rao, "Asha"', '"Rao, ""Asha"""'],
    ["a text of several lines", "12 Station Road\nPune", "12 Station Road Pune"],
    ["a text with an escaped character", "a_x000D_b", "a b"],
    ["a text with formats", { xml: ' t="inlineStr"><is><r><t>LN</t></r><r><t>-7</t></r></is></c>' }, "LN-7"],
    ["a phonetic reading", { xml: ' t="inlineStr"><is><t>東</t><rPh><t>ひがし</t></rPh></is></c>' }, "東"],
    ["a whole number", 4711, "4711"],
    ["a number with noise", 0.1 + 0.2, "0.3"],
    ["an amount with noise", 18_250.499999999996, "18250.5"],
    ["a large number", { xml: "><v>1.2345678901234501E+18</v></c>" }, "1234567890123450000"],
    ["a small number", { xml: "><v>1.5E-7</v></c>" }, "0.00000015"],
    ["a number below 0", -500.25, "-500.25"],
    ["leading zeros of a format", { xml: ' s="3"><v>4711</v></c>' }, "0004711"],
    ["an amount with a format", { xml: ' s="5"><v>1234.5</v></c>' }, "1234.5"],
    ["a currency format", { xml: ' s="6"><v>1234</v></c>' }, "1234"],
    ["a day", { xml: ' s="1"><v>46361</v></c>' }, "2026-12-05"],
    ["a day of a local format", { xml: ' s="7"><v>46361</v></c>' }, "2026-12-05"],
    ["a moment", { xml: ' s="2"><v>46361.5</v></c>' }, "2026-12-05 12:00:00"],
    ["a moment in a format of days", { xml: ' s="1"><v>46361.75</v></c>' }, "2026-12-05 18:00:00"],
    ["a moment that rounds up", { xml: ' s="2"><v>46361.999999</v></c>' }, "2026-12-06 00:00:00"],
    ["the first day", { xml: ' s="1"><v>1</v></c>' }, "1900-01-01"],
    ["the day that never was", { xml: ' s="1"><v>60</v></c>' }, "1900-02-29"],
    ["1 March 1900", { xml: ' s="1"><v>61</v></c>' }, "1900-03-01"],
    ["a time", { xml: ' s="4"><v>0.75</v></c>' }, "18:00:00"],
    ["a date in ISO 8601", { xml: ' t="d" s="1"><v>2026-12-05T10:00:00Z</v></c>' }, "2026-12-05T10:00:00Z"],
    ["true", { xml: ' t="b"><v>1</v></c>' }, "TRUE"],
    ["false", { xml: ' t="b"><v>0</v></c>' }, "FALSE"],
    ["an error", { xml: ' t="e"><f>NA()</f><v>#N/A</v></c>' }, "#N/A"],
    ["the text of a formula", { xml: ' t="str"><f>A1&amp;B1</f><v>LN-9</v></c>' }, "LN-9"],
    ["the number of a formula", { xml: "><f>1+1</f><v>2</v></c>" }, "2"],
  ])("with %s is read by its type", async (_, cell, expected) => {
    expect(await cellText(cell)).toBe(expected);
  });

  test("is read by the date system of 1904", async () => {
    expect(await cellText({ xml: ' s="1"><v>44899</v></c>' }, { date1904: true })).toBe("2026-12-05");
  });

  test.each([
    [1e21, "1000000000000000000000"],
    [123_456_789_012_345_680, "123456789012346000"],
    [0.000001, "0.000001"],
    [-0, "0"],
    [999_999_999_999_999.9, "1000000000000000"],
  ])("%d is written as %s, with at most 15 digits", (number, digits) => {
    expect(plainDigits(number)).toBe(digits);
  });
});

describe("a sheet of a workbook", () => {
  const sheets = [
    { name: "Notes", rows: [["hidden"]], state: "hidden" },
    { name: "Cases", rows: [["a"], [], ["b", null, "c"]] },
    { name: "Old & new", rows: [["old"]] },
    { name: "Empty", rows: [] },
  ];

  test.each([
    [undefined, "a\n\nb,,c\n"],
    ["cases", "a\n\nb,,c\n"],
    ["Old & new", "old\n"],
    ["3", "old\n"],
    ["Notes", "hidden\n"],
  ])("is chosen by --sheet %s, or is the first that is visible", async (sheet, text) => {
    expect(await textOf(workbook({ sheets }), sheet)).toBe(text);
  });

  test.each([
    ["November", /no sheet "November". Its sheets are "Notes", "Cases", "Old & new", "Empty"/],
    ["Empty", /The sheet "Empty" is empty. Choose one of the others by --sheet: "Notes"/],
  ])("%s is refused, with the names of the sheets", async (sheet, detail) => {
    await expect(textOf(workbook({ sheets }), sheet)).rejects.toThrow(detail);
  });

  test("has the numbers of its rows as lines, also behind a million empty rows", async () => {
    const empty = Array.from({ length: 1_000_000 }, (_, row) => `<row r="${row + 2}"><c r="A${row + 2}" s="1"/></row>`);
    const last = '<row r="1048576"><c r="XFD1048576" s="1"/><c r="B1048576" t="str"><v>z</v></c></row>';
    const sheetXml = sheetOf(`<row r="1"><c r="A1" t="str"><v>a</v></c></row>${empty.join("")}${last}`);
    const text = await textOf(workbook({ sheets: [{ name: "S", rows: [] }], sheetXml }));
    expect(text).toBe(`a\n${"\n".repeat(1_048_574)},z\n`);
  });

  test("is copied to a private file that is deleted at once", async () => {
    const before = readdirSync(tmpdir()).filter((name) => name.startsWith("collections-sheet-"));
    await textOf(oneSheet(["a"]));
    await expect(textOf(oneSheet([]))).rejects.toThrow(/is empty/);
    expect(readdirSync(tmpdir()).filter((name) => name.startsWith("collections-sheet-"))).toEqual(before);
  });
});

describe("a workbook that is refused", () => {
  const parts = () => workbookParts({ sheets: [{ name: "S", rows: [["a"]] }] });
  const without = (path: string) => parts().filter((part) => part.path !== path);
  const limits = { sheetBytes: 200_000, partBytes: 100_000, columns: 1_000 };
  const bomb = (path: string, size?: number): ZipPart[] => [
    ...without(path),
    { path, data: Buffer.alloc(5_000_000, " "), ...(size !== undefined && { size }) },
  ];
  const xml = (rows: string) => workbook({ sheets: [{ name: "S", rows: [] }], sheetXml: sheetOf(rows) });

  test.each<[string, () => Buffer, RegExp]>([
    ["a sheet that is a bomb", () => zip(bomb("xl/worksheets/sheet1.xml")), /too large: xl\/worksheets\/sheet1.xml/],
    ["texts that are a bomb", () => zip(bomb("xl/sharedStrings.xml")), /too large: xl\/sharedStrings.xml/],
    ["styles that are a bomb", () => zip(bomb("xl/styles.xml")), /too large: xl\/styles.xml/],
    ["a bomb with a wrong size", () => zip(bomb("xl/worksheets/sheet1.xml", 10)), /damaged|too large/],
    ["a value in the last column", () => xml('<row r="1"><c r="XFD1"><v>1</v></c></row>'), /behind column 1,000/],
    ["a column that does not exist", () => xml('<row r="1"><c r="ZZZZ1"><v>1</v></c></row>'), /behind column/],
    ["a row that does not exist", () => xml('<row r="1048577"/>'), /rows in a wrong order/],
    ["rows in another order", () => xml('<row r="2"/><row r="1"/>'), /rows in a wrong order/],
    ["a very long cell", () => xml(`<row r="1"><c r="A1" t="str"><v>${"x".repeat(70_000)}</v></c></row>`), /65,536/],
    [
      "XML that ends early",
      () => zip([...without("xl/workbook.xml"), { path: "xl/workbook.xml", data: "<workbook>" }]),
      /damaged/,
    ],
    [
      "entities that grow",
      () =>
        zip([
          {
            path: "xl/workbook.xml",
            data: '<!DOCTYPE w [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><workbook>&b;</workbook>',
          },
          ...without("xl/workbook.xml"),
        ]),
      /damaged/,
    ],
    ["no sheet", () => zip(without("xl/worksheets/sheet1.xml")), /incomplete: it has no xl\/worksheets\/sheet1.xml/],
    ["macros", () => zip([...parts(), { path: "xl/vbaProject.bin", data: "x" }]), /contains macros/],
    ["the binary format", () => zip([{ path: "xl/workbook.bin", data: "x" }]), /another format/],
    ["the format of LibreOffice", () => zip([{ path: "content.xml", data: "x" }]), /another format/],
    ["no workbook", () => zip([{ path: "cases.csv", data: "x" }]), /an archive without an Excel workbook/],
    ["a directory that is cut off", () => zip(parts()).subarray(0, -30), /damaged/],
    ["a path out of the archive", () => zip([...parts(), { path: "../x", data: "x" }]), /damaged/],
  ])("has %s", async (_, content, detail) => {
    await expect(workbookAsText(aFile(content()), undefined, limits)).rejects.toThrow(detail);
  });
});

describe("commands that read tables", () => {
  let service: TestService;
  let cli: Cli;
  let lender: Awaited<ReturnType<typeof aLender>>;

  beforeAll(async () => {
    service = await startTestService({ hasWorker: false });
    cli = commandsInProcess({ DATABASE_URL: service.databaseUrl });
    lender = await aLender(service);
  });

  async function refused(path: string, ...options: string[]): Promise<string> {
    const { code, stdout } = await cli(
      "case",
      "import",
      path,
      "--lender",
      lender.code,
      "--dry-run",
      "--json",
      ...options,
    );
    expect(code).toBe(1);
    return (JSON.parse(stdout) as { error: { detail: string } }).error.detail;
  }

  test("import cases from a workbook with a title, totals and rejected rows", async () => {
    const path = aFile(
      workbook({
        sheets: [
          { name: "Cover", rows: [["Acme"]] },
          {
            name: "Nov",
            rows: [
              ["Acme Finance", null, "as on", { xml: ' s="1"><v>46353</v></c>' }],
              [],
              [...HEADER, "Next Due Date", "Email"],
              ["0001", "Ravi Kumar", 9_820_000_001, 1_234.5, { xml: ' s="1"><v>46361</v></c>' }],
              [{ xml: ' s="3"><v>2</v></c>' }, "Asha Rao", "9820000002", 0.1 + 0.2],
              [{ xml: ' t="e"><v>#REF!</v></c>' }, "Ravi Kumar", 9_820_000_001, 5],
              ["Total", null, null, 1_239.8],
            ],
          },
        ],
      }),
    );
    const args = ["case", "import", path, "--lender", lender.code, "--sheet", "Nov", "--yes", "--json"];
    const { code, stdout } = await cli(...args);
    expect(code).toBe(6);
    expect(JSON.parse(stdout)).toMatchObject({
      sheet: "Nov",
      headerLine: 3,
      summary: { received: 3, created: 2, rejected: 1 },
      skippedRows: [{ line: 7 }],
      examples: { rejected: [{ line: 6, because: expect.stringMatching(/"#REF!" is an error/) as string }] },
      rejectedFile: path.replace(".xlsx", ".rejected.csv"),
    });
    expect(readFileSync(path.replace(".xlsx", ".rejected.csv"), "utf8")).toContain("6,");
    const { id } = (await lenderByCode(service.app.database.em(), lender.code))!;
    const { rows } = await service.app.database.pool.query(
      `select source_loan_number as loan, borrower_phone as phone, outstanding_minor as pos, next_due_date::text as due
       from cases.collection_case where lender_id = $1 order by 1`,
      [id],
    );
    expect(rows).toEqual([
      { loan: "0000002", phone: "+919820000002", pos: "30", due: null },
      { loan: "0001", phone: "+919820000001", pos: "123450", due: "2026-12-05" },
    ]);
  });

  test("compare payments of a workbook", async () => {
    const path = aFile(
      oneSheet(
        ["Loan No", "UTR", "Amount Paid", "Payment Date"],
        ["0001", "UTR1", 500, { xml: ' s="2"><v>46347.5</v></c>' }],
      ),
    );
    const { stdout } = await cli(
      "payment",
      "reconcile",
      path,
      "--lender",
      lender.code,
      "--day",
      "2026-11-21",
      "--json",
    );
    expect(JSON.parse(stdout)).toMatchObject({
      onlyYours: [{ loan: "0001", yours: { amount: "500.00", paidAt: "2026-11-21T06:30:00.000Z" } }],
    });
  });

  test("assign cases by a workbook", async () => {
    await lender.importCases([aRow("M-1")]);
    const { id } = await aFieldPartner(service);
    const path = aFile(oneSheet(["Moves of November"], ["Loan No", "Agent"], ["M-1", publicId("fp", id)]));
    const args = ["case", "assign", lender.code, "--file", path, "--map", "Agent=assignTo", "--yes"];
    expect(await cli.json(...args)).toMatchObject({ fieldPartners: [{ cases: 1 }] });
  });

  test.each([
    [
      "an old workbook",
      Buffer.concat([Buffer.from([0xd0, 0xcf, 0x11, 0xe0]), Buffer.alloc(1_000)]),
      /old Excel workbook/,
    ],
    [
      "a workbook with a password",
      Buffer.concat([
        Buffer.from([0xd0, 0xcf, 0x11, 0xe0]),
        Buffer.alloc(262_130),
        Buffer.from("EncryptedPackage", "utf16le"),
      ]),
      /has a password/,
    ],
    ["a web page named .xls", Buffer.from("<html><table><tr><td>Loan No"), /web page or XML/],
  ])("refuse %s", async (_, content, detail) => {
    expect(await refused(aFile(content))).toMatch(detail);
  });

  test("read a CSV file by its content, whatever its name", async () => {
    const path = aFile(`${HEADER.join(",")}\nLN-77,Ravi Kumar,9820000001,5\n`);
    const args = ["case", "import", path, "--lender", lender.code, "--dry-run"];
    expect(await cli.json(...args)).toMatchObject({ summary: { created: 1 } });
    expect(await refused(path, "--sheet", "Nov")).toMatch(/--sheet is for Excel workbooks/);
  });
});
