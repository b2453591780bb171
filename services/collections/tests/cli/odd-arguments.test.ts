import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { publicId } from "@collections/database";
import { afterFile } from "@collections/testing";
import type { Command } from "commander";
import { beforeAll, expect, test } from "vitest";
import { createProgram } from "../../src/cli/program.ts";
import { commandsInProcess } from "../fixtures/commands.ts";
import { aFieldPartner, aLender, aRow, assign, startTestService } from "../fixtures/fixture.ts";
import type { Cli } from "../fixtures/processes.ts";

const LENDER = "ACME";

/** Values that no argument or option takes, except a free text. */
const ODD = [
  "",
  "x".repeat(5_000),
  "-1",
  "\u001B[31m'; select 1 --\n\u202E%s ${HOME} ../../etc/passwd \uD800",
  "00000000-0000-0000-0000-000000000000",
];

/** Commands that are not tried: they change the whole database, or call other machines. */
const LEFT_OUT = new Set([
  "migrate",
  "master-key rotate",
  "master-key replace-lost",
  "endpoint probe",
  "ledger anchor-keys",
]);

/** Valid values of arguments and of required options, by name. */
let values: Readonly<Record<string, string>>;
let cli: Cli;

beforeAll(async () => {
  const service = await startTestService({ hasWorker: false });
  cli = commandsInProcess({ DATABASE_URL: service.databaseUrl });
  const lender = await aLender(service, { code: LENDER });
  const { id } = await aFieldPartner(service);
  await lender.importCases([aRow("LN-1"), aRow("LN-2")]);
  await assign(service, LENDER, "LN-1", id);
  const paidAt = new Date().toISOString();
  await lender.confirm("LN-1", { amount: 100, reference: "UTR1", paidAt, mode: "upi" });
  const { keys } = (await cli.json("key", "list", LENDER)) as { keys: { apiKeyId: string }[] };
  const { deliveries } = (await cli.json("delivery", "list")) as { deliveries: { eventId: string }[] };
  const folder = mkdtempSync(join(tmpdir(), "odd-"));
  afterFile(() => rmSync(folder, { recursive: true }));
  const file = join(folder, "payments.csv");
  writeFileSync(file, `Loan No,UTR,Amount,Paid On\nLN-1,UTR1,100.00,${paidAt}\n`);
  const person = publicId("fp", id);
  values = {
    lender: LENDER,
    code: LENDER,
    loan: "LN-1",
    id: person,
    "field-partner-id": person,
    "key-id": keys[0]!.apiKeyId,
    "event-id": deliveries[0]!.eventId,
    "replay-id": publicId("replay", id),
    "run-id": publicId("rec", id),
    reference: "UTR1",
    text: "LN-1",
    payout: "PO-1",
    file,
    shell: "bash",
    scene: "visit",
    paths: folder,
    "--lender": LENDER,
    "--code": "NEWONE",
    "--name": "New One",
    "--currency": "INR",
    "--phone": "+919820000055",
    "--reason": "tried by a test",
    "--on": "2099-01-01",
    "--to": "LN-2",
    "--reversal-reference": "RV-1",
    "--reversed-at": paidAt,
    "--reference": "PO-1",
    "--paid-on": "2026-01-01",
    "--amount": "1",
    "--out": join(folder, "operations.json"),
  };
});

interface Trial {
  readonly parameter: string;
  readonly args: (value: string) => readonly string[];
}

/** Returns a trial for each argument and each option of a command. All other required values are valid. */
function trialsOf(path: string, command: Command): Trial[] {
  const given = command.registeredArguments.map((argument) => [argument.name(), values[argument.name()]!] as const);
  const required = command.options.filter(({ mandatory }) => mandatory);
  const options = required.map(({ long }) => [long!, requiredValue(path, long!)] as const);
  const dry = ["--dry-run"].filter((name) => command.options.some(({ long }) => long === name));
  const line = (args: readonly (readonly [string, string])[], named: readonly (readonly [string, string])[]) => [
    ...path.split(" "),
    ...named.map(([name, value]) => `${name}=${value}`),
    ...dry,
    "--",
    ...args.map(([, value]) => value),
  ];
  const ofArguments = given.map(([name]): Trial => ({
    parameter: `<${name}>`,
    args: (odd) =>
      line(
        given.map(([other, value]) => [other, other === name ? odd : value]),
        options,
      ),
  }));
  const taking = command.options.filter(({ long, required: takes }) => takes && long !== "--json");
  const ofOptions = taking.map(({ long }): Trial => ({
    parameter: long!,
    args: (odd) => line(given, [...options.filter(([name]) => name !== long), [long!, odd]]),
  }));
  return [...ofArguments, ...ofOptions];
}

function requiredValue(path: string, option: string): string {
  if (option === "--reason" && path === "payment reverse") return "bounced";
  return values[option] ?? "";
}

function leavesOf(command: Command, path: readonly string[] = []): (readonly [string, Command])[] {
  if (command.commands.length === 0) return [[path.join(" "), command]];
  return command.commands.flatMap((child) => leavesOf(child, [...path, child.name()]));
}

const leaves = leavesOf(await createProgram()).filter(([path]) => !LEFT_OUT.has(path));

test.each(leaves)("`%s` explains each odd argument and option", async (path, command) => {
  for (const { parameter, args } of trialsOf(path, command)) {
    for (const odd of ODD) {
      const { code, stdout, stderr } = await cli(...args(odd));
      const told = `${path} ${parameter} ${JSON.stringify(odd).slice(0, 60)}: ${code}\n${stdout.slice(0, 500)}${stderr.slice(0, 2_000)}`;
      expect([0, 1, 2, 3, 6], told).toContain(code);
      expect(stdout + stderr, told).not.toMatch(/\n\s+at .*\.ts:\d+|\u202E|(?!\n)\p{Cc}\[/u);
      const isDone = code === 0 || code === 6;
      expect(isDone || stderr.trim() !== "", told).toBe(true);
    }
  }
});
