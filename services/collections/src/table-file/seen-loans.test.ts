import { expect, test } from "vitest";
import { SeenLoans } from "./seen-loans.ts";

test("remembers on which line each of 40,000 loans was seen first", () => {
  const seen = new SeenLoans();
  const lines = Array.from({ length: 40_000 }, (_, index) => index + 2);
  expect(lines.filter((line) => seen.firstLine(`LN-${line}`, line) !== undefined)).toEqual([]);
  expect(lines.filter((line) => seen.firstLine(`LN-${line}`, line + 1) !== line)).toEqual([]);
  expect(seen.firstLine("ln-2", 50_000)).toBeUndefined();
});
