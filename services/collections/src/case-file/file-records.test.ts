import { afterFile } from "@collections/testing";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { type FileRecord, inspectFile, rowsOf } from "./file-records.ts";
import type { Encoding } from "./file-text.ts";

const folder = mkdtempSync(join(tmpdir(), "collections-case-file-"));
afterFile(() => rmSync(folder, { recursive: true, force: true }));
let files = 0;

function aFile(content: string | Buffer): string {
  const path = join(folder, `${(files += 1)}.csv`);
  writeFileSync(path, content);
  return path;
}

async function read(content: string | Buffer, given: { encoding?: Encoding; separator?: string } = {}) {
  const file = await inspectFile(aFile(content), given);
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
    ["an Excel workbook", Buffer.from([0x50, 0x4b, 3, 4, 0, 0]), /This is an Excel workbook .*, not CSV/],
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
    ["a quote inside a cell", 'a,b\n1,2\n"3" inch,4\n', /line 3: a quotation mark in the middle of a cell/],
  ])("with %s is rejected, and the message says what is wrong", async (_, content, fault) => {
    await expect(read(content)).rejects.toThrow(fault);
  });
});
