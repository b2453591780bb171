import { assert, property, string } from "fast-check";
import { expect, test } from "vitest";
import { harmless, onOneLine, quoted } from "./harmless-text.ts";

test.each([
  ["two\r\nlines\tand   more ", "two lines and more"],
  ["red \x1b[31malert\x07", String.raw`red \u{1b}[31malert\u{7}`],
  ["gpj.\u{202E}exe", String.raw`gpj.\u{202e}exe`],
  ["half \u{D83D}", "half \uFFFD"],
  ["नमस्ते ₹2,500 😀", "नमस्ते ₹2,500 😀"],
])("onOneLine(%j) returns %j", (text, line) => {
  expect(onOneLine(text)).toBe(line);
});

test("harmless keeps line breaks and tabs, and escapes other control characters", () => {
  expect(harmless("a\n\tb\r\u001b[2J\u009b1m\u{E0041}\n")).toBe("a\n\tb\\u{d}\\u{1b}[2J\\u{9b}1m\\u{e0041}\n");
});

test("quoted keeps the lines of a text and puts a bar before each line", () => {
  expect(quoted("<html>\r\n\tdown\r\rBack\x00 soon\x1b]0;\x07\n\n\n", 2_048)).toBe(
    ["| <html>", "| \tdown", "|", String.raw`| Back\u{0} soon\u{1b}]0;\u{7}`].join("\n"),
  );
});

test("quoted cuts a long text at maxBytes, without splitting a character", () => {
  expect(quoted("₹".repeat(1_000), 2_048)).toBe(`| ${"₹".repeat(682)}\n(cut here)`);
});

test("quoted() truncates a text after 40 lines", () => {
  const lines = quoted("a\n".repeat(2_000), 2_048).split("\n");
  expect(lines).toHaveLength(41);
  expect(lines.at(-1)).toBe("(cut here)");
});

test("`quoted` puts a bar before each line of any text, and escapes control characters", () => {
  assert(
    property(string({ unit: "binary", maxLength: 200 }), (text) => {
      const quotation = quoted(text, 100);
      for (const line of quotation.split("\n")) expect(line).toMatch(/^(\||\(cut here\)$)/);
      expect(quotation).not.toMatch(/(?![\t\n\u200C\u200D])[\p{Cc}\p{Cf}\u2028\u2029]/u);
      expect(onOneLine(text)).not.toMatch(/(?![\u200C\u200D])[\r\n\p{Cf}]/u);
    }),
  );
});
