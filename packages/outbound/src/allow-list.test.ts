import { expect, test } from "vitest";
import { InvalidAllowListError, isListed, parseAllowList } from "./allow-list.ts";

test("an empty OUTBOUND_ALLOW allows no host", () => {
  expect(parseAllowList(" ")).toEqual({ entries: [] });
});

test("an entry allows one port of a host, or all its ports", () => {
  const allow = parseAllowList("localhost:4000, LENDER.test:*,[::1]:8080,127.1:9000");
  expect(isListed(allow, "localhost", 4000)).toBe(true);
  expect(isListed(allow, "localhost", 4001)).toBe(false);
  expect(isListed(allow, "sub.localhost", 4000)).toBe(false);
  expect(isListed(allow, "lender.test", 1)).toBe(true);
  expect(isListed(allow, "[::1]", 8080)).toBe(true);
  expect(isListed(allow, "127.0.0.1", 9000)).toBe(true);
  expect(isListed(allow, "127.0.0.1", 4000)).toBe(false);
});

test.each([
  ["localhost:4000,", "EMPTY_ENTRY"],
  ["http://localhost:4000", "HAS_SCHEME"],
  ["localhost:4000/path", "NOT_HOST_AND_PORT"],
  ["user@localhost:4000", "NOT_HOST_AND_PORT"],
  ["10.0.0.0/8", "NOT_HOST_AND_PORT"],
  ["local host:80", "NOT_HOST_AND_PORT"],
  ["*:4000", "WILDCARD_HOST"],
  ["*.example.com:443", "WILDCARD_HOST"],
  [":4000", "INVALID_HOST"],
  ["a..b%zz:1", "INVALID_HOST"],
  ["[::zz]:80", "INVALID_HOST"],
  ["localhost:0", "INVALID_PORT"],
  ["localhost:65536", "INVALID_PORT"],
  ["localhost:http", "INVALID_PORT"],
  ["localhost", "PORT_MISSING"],
  ["localhost:", "PORT_MISSING"],
  ["[::1]", "PORT_MISSING"],
  ["::1:8080", "UNBRACKETED_IPV6"],
])("parseAllowList rejects %s as %s and says what to write", (text, code) => {
  const parse = (): unknown => parseAllowList(text);
  expect(parse).toThrow(InvalidAllowListError);
  expect(parse).toThrow(expect.objectContaining({ code, message: expect.stringContaining("OUTBOUND_ALLOW entry") }));
});
