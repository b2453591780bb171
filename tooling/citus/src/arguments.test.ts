import { expect, test } from "vitest";
import { readArguments, USAGE, UsageError } from "./arguments.ts";

const URL = "postgres://postgres@127.0.0.1:5432/postgres";

test("reads the URL and the options", () => {
  expect(readArguments([URL])).toEqual({ url: URL, json: false, record: false });
  expect(readArguments(["--json", "--", "--record", URL])).toEqual({ url: URL, json: true, record: true });
  expect(readArguments(["--help"])).toBe("help");
});

test.each([
  ["no URL", [], "The URL of a database on the coordinator is missing."],
  ["two URLs", [URL, URL], "Expected one URL, got 2."],
  ["a text that is not a URL", ["coordinator"], "The URL has to begin with postgres://, for example postgres://"],
  ["an unknown option", ["--fast", URL], "Unknown option '--fast'"],
])("refuses %s", (_case, args, message) => {
  expect(() => readArguments(args)).toThrow(UsageError);
  expect(() => readArguments(args)).toThrow(message);
});

test("the usage text of the audit names every option and an example", () => {
  for (const text of ["--json", "--record", "--help", "Exit codes", "Example"]) expect(USAGE).toContain(text);
});
