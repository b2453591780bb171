import { currency } from "@collections/money";
import { afterFile } from "@collections/testing";
import { mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { FileChangedError } from "./file-bytes.ts";
import { ColumnNames } from "./column-names.ts";
import { readColumns } from "./columns.ts";
import type { FileRecord } from "./csv-records.ts";
import type { Encoding } from "./file-text.ts";
import { surveyFile } from "./survey.ts";
import { openTable, rowsOf } from "./table-file.ts";

const folder = mkdtempSync(join(tmpdir(), "collections-case-file-"));
afterFile(() => rmSync(folder, { recursive: true, force: true }));
let files = 0;

function aFile(content: string | Buffer): string {
  const path = join(folder, `${(files += 1)}.csv`);
  writeFileSync(path, content);
  return path;
}

const NAMES = new ColumnNames<"loan">({
  names: { loan: ["a", "Name", "a,;b"] },
  ambiguous: {},
  many: new Set(),
  loan: "loan",
  kinds: {},
  hasMetadata: false,
  required: () => ["loan"],
});
const LENDER = { currency: currency("INR"), country: "IN", timeZone: "Asia/Kolkata" };

async function read(content: string | Buffer, given: { encoding?: Encoding; separator?: string } = {}) {
  const table = await openTable(aFile(content), { ...given, fieldOf: (name) => NAMES.knownName(name) });
  await using _ = table.bytes;
  const columns = readColumns(table, [], NAMES);
  const { file } = await surveyFile(table, columns, { names: NAMES, lender: LENDER });
  const rows: FileRecord[] = [];
  for await (const row of rowsOf(file)) rows.push(row);
  expect(file.rows).toBe(rows.length);
  return { ...file, records: rows.map(({ line, cells }) => [line, ...cells]) };
}

describe("a file", () => {
  test.each(["\n", "\r\n", "\r"])("is read with line ending %j, with quoted cells and blank lines", async (eol) => {
    const lines = ["a,b", "1,2", "", '"x, ""y""","two', 'lines"', " , ", "3,ü"];
    const { header, records } = await read(lines.join(eol));
    expect(header).toEqual(["a", "b"]);
    expect(records).toEqual([
      [2, "1", "2"],
      [4, 'x, "y"', "two\nlines"],
      [7, "3", "ü"],
    ]);
  });

  test.each([",", ";", "\t", "|"])("is read with separator %j", async (separator) => {
    const { header, records } = await read(
      ['"a,;b"', "b", "c"].join(separator) + "\n" + ["1", "2;,", "3"].map((cell) => `"${cell}"`).join(separator),
    );
    expect(header).toEqual(["a,;b", "b", "c"]);
    expect(records).toEqual([[2, "1", "2;,", "3"]]);
  });

  test("is read with the separator that the caller gives", async () => {
    expect((await read("a,b~c\n1,2~3", { separator: "~" })).records).toEqual([[2, "1,2", "3"]]);
  });

  test("may have quotation marks within a cell", async () => {
    expect((await read('a,b\n5" pipe,="0001"\n"3" inch,4\n')).records).toEqual([
      [2, '5" pipe', '="0001"'],
      [3, '"3" inch', "4"],
    ]);
  });

  test("is read again only if its bytes are unchanged", async () => {
    const path = aFile(`a,b\n${"1,2\n".repeat(100_000)}`);
    const table = await openTable(path, { fieldOf: (name) => NAMES.knownName(name) });
    await using _ = table.bytes;
    const { file } = await surveyFile(table, readColumns(table, [], NAMES), { names: NAMES, lender: LENDER });
    renameSync(aFile("a,b\n"), path);
    expect(await Array.fromAsync(rowsOf(file))).toHaveLength(100_000);
  });

  test.each(["other bytes", "fewer bytes", "more bytes"])("is not read again with %s", async (change) => {
    const content = `a,b\n${"1,2\n".repeat(100_000)}`;
    const path = aFile(content);
    const table = await openTable(path, { fieldOf: (name) => NAMES.knownName(name) });
    await using _ = table.bytes;
    const { file } = await surveyFile(table, readColumns(table, [], NAMES), { names: NAMES, lender: LENDER });
    const changed = { "other bytes": content.replace(/1,2\n$/, "1,3\n"), "fewer bytes": content.slice(0, 300_000) };
    writeFileSync(path, change === "more bytes" ? `${content}9,9\n` : changed[change as keyof typeof changed]);
    await expect(file.bytes.verify()).rejects.toThrow(FileChangedError);
    await expect(Array.fromAsync(rowsOf(file))).rejects.toThrow("The file was changed after it was read");
  });

  const text = "Name,Ort\r\nÄnne €,Šibenik\r\n";
  test.each([
    ["UTF-8", Buffer.from(text), undefined],
    ["UTF-8 with a byte order mark", Buffer.from(`\uFEFF${text}`), undefined],
    ["UTF-16 with a byte order mark", Buffer.from(`\uFEFF${text}`, "utf16le"), undefined],
    ["big-endian UTF-16 with a byte order mark", Buffer.from(`\uFEFF${text}`, "utf16le").swap16(), undefined],
    ["UTF-16 if the caller requests UTF-16", Buffer.from(text, "utf16le"), "utf-16le"],
    [
      "Windows-1252 if the caller requests Windows-1252",
      Buffer.from(text.replace("€", "\u0080").replace("Š", "\u008A"), "latin1"),
      "windows-1252",
    ],
    [
      "UTF-8 if it has the byte order mark of UTF-8, although the caller requests another encoding",
      Buffer.from(`\uFEFF${text}`),
      "windows-1252",
    ],
  ] as const)("is read in %s", async (_, bytes, encoding) => {
    const { header, records } = await read(bytes, encoding && { encoding });
    expect(header).toEqual(["Name", "Ort"]);
    expect(records).toEqual([[2, "Änne €", "Šibenik"]]);
  });

  test("is read correctly if a chunk ends within a character or a line break", async () => {
    const row = `${"x".repeat(61)}€,${"y".repeat(61)}\r\n`;
    const { records } = await read(`a,b\r\n${row.repeat(3_000)}`);
    expect(records).toHaveLength(3_000);
    expect(new Set(records.map(([, first, second]) => `${first},${second}\r\n`))).toEqual(new Set([row]));
    expect(records.at(-1)![0]).toBe(3_001);
  });

  test.each([
    [
      "bytes of another encoding",
      Buffer.from("a,b\nx,y\nM\xFCller,z\n", "latin1"),
      /line 3: these bytes are not UTF-8. .*--encoding windows-1252/,
    ],
    ["UTF-16 without a byte order mark", Buffer.from("a,b\n", "utf16le"), /Add --encoding utf-16le/],
    ["a damaged workbook", Buffer.from([0x50, 0x4b, 3, 4, 0, 0]), /The workbook is damaged/],
    ["a PDF", Buffer.from("%PDF-1.7"), /This is a PDF. Save the table as an Excel workbook/],
    ["no content", "", /The file is empty/],
    [
      "a quote that is never closed",
      'a,b\n1,2\n"3,4\n5,6\n',
      /line 3: a quotation mark opens a cell and nothing closes it/,
    ],
    [
      "a quote that is never closed, in a long file",
      `a,b\n"3,4\n${"5,6\n".repeat(40_000)}`,
      /line 2: a quotation mark opens a cell/,
    ],
    ["a very long line", `a,b\n1,2\n${"x".repeat(70_000)},3\n`, /line 3 has more than 65,536 characters/],
  ])("with %s is rejected, and the message says what is wrong", async (_, content, fault) => {
    await expect(read(content)).rejects.toThrow(fault);
  });
});
