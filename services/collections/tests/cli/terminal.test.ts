import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterFile } from "@collections/testing";
import { beforeAll, expect, test } from "vitest";
import { table } from "../../src/cli/terminal/with-database.ts";
import { commandsInProcess } from "../fixtures/commands.ts";
import { aLender, startTestService } from "../fixtures/fixture.ts";
import type { Cli } from "../fixtures/processes.ts";

/** Control sequences that clear the screen, set the window's title, hide text, and reverse the text after them. */
const HOSTILE = "\u001b[2J\u001b]0;owned\u0007\u009b8m\u202eevil";
const CONTROL_CHARACTER = /(?![\t\n\u200C\u200D])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;

const folder = mkdtempSync(join(tmpdir(), "collections-cli-terminal-"));
afterFile(() => rmSync(folder, { recursive: true, force: true }));
const hostileFile = join(folder, "hostile.csv");

let lender: Awaited<ReturnType<typeof aLender>>;
let cli: Cli;

beforeAll(async () => {
  const service = await startTestService({ hasWorker: false });
  lender = await aLender(service);
  cli = commandsInProcess({ DATABASE_URL: service.databaseUrl });
  const header = `Loan No,Customer Name,Mob No,POS,${HOSTILE},"two\nlines"`;
  writeFileSync(hostileFile, `${header}\nLN-1,Ravi,98200 00001,${HOSTILE},,\n`);
});

function importArgs(...more: string[]): string[] {
  return ["case", "import", hostileFile, "--lender", lender.code, ...more];
}

test("control sequences in a file's header and cells are printed escaped", async () => {
  const { stdout, stderr } = await cli(...importArgs("--dry-run"));
  expect(stdout + stderr).not.toMatch(CONTROL_CHARACTER);
  expect(stderr).toContain(String.raw`\u{1b}[2J\u{1b}]0;owned\u{7}\u{9b}8m\u{202e}evil, two lines.`);
  expect(stdout).toContain(String.raw`"POS": "\u{1b}[2J`);
});

test("control sequences in an error message are printed escaped", async () => {
  const map = await cli(...importArgs("--dry-run", "--map", `${HOSTILE}x=dpd`));
  expect(map.code).toBe(1);
  const unknown = await cli("lender", "show", HOSTILE);
  const argument = await cli(...importArgs("--date-order", HOSTILE));
  for (const { stdout, stderr } of [map, unknown, argument]) {
    expect(stdout + stderr).not.toMatch(CONTROL_CHARACTER);
    expect(stderr).toContain(String.raw`\u{1b}[2J`);
  }
});

test("JSON output has the exact values, with control characters as JSON escapes", async () => {
  const { stdout } = await cli(...importArgs("--dry-run", "--json"));
  expect(stdout).not.toMatch(CONTROL_CHARACTER);
  expect(JSON.parse(stdout)).toMatchObject({ unknownColumns: [HOSTILE, "two lines"] });
  const failed = await cli("lender", "show", HOSTILE, "--json");
  expect(failed.stdout).not.toMatch(CONTROL_CHARACTER);
  expect(JSON.parse(failed.stdout)).toMatchObject({ error: { detail: `There is no lender ${HOSTILE}.` } });
});

test("a line break in a value does not break a table row", () => {
  expect(
    table([
      ["first\r\nsecond", "a"],
      ["b", "c"],
    ]),
  ).toBe("first second  a\nb             c");
});

test("terminal.ts is the only file of the CLI that writes to the terminal", () => {
  const source = fileURLToPath(new URL("../../src/cli", import.meta.url));
  const names = readdirSync(source, { recursive: true, encoding: "utf8" });
  const files = names.filter((name) => name.endsWith(".ts") && !name.endsWith(".test.ts"));
  const writers = files.filter((name) =>
    /\bconsole\.\w+\(|\bstd(?:out|err)\.write/.test(readFileSync(join(source, name), "utf8")),
  );
  expect(writers).toEqual([join("terminal", "terminal.ts")]);
});
