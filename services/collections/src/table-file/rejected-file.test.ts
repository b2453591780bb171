import { afterFile } from "@collections/testing";
import { existsSync, linkSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
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

const rejectedOf = (name: string) => join(folder, name.replace(".csv", ".rejected.csv"));

test("overwrites the rejected rows after the given position in the file", async () => {
  const path = join(folder, "again.csv");
  const file = await openRejectedFile(path, { ...how, bytes: 0 });
  await file.write(0, [row(2)]);
  const kept = file.bytes;
  await file.write(kept, [row(3), row(4)]);
  await file.write(kept, [row(5)]);
  await file.close();
  expect(file.path).toBe(rejectedOf("again.csv"));
  expect(readFileSync(file.path!, "utf8")).toBe(HEAD + written(2) + written(5));
  const goneOn = await openRejectedFile(path, { ...how, bytes: kept });
  await goneOn.write(kept, [row(6)]);
  await goneOn.close();
  expect(readFileSync(file.path!, "utf8")).toBe(HEAD + written(2) + written(6));
});

test("removes its own file if no row is rejected in the end", async () => {
  const file = await openRejectedFile(join(folder, "gone.csv"), { ...how, bytes: 0 });
  await file.write(0, [row(2)]);
  await file.write(0, []);
  await file.close();
  expect(file.path).toBeUndefined();
  expect(existsSync(rejectedOf("gone.csv"))).toBe(false);
});

test("takes a free name beside existing files and links", async () => {
  const target = join(folder, "target.txt");
  writeFileSync(target, "keep");
  writeFileSync(rejectedOf("taken.csv"), "of an earlier run");
  symlinkSync(target, join(folder, "taken.rejected-2.csv"));
  symlinkSync(join(folder, "absent.txt"), join(folder, "taken.rejected-3.csv"));
  const file = await openRejectedFile(join(folder, "taken.csv"), { ...how, bytes: 0 });
  await file.write(0, [row(2)]);
  await file.close();
  expect(file.path).toBe(join(folder, "taken.rejected-4.csv"));
  expect(readFileSync(rejectedOf("taken.csv"), "utf8")).toBe("of an earlier run");
  expect(readFileSync(target, "utf8")).toBe("keep");
  expect(existsSync(join(folder, "absent.txt"))).toBe(false);
});

test("continues no link and no other file of that name", async () => {
  const target = join(folder, "other.txt");
  writeFileSync(target, HEAD + written(2));
  symlinkSync(target, rejectedOf("linked.csv"));
  linkSync(target, rejectedOf("hard.csv"));
  writeFileSync(rejectedOf("foreign.csv"), "x".repeat(1_000));
  for (const name of ["linked.csv", "hard.csv", "foreign.csv"]) {
    const file = await openRejectedFile(join(folder, name), { ...how, bytes: 10 });
    expect(file.bytes).toBe(0);
    await file.write(0, [row(9)]);
    await file.close();
    expect(file.path).toBe(join(folder, name.replace(".csv", ".rejected-2.csv")));
  }
  expect(readFileSync(target, "utf8")).toBe(HEAD + written(2));
});

test("begins a new file if the earlier one is missing or too short", async () => {
  const path = join(folder, "short.csv");
  for (const [before, name] of [
    [undefined, "short.rejected.csv"],
    ["short", "short.rejected-2.csv"],
  ] as const) {
    if (before !== undefined) writeFileSync(rejectedOf("short.csv"), before);
    const file = await openRejectedFile(path, { ...how, bytes: 1_000 });
    expect(file.bytes).toBe(0);
    await file.write(file.bytes, [row(9)]);
    await file.close();
    expect(readFileSync(join(folder, name), "utf8")).toBe(HEAD + written(9));
  }
});
