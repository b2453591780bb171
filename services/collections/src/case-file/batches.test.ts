import { currency } from "@collections/money";
import { afterFile } from "@collections/testing";
import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { type Batch, batchesOf } from "./batches.ts";
import { readColumns } from "../table-file/columns.ts";
import { surveyFile } from "../table-file/survey.ts";
import { openTable } from "../table-file/table-file.ts";
import { CASE_COLUMNS } from "./case-columns.ts";

const folder = mkdtempSync(join(tmpdir(), "collections-case-file-"));
afterFile(() => rmSync(folder, { recursive: true, force: true }));
const HEADER = "Loan No,Customer Name,Mob No,POS";

async function* batches(
  path: string,
  { size, rowsDone = 0 }: { size: number; rowsDone?: number },
): AsyncGenerator<Batch> {
  const table = await openTable(path, { fieldOf: (name) => CASE_COLUMNS.knownName(name) });
  await using _ = table.bytes;
  const lender = { currency: currency("INR"), country: "IN", timeZone: "Asia/Kolkata", balanceCutoff: null };
  const columns = readColumns(table, [], CASE_COLUMNS);
  const { file, readings } = await surveyFile(table, columns, { names: CASE_COLUMNS, lender });
  yield* batchesOf(file, { columns, lender, readings, asOf: undefined }, { size, rowsDone });
}

function shown({ firstRow, read, faulty }: Batch): unknown[] {
  const faults = faulty.map(({ record, faults: [fault] }) => `${record.line}: ${fault!.detail}`);
  return [firstRow, read.map(({ record }) => record.line), faults];
}

test("finds the same batches and faulty rows when an import is resumed", async () => {
  const path = join(folder, "few.csv");
  const lines = ["L1,A,1,1", "L2,B,2,x", "L3,C,3", "L1,D,4,4", "L4,E,5,5,", "L2,F,6,6", "L5,G,7,7"];
  writeFileSync(path, [HEADER, ...lines].join("\n"));
  const all = [
    [0, [2], ['3: "x" is not an amount; write it as 123456.50 or 1,23,456.50.']],
    [
      2,
      [],
      [
        "4: The line has 3 cells where the header has 4.",
        "5: Line 2 is about the same loan; a file has one row for each loan.",
      ],
    ],
    [4, [6], ["7: Line 3 is about the same loan; a file has one row for each loan."]],
    [6, [8], []],
  ];
  const from = async (rowsDone: number) => (await Array.fromAsync(batches(path, { size: 2, rowsDone }))).map(shown);
  expect(await from(0)).toEqual(all);
  expect(await from(4)).toEqual(all.slice(2));
  expect(await from(7)).toEqual([]);
});

test("reads fifty thousand rows without keeping them in memory", async () => {
  const path = join(folder, "many.csv");
  const file = openSync(path, "w");
  writeSync(file, `${HEADER}\n`);
  for (let row = 0; row < 50_000; row += 1_000) {
    const lines = Array.from(
      { length: 1_000 },
      (_, index) => `LN-${row + index},Ravi Kumar ${row + index},9820000001,"1,23,456.50"\n`,
    );
    writeSync(file, lines.join(""));
  }
  closeSync(file);
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  const usedMb: number[] = [];
  let rows = 0;
  for await (const { read } of batches(path, { size: 1_000 })) {
    rows += read.length;
    if (rows % 10_000 !== 0) continue;
    collect();
    const { heapUsed, arrayBuffers } = process.memoryUsage();
    usedMb.push((heapUsed + arrayBuffers) / 1e6);
  }
  expect(rows).toBe(50_000);
  expect(Math.max(...usedMb) - usedMb[0]!).toBeLessThan(8);
});
