import { expect, test } from "vitest";
import { checkHeader } from "./header-rule.ts";

test.each([
  ["Authorization", "Bearer abc.def-123"],
  ["X-Api-Key", "k 1"],
])("checkHeader accepts the header %s with the value %s", (name, value) => {
  expect(checkHeader(name, value)).toEqual({ ok: true });
});

test.each([
  ["", "x"],
  ["X Key", "x"],
  ["X-Key:", "x"],
  ["X-K\u00e9y", "x"],
  ["Host", "evil.example"],
  ["content-length", "0"],
  ["Transfer-Encoding", "chunked"],
  ["Connection", "close"],
  ["X-Key", ""],
  ["X-Key", "a\r\nX-Evil: 1"],
  ["X-Key", "a\u0000"],
  ["X-Key", " padded "],
  ["X-Key", "s\u00e9cret"],
  ["X-Key", "x".repeat(4097)],
])("checkHeader rejects the header %j with the value %j, and gives a reason", (name, value) => {
  const verdict = checkHeader(name, value);
  expect(verdict).toEqual({ ok: false, reason: expect.stringMatching(/^The .*\.$/) });
});

test("the reason never contains the value, because it may be a secret", () => {
  expect(JSON.stringify(checkHeader("X-Key", "s3cret\n"))).not.toContain("s3cret");
});
