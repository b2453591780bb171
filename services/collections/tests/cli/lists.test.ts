import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { publicId, transaction } from "@collections/database";
import { createSignInLink, signInByLink } from "@collections/operators";
import { afterFile } from "@collections/testing";
import type { Command } from "commander";
import { beforeAll, describe, expect, test } from "vitest";
import { createProgram } from "../../src/cli/program.ts";
import { commandsInProcess } from "../fixtures/commands.ts";
import { aFieldPartner, aLender, aRow, assign, startTestService } from "../fixtures/fixture.ts";
import type { Cli } from "../fixtures/processes.ts";

const LENDER = "ACME";
const DAY = new Intl.DateTimeFormat("en-CA", { timeZone: "Asia/Kolkata" }).format();

/** Each list with its arguments, the name of its items in JSON, and the first columns of its CSV. */
const LISTS: readonly (readonly [command: string, args: readonly string[], items: string, csv: string])[] = [
  ["lender list", [], "lenders", "lenderCode,name,state"],
  ["key list", [LENDER], "keys", "apiKeyId,state,signing"],
  ["field-partner list", [], "fieldPartners", "fieldPartnerId,displayName,phone"],
  ["case list", [], "cases", "lenderCode,sourceLoanNumber,caseId"],
  ["delivery list", ["--lender", LENDER], "deliveries", "eventId,lenderCode,kind"],
  ["delivery replays", ["--lender", LENDER], "replays", "replayId,lenderCode,state"],
  ["payment reconciliations", [LENDER], "reconciliations", "runId,lenderCode,from"],
  ["payout due", [], "due", "fieldPartnerId,displayName,state"],
  ["payout list", [], "payouts", "payoutId,fieldPartnerId,paidOn"],
  ["operator list", [], "operators", "id,name,roles"],
  ["audit list", ["--act", "lender."], "entries", "at,lenderCode,fieldPartnerId"],
];

/** Commands that print rows for a spreadsheet, but no pages. */
const NO_PAGES = new Set(["find", "ledger statement", "ledger fees"]);

let cli: Cli;

// Makes at least two items for each list.
beforeAll(async () => {
  const service = await startTestService({ hasWorker: false });
  cli = commandsInProcess({ DATABASE_URL: service.databaseUrl });
  const lender = await aLender(service, { code: LENDER, name: "=HYPERLINK(1)" });
  const other = await aLender(service);
  const people = [await aFieldPartner(service), await aFieldPartner(service)];
  const now = () => new Date().toISOString();
  for (const [index, { id }] of people.entries()) {
    for (const number of [0, 1]) {
      const loan = `LN-${index}${number}`;
      await lender.importCases([aRow(loan)]);
      await assign(service, LENDER, loan, id);
      await lender.confirm(loan, { amount: 5_000, reference: `UTR${index}${number}`, paidAt: now(), mode: "upi" });
      if (number > 0) continue;
      const order = ["--currency", "INR", "--reference", `PO-${index}`, "--paid-on", DAY, "--amount", "125"];
      await cli.json("payout", "record", publicId("fp", id), ...order);
    }
  }
  await other.importCases([aRow("LN-1")]);
  await cli.json("key", "create", LENDER);
  await service.app.database.pool.query("update webhooks.delivery set state = 'parked', settled_at = now()");
  for (const name of ["Asha", "Ravi"]) {
    await transaction(service.app.database.em(), async (tx) => {
      const { token } = await createSignInLink(tx, { name, roles: ["viewer"] }, new Date());
      await signInByLink(tx, token, new Date());
    });
  }
  const folder = mkdtempSync(join(tmpdir(), "lists-"));
  afterFile(() => rmSync(folder, { recursive: true }));
  for (const number of [1, 2]) {
    await cli.json("delivery", "replay", "--lender", LENDER, "--loan", `LN-0${number - 1}`, "--reason", "tried");
    const path = join(folder, `day-${number}.csv`);
    writeFileSync(path, `Loan No,UTR,Amount,Paid On\nLN-00,UTR00,5000.00,${now()}\n`);
    await cli("payment", "reconcile", path, "--lender", LENDER, "--day", DAY);
  }
});

