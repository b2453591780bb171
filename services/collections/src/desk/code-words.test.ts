import { expect, test } from "vitest";
import { codeWords } from "./code-words.ts";

test.each([
  ["PROMISE_TO_PAY", "promise to pay"],
  ["upi", "UPI"],
  ["bank_transfer", "bank transfer"],
  ["whatsapp", "WhatsApp"],
])("writes the code %s as %s", (code, words) => {
  expect(codeWords(code)).toBe(words);
});
