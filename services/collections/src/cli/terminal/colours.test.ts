import { stripVTControlCharacters } from "node:util";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { coloured, red } from "./colours.ts";

const BOLD = "\u001B[1m";
const DIM = "\u001B[2m";
const [RED, GREEN, YELLOW] = ["\u001B[31m", "\u001B[32m", "\u001B[33m"];

beforeEach(() => {
  vi.stubEnv("NO_COLOR", undefined);
  vi.stubEnv("NODE_DISABLE_COLORS", undefined);
  vi.stubEnv("FORCE_COLOR", "1");
});
afterEach(() => vi.unstubAllEnvs());

const shown = (text: string) => coloured(text, process.stdout);

describe("text on a terminal", () => {
  test("shows the header of a table in bold", () => {
    expect(shown("KEY ID  STATE   LAST USED\nkey_1   active  never")).toMatch(
      new RegExp(`^${BOLD.replace("[", "\\[")}KEY ID  STATE   LAST USED`),
    );
  });

  test("has no bold rows below the header", () => {
    const [header, ...rows] = shown(
      "CODE  NAME          STATE\nACME  Acme Finance  active\nBETA  BETA          ON",
    ).split("\n");
    expect(header).toContain(BOLD);
    expect(rows.join("\n")).not.toContain(BOLD);
    expect(shown("TIME (Asia/Kolkata)  WHAT")).toContain(BOLD);
    expect(shown("LN-1  UTR 5")).not.toContain(BOLD);
  });

  test("has states in colours, only where the state is the whole cell", () => {
    expect(shown("A-1  delivered  2 of 3 failed")).toContain(`${GREEN}delivered`);
    expect(shown("A-1  delivered  2 of 3 failed")).not.toContain(RED);
    expect(shown("A-2  retrying")).toContain(`${YELLOW}retrying`);
    expect(shown("suspended  A-3")).toContain(`${RED}suspended`);
  });

  test("has dim advice", () => {
    expect(shown("More: add --cursor abc")).toContain(`${DIM}More: add --cursor abc`);
  });

  test("keeps every other line as it is", () => {
    const text = "Asha Rao has 3 cases.\n\n  Outstanding: 5,000.00 INR";
    expect(shown(text)).toBe(text);
  });

  test("keeps every character, apart from the colours", () => {
    const text = "LENDER  STATE\nACME    suspended\nMore: add --cursor x";
    expect(stripVTControlCharacters(shown(text))).toBe(text);
  });
});

test("the reason of a failed command is red", () => {
  expect(red("There is no lender X.", process.stderr)).toContain(`${RED}There is no lender X.`);
});

test.each([
  ["NO_COLOR", "1"],
  ["NODE_DISABLE_COLORS", "1"],
])("text has no colours with %s", (name, value) => {
  vi.stubEnv("FORCE_COLOR", undefined);
  vi.stubEnv(name, value);
  expect(shown("A-3  suspended")).toBe("A-3  suspended");
  expect(red("no", process.stderr)).toBe("no");
});

test("text that is not written to a terminal has no colours", () => {
  vi.stubEnv("FORCE_COLOR", undefined);
  expect(shown("A-3  suspended")).toBe("A-3  suspended");
});
