import { afterFile } from "@collections/testing";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openRejectedFile } from "./rejected-file.ts";

const folder = mkdtempSync(join(tmpdir(), "collections-rejected-"));
afterFile(() => rmSync(folder, { recursive: true, force: true }));

const HEAD = '\uFEFFRejected line;Rejected because;Loan No;"a;b"\r\n';
const how = { header: ["Loan No", "a;b"], separator: ";" };
const row = (line: number, because = "why") => ({ line, cells: [`LN-${line}`, 'x "y"'], because });
const written = (line: number) => `${line};why;LN-${line};"x ""y"""\r\n`;

test("overwrites the rejected rows after the given position in the file", async () => {
  const path = join(folder, "again.csv");
  const file = await openRejectedFile(path, { ...how, bytes: 0 });
  await file.write(0, [row(2)]);
  const kept = file.bytes;
  await file.write(kept, [row(3), row(4)]);
  await file.write(kept, [row(5)]);
  await file.close();
  expect(readFileSync(path, "utf8")).toBe(HEAD + written(2) + written(5));
  const goneOn = await openRejectedFile(path, { ...how, bytes: kept });
  await goneOn.write(kept, [row(6)]);
  await goneOn.close();
  expect(readFileSync(path, "utf8")).toBe(HEAD + written(2) + written(6));
});

test("removes the file of rejected rows of an earlier run if no row is rejected", async () => {
  const path = join(folder, "gone.csv");
  writeFileSync(path, "of an earlier run");
  const file = await openRejectedFile(path, { ...how, bytes: 0 });
  await file.write(0, []);
  await file.write(0, [row(2)]);
  await file.write(0, []);
  await file.close();
  expect(existsSync(path)).toBe(false);
});

test("begins a new file of rejected rows if the earlier one is missing or shorter than recorded", async () => {
  const path = join(folder, "short.csv");
  for (const before of [undefined, "short"]) {
    if (before !== undefined) writeFileSync(path, before);
    const file = await openRejectedFile(path, { ...how, bytes: 1_000 });
    expect(file.bytes).toBe(0);
    await file.write(file.bytes, [row(9)]);
    await file.close();
    expect(readFileSync(path, "utf8")).toBe(HEAD + written(9));
  }
});
