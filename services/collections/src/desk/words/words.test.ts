import { globSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { ACT_WORDS, actGroups, eventWords } from "./act-words.ts";
import { inFieldWords } from "./field-words.ts";
import { withLocalTimes } from "./local-times.ts";
import { onPages } from "./remedy-words.ts";

const ROOT = fileURLToPath(new URL("../../../../../", import.meta.url));

/** Returns the lines of source files without tests and comments. */
function linesOf(...patterns: string[]): string[] {
  return globSync(patterns, { cwd: ROOT, exclude: (path) => path.endsWith(".test.ts") })
    .flatMap((path) => readFileSync(ROOT + path, "utf8").split("\n"))
    .filter((line) => !/^\s*(?:\*|\/\/|\/\*)/.test(line));
}

describe("the words of acts", () => {
  test("exist for each act that the sources record", () => {
    const packages = ["lenders", "field-partners", "flows", "operators"].map((name) => `packages/${name}/src/**/*.ts`);
    const recorded = linesOf(...packages, "services/collections/src/**/*.ts")
      .filter((line) => /\bact\b|\baudit\(/.test(line))
      .flatMap((line) => [...line.matchAll(/"([a-z_]+\.(?!audit_entry)[a-z_]+)"/g)].map(([, act]) => act!));
    expect(new Set(recorded).size).toBeGreaterThan(40);
    expect([...new Set(recorded)].filter((act) => !Object.hasOwn(ACT_WORDS, act))).toEqual([]);
  });

  test("are grouped by the beginnings of the codes", () => {
    const groups = actGroups();
    expect(groups.every(({ words }) => words.length > 0)).toBe(true);
    expect(groups.flatMap(({ acts }) => acts)).toHaveLength(Object.keys(ACT_WORDS).length);
  });

  test.each([
    ["case.hold", "Case put on hold"],
    ["payment.collected", "Payment collected"],
    ["unknown.act_of_tomorrow", "Unknown act of tomorrow"],
  ])("write %s as %s", (code, words) => {
    expect(eventWords(code)).toBe(words);
  });
});

describe("a message about a file", () => {
  test.each([
    ['To read one, add --map "Column=field".', "To read one, write Column=field in “Columns”."],
    [
      "1/2 has two readings; --date-order chooses the other one.",
      "1/2 has two readings; “Order of day and month” chooses the other one.",
    ],
    ["give this moment with --as-of.", "give this moment in “Moment of the balances”."],
    ["Use --decimal comma, or leave it out.", "Use “Sign before decimals”: comma, or leave it out."],
    ["--sheet: the workbook has no sheet", "“Sheet of the workbook”: the workbook has no sheet"],
    ["--parts 3 --parts 12", "“Lines of one payment”: 3, 12"],
    ["with --as-of, or register the lender's --balance-cutoff.", "in “Moment of the balances”."],
    [
      "Run the command again with the other --date-order, dmy or mdy.",
      "Check the file again with the other “Order of day and month”, dmy or mdy.",
    ],
    ['"--map" is no loan number', '"--map" is no loan number'],
  ])("%s names the field of the form", (message, expected) => {
    expect(inFieldWords(message)).toBe(expected);
  });

  test("names no option that a page does not have", () => {
    const readers = ["table-file", "case-file", "payment-file", "desk/files"];
    const lines = linesOf(...readers.map((name) => `services/collections/src/${name}/**/*.ts`));
    const named = lines.flatMap((line) => [...line.matchAll(/(?<=["'`\s])--[a-z-]+\b[^"`]*/g)].map(([text]) => text));
    expect(named.length).toBeGreaterThan(20);
    expect(named.filter((text) => /(?<!\S)--[a-z]/.test(inFieldWords(`, or ${text}`)))).toEqual([]);
  });
});

describe("a remedy of doctor", () => {
  test("names a page for each command that a page replaces", () => {
    const remedies = linesOf("services/collections/src/desk/doctor-words.ts").filter((line) =>
      /collections [a-z]/.test(line),
    );
    const shown = remedies.map((line) =>
      onPages(line.replaceAll(/\$\{code\}|\$\{lenderCode\}/g, "ACME").replaceAll(/\$\{(?:keyId|runId)\}/g, "rec_1")),
    );
    const kept = shown.flatMap((line) =>
      [...line.matchAll(/collections ([a-z][a-z-]+ [a-z-]+)[^.`;]*/g)].map(([text]) => text),
    );
    expect(
      kept.filter((text) => !/ledger verify|migrate|master-key rotate|--whatsapp|^collections\/|doctor/.test(text)),
    ).toEqual([]);
    expect(shown.join("\n")).toContain("“Send a test call” on the page Connection of ACME");
  });
});

describe("local times", () => {
  test.each([
    ["since 2026-11-20T12:30:00.000Z, still", "since 2026-11-20 18:00:00 Asia/Kolkata, still"],
    ["2026-11-20 18:00:00 Asia/Kolkata (2026-11-20T12:30:00.000Z)", "2026-11-20 18:00:00 Asia/Kolkata"],
    ["file 2026-13-45T99:00:00Z.csv", "file 2026-13-45T99:00:00Z.csv"],
    ["no time", "no time"],
  ])("replace those of %s", (text, expected) => {
    expect(withLocalTimes(text, "Asia/Kolkata")).toBe(expected);
  });
});
