import { caseByLoan } from "@collections/cases";
import { lenderByCode } from "@collections/lenders";
import { afterFile } from "@collections/testing";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { commandsInProcess } from "../fixtures/commands.ts";
import { aLender, startTestService, type TestService } from "../fixtures/fixture.ts";
import type { Cli } from "../fixtures/processes.ts";

const folder = mkdtempSync(join(tmpdir(), "collections-cli-import-balances-"));
afterFile(() => rmSync(folder, { recursive: true, force: true }));

let service: TestService;
let lender: Awaited<ReturnType<typeof aLender>>;
let cli: Cli;
let files = 0;

beforeAll(async () => {
  service = await startTestService({ hasWorker: false });
  lender = await aLender(service);
  cli = commandsInProcess({ DATABASE_URL: service.databaseUrl });
});

const HEADER = "Loan No,Customer Name,Mob No,POS";

function aFile(...lines: string[]): string {
  const path = join(folder, `${(files += 1)}.csv`);
  writeFileSync(path, `${lines.join("\r\n")}\r\n`);
  return path;
}

function rowsOf(prefix: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) => `${prefix}-${index},Ravi Kumar,98200 00001,"1,23,456.50"`);
}

/** Returns the stored time up to which captured payments are included in the balance of the loan's case. */
async function storedAsOf(loan: string): Promise<string | undefined> {
  const { id } = (await lenderByCode(service.app.database.em(), lender.code))!;
  return (await caseByLoan(service.app.database.em(), id, loan))?.outstandingAsOf?.toISOString();
}

function importArgs(path: string, ...more: string[]): string[] {
  return ["case", "import", path, "--lender", lender.code, ...more];
}

describe("a file without a column for the moment of its balances", () => {
  const line = /No column says up to when the balances include payments, .*: give this moment with --as-of\./;

  test("is imported with a warning for each raised balance", async () => {
    await cli.json(...importArgs(aFile(HEADER, ...rowsOf("N", 2)), "--yes"));
    await lender.confirm("N-1", { amount: 100, reference: "p", paidAt: new Date().toISOString(), mode: "upi" });
    const { stdout, stderr } = await cli(...importArgs(aFile(HEADER, ...rowsOf("N", 2)), "--yes"));
    expect(stderr).toMatch(line);
    expect(stdout).toContain("Warnings: BALANCE_WITHOUT_AS_OF in 1 row.");
  });

  test("needs no such line with --as-of, or without balances", async () => {
    const withAsOf = await cli(...importArgs(aFile(HEADER, ...rowsOf("N", 2)), "--dry-run", "--as-of", "09:00"));
    const withoutBalances = await cli(...importArgs(aFile("LAN;Action;Reason", "N-0;Hold;dispute"), "--dry-run"));
    expect([withAsOf.code, withoutBalances.code]).toEqual([0, 0]);
    expect(withAsOf.stderr + withoutBalances.stderr).not.toMatch(line);
  });
});

const updateCutoff = (cutoff: string) => cli("lender", "update", lender.code, "--balance-cutoff", cutoff, "--json");

describe("an imported balance whose as-of column has a day without a time", () => {
  const header = "Loan No,Customer Name,Mob No,POS,Outstanding As Of";
  const aRowOf = (loan: string, asOf: string) => `${loan},Ravi Kumar,9820000001,5000,${asOf}`;
  const columns = ["--map", "Outstanding As Of=outstandingAsOf", "--yes", "--json"];

  test("is rejected if the lender has no balance cut-off", async () => {
    const { code, stdout } = await cli(...importArgs(aFile(header, aRowOf("CUT-1", "20/11/2026")), ...columns));
    expect(code).toBe(6);
    expect(stdout).toMatch(
      /give the time of the file's balances with --as-of, or register the lender's --balance-cutoff/,
    );
    expect(await storedAsOf("CUT-1")).toBeUndefined();
  });

  test("gets the time of the lender's balance cut-off on that day, in the lender's time zone", async () => {
    expect(JSON.parse((await updateCutoff("23:59")).stdout)).toMatchObject({ balanceCutoff: "23:59" });
    expect(await cli.json("lender", "show", lender.code)).toMatchObject({ balanceCutoff: "23:59" });
    const file = aFile(header, aRowOf("CUT-2", "20/11/2026"), aRowOf("CUT-3", "20/11/2026 18:00"));
    expect(await cli(...importArgs(file, ...columns))).toMatchObject({ code: 0 });
    expect(await storedAsOf("CUT-2")).toBe("2026-11-20T18:29:00.000Z");
    expect(await storedAsOf("CUT-3")).toBe("2026-11-20T12:30:00.000Z");
  });

  test("gets the time in --as-of, even if the lender has a cut-off", async () => {
    const file = aFile(header, aRowOf("CUT-4", "20/11/2026"), aRowOf("CUT-5", "20/11/2026 18:00"));
    const asOf = ["--as-of", "2026-11-20 09:00"];
    expect(await cli(...importArgs(file, ...asOf, ...columns))).toMatchObject({ code: 0 });
    expect(await storedAsOf("CUT-4")).toBe("2026-11-20T03:30:00.000Z");
    expect(await storedAsOf("CUT-5")).toBe("2026-11-20T12:30:00.000Z");
  });

  test("is rejected with both dates if --as-of is on another day", async () => {
    const file = aFile(header, aRowOf("CUT-6", "27/11/2026"), aRowOf("CUT-7", "28/11/2026"));
    const { code, stdout } = await cli(...importArgs(file, "--as-of", "2026-11-28 00:30", ...columns));
    expect(code).toBe(6);
    expect(JSON.parse(stdout)).toMatchObject({ summary: { created: 1, rejected: 1 } });
    expect(stdout).toContain("is 2026-11-27, but --as-of is on 2026-11-28.");
    expect(await storedAsOf("CUT-6")).toBeUndefined();
    expect(await storedAsOf("CUT-7")).toBeDefined();
  });
});

test("`lender update --balance-cutoff` rejects 24:00, and removes the cut-off if the value is empty", async () => {
  const refused = await updateCutoff("24:00");
  expect(refused.code).toBe(1);
  expect(JSON.parse(refused.stdout)).toMatchObject({ error: { code: "INVALID_TIME" } });
  expect(JSON.parse((await updateCutoff("")).stdout)).toMatchObject({ balanceCutoff: null });
});
