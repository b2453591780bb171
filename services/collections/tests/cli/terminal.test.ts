import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterFile } from "@collections/testing";
import { beforeAll, expect, test } from "vitest";
import { table } from "../../src/cli/terminal/with-database.ts";
import { commandsHere } from "../fixtures/commands.ts";
import { aLender, startTestService } from "../fixtures/fixture.ts";
import type { Cli } from "../fixtures/processes.ts";

/** Clears the screen, sets the window's title, hides text, and turns what follows around. */
const HOSTILE = "\u001b[2J\u001b]0;owned\u0007\u009b8m\u202eevil";
const ACTS_ON_TERMINALS = /(?![\t\n\u200C\u200D])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;

const folder = mkdtempSync(join(tmpdir(), "collections-cli-terminal-"));
afterFile(() => rmSync(folder, { recursive: true, force: true }));
const hostileFile = join(folder, "hostile.csv");

let lender: Awaited<ReturnType<typeof aLender>>;
let cli: Cli;

beforeAll(async () => {
  const service = await startTestService({ works: false });
  lender = await aLender(service);
  cli = commandsHere({ DATABASE_URL: service.databaseUrl });
  const header = `Loan No,Customer Name,Mob No,POS,${HOSTILE},"two\nlines"`;
  writeFileSync(hostileFile, `${header}\nLN-1,Ravi,98200 00001,${HOSTILE},,\n`);
});

function importing(...more: string[]): string[] {
  return ["case", "import", hostileFile, "--lender", lender.code, ...more];
}

test("escapes in the header and the cells of a file are shown spelled out, and act on no terminal", async () => {
  const { stdout, stderr } = await cli(...importing("--dry-run"));
  expect(stdout + stderr).not.toMatch(ACTS_ON_TERMINALS);
  expect(stderr).toContain(String.raw`\u{1b}[2J\u{1b}]0;owned\u{7}\u{9b}8m\u{202e}evil, two lines.`);
  expect(stdout).toContain(String.raw`"POS": "\u{1b}[2J`);
});

test("escapes in an error message are spelled out too", async () => {
  const map = await cli(...importing("--dry-run", "--map", `${HOSTILE}x=dpd`));
  expect(map.code).toBe(1);
  const unknown = await cli("lender", "show", HOSTILE);
  const argument = await cli(...importing("--date-order", HOSTILE));
  for (const { stdout, stderr } of [map, unknown, argument]) {
    expect(stdout + stderr).not.toMatch(ACTS_ON_TERMINALS);
    expect(stderr).toContain(String.raw`\u{1b}[2J`);
  }
});

test("JSON has the exact values, with escapes of JSON for what a terminal would act on", async () => {
  const { stdout } = await cli(...importing("--dry-run", "--json"));
  expect(stdout).not.toMatch(ACTS_ON_TERMINALS);
  expect(JSON.parse(stdout)).toMatchObject({ unknownColumns: [HOSTILE, "two lines"] });
  const failed = await cli("lender", "show", HOSTILE, "--json");
  expect(failed.stdout).not.toMatch(ACTS_ON_TERMINALS);
  expect(JSON.parse(failed.stdout)).toMatchObject({ error: { detail: `There is no lender ${HOSTILE}.` } });
});

test("a line break in a value breaks no line of a table", () => {
  expect(
    table([
      ["first\r\nsecond", "a"],
      ["b", "c"],
    ]),
  ).toBe("first second  a\nb             c");
});

test("no other file of the command line than terminal.ts writes to the terminal", () => {
  const source = fileURLToPath(new URL("../../src/cli", import.meta.url));
  const names = readdirSync(source, { recursive: true, encoding: "utf8" });
  const files = names.filter((name) => name.endsWith(".ts") && !name.endsWith(".test.ts"));
  const writers = files.filter((name) =>
    /\bconsole\.|\bstd(?:out|err)\.write/.test(readFileSync(join(source, name), "utf8")),
  );
  expect(writers).toEqual([join("terminal", "terminal.ts")]);
});