describe.each(LISTS)("`%s`", (command, args, name, columns) => {
  const run = (...more: string[]) => cli.json(...command.split(" "), ...args, ...more);

  test("has every item once in pages of one", async () => {
    const all = await run("--limit", "1000");
    const expected = all[name] as object[];
    expect(expected.length).toBeGreaterThan(1);
    expect(all["nextCursor"]).toBeNull();
    const seen: object[] = [];
    let cursor: string | null = null;
    do {
      const page = await run("--limit", "1", ...(cursor === null ? [] : ["--cursor", cursor]));
      expect((page[name] as object[]).length).toBeLessThanOrEqual(1);
      seen.push(...(page[name] as object[]));
      cursor = page["nextCursor"] as string | null;
    } while (cursor !== null);
    expect(seen).toEqual(expected);
  });

  test("prints a CSV and tells on stderr how to go on", async () => {
    const { code, stdout, stderr } = await cli(...command.split(" "), ...args, "--limit", "1", "--csv");
    expect(code).toBe(0);
    expect(stdout.startsWith(`\uFEFF${columns}`)).toBe(true);
    expect(stdout).not.toContain("[object");
    expect(stdout.trimEnd().split("\r\n")).toHaveLength(2);
    expect(stderr).toMatch(/^More: add --cursor \S+$/m);
  });

  test("says below the table how to go on", async () => {
    const { stdout } = await cli(...command.split(" "), ...args, "--limit", "1");
    expect(stdout).toMatch(/\nMore: add --cursor \S+\n$/);
  });

  test.each([
    ["--csv", "--json"],
    ["--limit", "0"],
    ["--limit", "1001"],
    ["--limit", "many"],
    ["--limit", ""],
    ["--cursor", ""],
    ["--cursor", "x'; drop table lenders.lender --"],
    ["--cursor", "9".repeat(10_000)],
  ])("refuses %s %.40s", async (...options) => {
    expect(await cli(...command.split(" "), ...args, ...options)).toMatchObject({ code: 2 });
  });
});

test("every list has --limit, --cursor and --csv, and is tested here", async () => {
  const lists = optionsOf(await createProgram()).filter(({ options }) => options.includes("--csv"));
  const withPages = lists.filter(({ path }) => !NO_PAGES.has(path));
  for (const { path, options } of withPages) {
    expect([path, options]).toEqual([path, expect.arrayContaining(["--limit", "--cursor", "--csv"])]);
  }
  expect(withPages.map(({ path }) => path).toSorted()).toEqual([...LISTS.map(([path]) => path), "today"].toSorted());
});

test("`lender list --csv` marks a name that a spreadsheet would run", async () => {
  const { stdout } = await cli("lender", "list", "--csv");
  expect(stdout).toContain(`\r\n${LENDER},'=HYPERLINK(1),active,`);
});

test("`today --csv` prints a line for each figure and currency", async () => {
  const { stdout, stderr } = await cli("today", "--limit", "1", "--csv");
  expect(stdout.split("\r\n")).toEqual(
    expect.arrayContaining([
      "\uFEFFlenderCode,day,figure,count,amount,currency",
      `${LENDER},${DAY},payments,4,20000.00,INR`,
      `${LENDER},${DAY},reversals,0,,`,
      `${LENDER},now,unassigned cases,0,,`,
    ]),
  );
  expect(stderr).toBe(`More: add --cursor ${LENDER}\n`);
});

test("`ledger statement --csv` and `find --csv` print rows", async () => {
  const statement = await cli("ledger", "statement", LENDER, "LN-00", "--csv");
  expect(statement.stdout).toMatch(/^\uFEFFcycle,sequence,at,[^]*\r\n1,3,\S+,payment,/);
  const found = await cli("find", "UTR00", "--csv");
  expect(found.stdout).toMatch(/^\uFEFFkind,lenderCode,[^]*\r\npayment,ACME,LN-00,UTR00,booked,"5,000\.00 INR",/);
});

function optionsOf(command: Command, path: readonly string[] = []): { path: string; options: readonly string[] }[] {
  const options = command.options.flatMap(({ long }) => long ?? []);
  return [
    { path: path.join(" "), options },
    ...command.commands.flatMap((child) => optionsOf(child, [...path, child.name()])),
  ];
}
