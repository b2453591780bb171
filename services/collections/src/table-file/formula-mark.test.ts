import { assert, constantFrom, oneof, property, string } from "fast-check";
import { expect, test } from "vitest";
import { markFormula, unmarkFormula } from "./formula-mark.ts";

test.each([
  '=HYPERLINK("https://evil.example","Pay")',
  "+919800000001",
  "-2+3+cmd|' /C calc'!A0",
  "@SUM(1)",
  "\t=1",
  "\rx",
  "\n=1",
  " =1",
  "\u00a0=1",
  "\u200b=1",
  "\ufeff=1",
  "＝1",
  "'=1",
  "''+1",
])("puts an apostrophe before the formula %j, and removes it again", (cell) => {
  expect(markFormula(cell)).toBe(`'${cell}`);
  expect(unmarkFormula(markFormula(cell))).toBe(cell);
});

test.each(["", "LN-1", "'0012", "O'Brien", "9800000001", "'", "5000.00", "a=b"])(
  "puts no apostrophe before %j, which is not a formula",
  (cell) => {
    expect(markFormula(cell)).toBe(cell);
    expect(unmarkFormula(cell)).toBe(cell);
  },
);

test("marks random cells reversibly, so that none of them begins like a formula", () => {
  const piece = oneof(
    constantFrom("'", "=", "+", "-", "@", "\t", "\r", "\n", " ", "\u200b", "a"),
    string({ maxLength: 3 }),
  );
  assert(
    property(piece, piece, piece, (...pieces) => {
      const cell = pieces.join("");
      expect(markFormula(cell)).not.toMatch(/^[\s\u200b]*[=+\-@]|^[\t\r]/);
      expect(unmarkFormula(markFormula(cell))).toBe(cell);
    }),
    { numRuns: 2_000 },
  );
});
