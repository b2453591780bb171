import type { Command } from "commander";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { createProgram } from "../../src/cli/program.ts";
import { explain } from "../../src/cli/terminal/refusal.ts";
import { operatorsCli } from "../fixtures/processes.ts";

/**
 * No database listens at this URL, and none is needed: a wrong command line is reported before the database is used.
 */
const cli = operatorsCli({ DATABASE_URL: "postgres://127.0.0.1:1/nowhere" });

test.each(commandsOf(await createProgram()).map((command) => [pathOf(command), command] as const))(
  "the help of %s has a description and an example",
  (path, command) => {
    const help = helpOf(command);
    expect(help).toContain(`Usage: ${path}`);
    expect(command.description()).toMatch(/^[A-Z].*\.$/);
    expect(help).toMatch(/\nExamples?:\n/);
    expect(help).toContain(path.replace(/^collections/, "pnpm collections"));
    for (const option of command.options) expect(option.description, option.flags).not.toBe("");
  },
);

test("the program has every documented command", async () => {
  const groups: Record<string, string> = {
    lender: "create update list show suspend resume",
    key: "create list retire revoke use-for-signing debug",
    "field-partner": "create list show update token suspend resume clear-code-limit",
    case: "import list show assign erase unassign hold release close",
    endpoint: "show probe mint resume",
    delivery: "list show replay replays cancel-replay",
    ledger: "statement extend verify anchor-keys",
    payment: "show reverse move reconcile reconciliations reconciliation",
    audit: "list",
    operator: "link list revoke",
    payout: "due preview record list show",
    "master-key": "rotate replace-lost",
    "persisted-operations": "make",
  };
  const paths = Object.entries(groups).flatMap(([group, names]) =>
    names.split(" ").map((name) => `collections ${group} ${name}`),
  );
  expect(commandsOf(await createProgram()).map(pathOf)).toEqual(
    expect.arrayContaining([
      ...paths,
      "collections find",
      "collections today",
      "collections doctor",
      "collections migrate",
      "collections completion",
    ]),
  );
});

test("--help prints to stdout and exits with 0", async () => {
  const { code, stdout, stderr } = await cli("lender", "create", "--help");
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(stdout).toContain("--mint-auth-header");
});

test("a command whose output is no longer read ends without an error", async () => {
  const main = fileURLToPath(new URL("../../bin/collections.mjs", import.meta.url));
  const child = spawn(process.execPath, ["--no-warnings", main, "--help"], { stdio: ["ignore", "pipe", "pipe"] });
  child.stdout.destroy();
  const [stderr, [code]] = await Promise.all([text(child.stderr), once(child, "close") as Promise<[number]>]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
});

test.each<[string, RegExp]>([
  ["bogus", /unknown command 'bogus'/],
  ["lender", /A command is missing/],
  ["lender create --code ACME", /required option '--name <name>' not specified/],
  ["lender show", /missing required argument 'code'/],
  ["case erase ACME LN-1", /required option '--reason <text>' not specified/],
  ["lender update ACME --keep-personal-data 180", /Expected a number of days such as 180d/],
  ["case hold ACME LN-1", /required option '--reason <text>' not specified/],
  ["delivery list --state lost", /Allowed choices are waiting, in_flight/],
  ["delivery list --limit 0", /Expected a number from 1 to 1000/],
  ["delivery list --loan LN-1", /--loan needs --lender/],
  ["delivery list --cursor zzz", /Expected the nextCursor of a page/],
  ["delivery list --since yesterday", /Expected a local time such as 09:00 .* or how long ago, such as 90m/],
  ["delivery replay", /Name an event, or a lender by --lender/],
  ["delivery replay evt_1 --lender ACME --reason x", /cannot be combined with other options/],
  ["delivery replay --lender ACME", /Give a --reason/],
  ["delivery replay --lender ACME --rate 1001 --dry-run", /Expected a number from 1 to 1000/],
  ["delivery replays", /required option '--lender <code>' not specified/],
  ["payout record fp_1 --currency INR --paid-on 2026-11-21", /required option '--reference <text>' not specified/],
  [
    "payout record fp_1 --currency INR --reference UTR1 --paid-on 2026-11-21",
    /required option '--amount <sum>' not specified/,
  ],
  [
    "payout preview fp_1 --until 2026-11-20T29:41",
    /is not a day such as 2026-11-20\. Expected a local time such as 09:00/,
  ],
  ["payout record fp_1 --currency Rupee", /Expected a currency of ISO 4217, such as INR/],
  ["payout record fp_1 --currency INR --reference UTR1 --paid-on 2026-02-30", /Expected a day such as 2026-11-20/],
  ["payout record fp_1 --reference \u0007", /Expected 1 to 64 printable ASCII characters/],
  ["payout record fp_1 --currency JPY --reference U1 --paid-on 2026-11-21 --amount 1.5", /JPY takes no decimals/],
  ["payout preview fp_1 --until today", /"today" is not a day such as 2026-11-20. Expected a local time/],
  ["operator link", /required option '--name <name>' not specified/],
  ["operator link --name Asha --role admin", /Allowed choices are viewer, operator, money/],
  ["endpoint resume ACME", /required option '--reason <text>' not specified/],
])("the command line %j exits with 2 and says why", async (line, reason) => {
  const program = await createProgram();
  for (const command of [program, ...program.commands.flatMap((group) => [group, ...group.commands])]) {
    command.configureOutput({ writeErr: () => {} });
  }
  const error: unknown = await program.parseAsync(line.split(" "), { from: "user" }).catch((caught: unknown) => caught);
  const { code, detail, exitCode } = explain(error);
  expect(exitCode).toBe(2);
  expect(code).toMatch(/^[A-Z_]+$/);
  expect(detail).toMatch(reason);
});

test("with --json, an error is a sentence on stderr, one JSON document on stdout, and an exit code", async () => {
  const [misspelt, wrongSetting, away] = await Promise.all([
    cli("lender", "lsit", "--json"),
    operatorsCli({ DATABASE_URL: "mysql://host/db" })("lender", "list", "--json"),
    cli("lender", "list", "--json"),
  ]);
  const documents = [misspelt, wrongSetting, away].map(({ stdout }) => JSON.parse(stdout) as { error: object });
  expect([misspelt.code, wrongSetting.code, away.code]).toEqual([2, 2, 4]);
  expect(documents).toMatchObject([
    { error: { code: "NOT_UNDERSTOOD", detail: expect.stringMatching(/unknown command 'lsit'/) as string } },
    { error: { code: "INVALID_SETTINGS" } },
    { error: { code: "SERVICE_UNAVAILABLE" } },
  ]);
  expect(misspelt.stderr).toMatch(/unknown command 'lsit'/);
  expect(wrongSetting.stderr).toMatch(/^The settings are not usable:\n {2}DATABASE_URL takes a URL such as .*\n$/);
  expect(away.stderr).toBe("The database cannot be reached: connect ECONNREFUSED 127.0.0.1:1\n");
});

/** Returns all commands that are not groups of commands. */
function commandsOf(command: Command): Command[] {
  return command.commands.length === 0 ? [command] : command.commands.flatMap(commandsOf);
}

function pathOf(command: Command): string {
  return command.parent ? `${pathOf(command.parent)} ${command.name()}` : command.name();
}

function helpOf(command: Command): string {
  let help = "";
  command.configureOutput({ writeOut: (text) => (help += text) });
  command.outputHelp();
  return help;
}
