import { actsOn, lenderByCode } from "@collections/lenders";
import { afterFile, sessionsWaitingForLocks } from "@collections/testing";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Client } from "pg";
import { beforeAll, describe, expect, test } from "vitest";
import { commandsInProcess } from "../fixtures/commands.ts";
import { aLender, aRow, startTestService, type TestService } from "../fixtures/fixture.ts";
import { aRelay, type Cli, withDirectUrl } from "../fixtures/processes.ts";

const CLI_MAIN = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "collections-cli-import-"));
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

const HEADER = "Loan No,Customer Name,Mob No,POS,EMI_AMT,DPD,Next Due Date,City,PAN";

function aFile(...lines: string[]): string {
  const path = join(folder, `${(files += 1)}.csv`);
  writeFileSync(path, `${lines.join("\r\n")}\r\n`);
  return path;
}

function rowsOf(prefix: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) => `${prefix}-${index},Ravi Kumar,98200 00001,"1,23,456.50",,,,,`);
}

/** Returns the environment of a command that runs in its own process. */
function processEnv(databaseUrl: string): Record<string, string | undefined> {
  return { PATH: process.env["PATH"], MASTER_KEY: "a".repeat(64), ...withDirectUrl({ DATABASE_URL: databaseUrl }) };
}

function importArgs(path: string, ...more: string[]): string[] {
  return ["case", "import", path, "--lender", lender.code, ...more];
}

async function eventsOf(prefix: string): Promise<number> {
  const { rows } = await service.app.database.pool.query(
    "select from webhooks.event where source_loan_number like $1",
    [`${prefix}-%`],
  );
  return rows.length;
}

/** Opens a transaction that creates a case of this loan, so that an import of the loan waits for its lock. */
async function lockLoan(loan: string): Promise<Client> {
  const holder = new Client({ connectionString: service.databaseUrl });
  await holder.connect();
  // If a test fails, its database is dropped while this connection is still open. Ignore the resulting error.
  holder.on("error", () => {});
  await lender.importCases([aRow("A-1")]);
  await holder.query("begin");
  await holder.query(
    `insert into cases.collection_case
     select (jsonb_populate_record(c, jsonb_build_object('id', gen_random_uuid(), 'source_loan_number', $1::text))).*
     from cases.collection_case c where source_loan_number = 'A-1'`,
    [loan],
  );
  return holder;
}

async function waitForBlockedSession(): Promise<void> {
  await expect.poll(() => sessionsWaitingForLocks(service.app.database.pool)).toBe(1);
}

async function rollBackAndClose(holder: Client): Promise<void> {
  await holder.query("rollback");
  await holder.end();
}

const noRows = { created: 0, updated: 0, unchanged: 0, reopened: 0, withdrawn: 0, rejected: 0 };

describe("a file of cases", () => {
  test("may have common column names, Indian number formats, and phone numbers without the country code", async () => {
    const path = aFile(HEADER, 'A-1,Ravi Kumar,098200 00001,"₹1,23,456.50",2500/-,45,05-Dec-26,Pune,ABCDE1234F');
    expect(await cli.json(...importArgs(path, "--yes", "--reason", "November"))).toMatchObject({
      lenderCode: lender.code,
      dryRun: false,
      rows: 1,
      columns: { POS: "outstandingAmount", City: "address.city" },
      unknownColumns: ["PAN"],
      summary: { ...noRows, received: 1, created: 1 },
      examples: { created: [{ line: 2, sourceLoanNumber: "A-1", status: "new", outstandingAmount: 123456.5 }] },
      rejectedFile: null,
    });
    const { rows } = await service.app.database.pool.query(
      `select borrower_phone, outstanding_minor, emi_minor, dpd, next_due_date::text, addresses->0->>'city' as city
       from cases.collection_case where source_loan_number = 'A-1'`,
    );
    expect(rows).toEqual([
      {
        borrower_phone: "+919820000001",
        outstanding_minor: "12345650",
        emi_minor: "250000",
        dpd: 45,
        next_due_date: "2026-12-05",
        city: "Pune",
      },
    ]);
  });

  test("without --yes is only checked: the command shows the changes, applies nothing and exits with 1", async () => {
    await cli.json(...importArgs(aFile(HEADER, ...rowsOf("B", 3)), "--yes"));
    const path = aFile(HEADER, 'B-0,Ravi Kumar,9820000001,"1,20,000",,30,,,', ...rowsOf("B", 4).slice(1));
    const { code, stderr } = await cli(...importArgs(path));
    expect(code).toBe(1);
    expect(stderr).toMatch(/Ignored columns: PAN\./);
    expect(stderr).toMatch(/created +1\nupdated +1\nunchanged +2\n/);
    expect(stderr).toContain("line 2, B-0: outstandingAmount 123456.5 → 120000, dpd null → 30");
    expect(stderr).toContain("line 5, B-3: 123456.5 outstanding, new");
    expect(stderr).toContain("Nothing was changed. Add --yes to apply the file.");
    const dryRun = await cli.json(...importArgs(path, "--dry-run"));
    expect(dryRun).toMatchObject({ dryRun: true, summary: { received: 4, created: 1, updated: 1 } });
    expect(await eventsOf("B")).toBe(3);
    expect((await cli(...importArgs(path, "--json"))).code).toBe(2);
  });

  test("with rejected rows makes the command write these rows with line and reason to a file that can be corrected and imported", async () => {
    const path = aFile(
      HEADER,
      "C-1,Ravi Kumar,98200,500,,,,,",
      "C-2,Ravi Kumar,9820000001,5OO,,,31/02/2026,,",
      "C-3,Ravi Kumar,9820000001,500,,,,,",
      "C-3,Asha Rao,9820000002,700,,,,,",
      "9.82E+09,Ravi Kumar,9820000001,500,,,,,",
      "C-4,,9820000001,500,,,,,",
    );
    const { code, stdout } = await cli(...importArgs(path, "--yes", "--json"));
    const answer = JSON.parse(stdout) as { summary: object; examples: { rejected: object[] }; rejectedFile: string };
    expect(code).toBe(6);
    expect(answer.summary).toEqual({ ...noRows, received: 6, created: 1, rejected: 5 });
    expect(answer.examples.rejected).toMatchObject([
      { line: 2, because: 'column "Mob No": Expected E.164, for example +919800000001.' },
      {
        line: 3,
        because: expect.stringMatching(/column "POS": "5OO" is not.*column "Next Due Date": "31\/02/) as string,
      },
      { line: 5, because: "Line 4 is about the same loan; a file has one row for each loan." },
      { line: 6, because: expect.stringMatching(/column "Loan No": "9.82E\+09" has lost digits/) as string },
      {
        line: 7,
        because:
          'column "Customer Name": borrowerName is required. column "Mob No": The phone is read as +919820000001.',
      },
    ]);
    const rejected = readFileSync(answer.rejectedFile, "utf8");
    expect(rejected.split("\r\n").map((line) => line.split(",", 1)[0])).toEqual([
      "\uFEFFRejected line",
      ..."2,3,5,6,7".split(","),
      "",
    ]);
    const mended = aFile(...rejected.replace("98200,500", "9820000001,500").split("\r\n").slice(0, 2));
    expect(await cli.json(...importArgs(mended, "--yes"))).toMatchObject({ summary: { created: 1, rejected: 0 } });
  });

  test("has its formulas escaped in the file of rejected rows, and unescaped when the corrected file is imported", async () => {
    const formula = `=HYPERLINK("https://evil.example","Pay")`;
    const quoted = `"${formula.replaceAll('"', '""')}"`;
    const path = aFile(
      HEADER,
      `..,${quoted},+919820000001,500,,,,@Pune,`,
      `-1,Ravi Kumar,'+919820000002,5OO,,,,'Pune,`,
    );
    expect((await cli(...importArgs(path, "--yes"))).code).toBe(6);
    const rejected = readFileSync(path.replace(".csv", ".rejected.csv"), "utf8");
    expect(rejected).not.toMatch(/(^|,)"?[=+@-]/m);
    expect(rejected).toContain(`,..,"'${quoted.slice(1)},'+919820000001,500,,,,'@Pune,`);
    expect(rejected).toContain(`,'-1,Ravi Kumar,''+919820000002,5OO,,,,'Pune,`);

    const mended = aFile(
      ...rejected.replace(",..,", ",G-1,").replace("'-1,", "'-G-2,").replace("5OO", "500").split("\r\n"),
    );
    const { code, stdout } = await cli(...importArgs(mended, "--yes", "--json"));
    expect({ code, ...(JSON.parse(stdout) as object) }).toMatchObject({
      code: 6,
      summary: { created: 1, rejected: 1 },
    });
    const { rows } = await service.app.database.pool.query(
      `select source_loan_number, borrower_name, borrower_phone, addresses -> 0 ->> 'city' as city
       from cases.collection_case where source_loan_number in ('G-1', '-G-2')`,
    );
    expect(rows).toEqual([
      { source_loan_number: "G-1", borrower_name: formula, borrower_phone: "+919820000001", city: "@Pune" },
    ]);
  });

  test("with ambiguous columns or invalid syntax makes the command exit with 1 before any row is applied", async () => {
    const ambiguous = aFile("Loan No,Customer Name,Mob No,Amount", "D-1,Ravi Kumar,9820000001,500");
    expect(await cli(...importArgs(ambiguous, "--yes"))).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('--map "Amount=outstandingAmount"') as string,
    });
    const mapped = importArgs(ambiguous, "--yes", "--map", "Amount=outstandingAmount");
    expect(await cli.json(...mapped)).toMatchObject({ summary: { created: 1 } });
    const broken = aFile(HEADER, ...rowsOf("E", 1_500), '"E-1500,Ravi Kumar');
    const answer = await cli(...importArgs(broken, "--yes", "--json"));
    expect(answer.code).toBe(1);
    expect(JSON.parse(answer.stdout)).toEqual({
      error: { code: "FILE_NOT_READABLE", detail: "line 1502: a quotation mark opens a cell and nothing closes it." },
    });
    expect(await eventsOf("E")).toBe(0);
    expect((await cli(...importArgs(join(folder, "absent.csv"), "--yes"))).code).toBe(3);
  });

  test("with a long action gets an error that is valid Unicode, even if the quoted action is cut within an emoji", async () => {
    const path = aFile(
      "Loan No,Customer Name,Mob No,POS,Action",
      `EMOJI-1,Ravi Kumar,9820000001,500.555,${"a".repeat(39)}😀`,
      "EMOJI-2,Ravi Kumar,9820000001,500,",
    );
    const { stdout } = await cli(...importArgs(path, "--yes", "--json"));
    expect(JSON.parse(stdout)).toMatchObject({
      summary: { ...noRows, received: 2, created: 1, rejected: 1 },
      examples: { rejected: [{ because: expect.stringContaining(`"${"a".repeat(39)}\uFFFD"`) as string }] },
    });
  });

  test("withdraws, holds and releases cases if it has an action column", async () => {
    await cli.json(...importArgs(aFile(HEADER, ...rowsOf("F", 3)), "--yes"));
    const path = aFile("LAN;Action;Reason", "F-0;Withdraw;sold", "F-1;hold;dispute", "F-9;release;");
    const { code, stdout } = await cli(...importArgs(path, "--yes", "--json"));
    expect(code).toBe(6);
    expect(JSON.parse(stdout)).toMatchObject({ summary: { withdrawn: 1, updated: 1, rejected: 1 } });
    expect((await lender.getCase("F-1")).body).toMatchObject({ status: "on_hold", statusReason: "dispute" });
  });

  test("imported with --as-of has balances as of that time, so a later payment is subtracted", async () => {
    await cli.json(...importArgs(aFile(HEADER, ...rowsOf("G", 1)), "--yes"));
    await lender.confirm("G-0", { amount: 456.5, reference: "p", paidAt: "2026-11-20T12:00:00Z", mode: "upi" });
    const path = aFile(HEADER, ...rowsOf("G", 1));
    expect(await cli.json(...importArgs(path, "--yes", "--as-of", "2026-11-20T09:00:00+05:30"))).toMatchObject({
      summary: { unchanged: 1 },
      warnings: { PAYMENT_AFTER_SNAPSHOT: 1 },
    });
  });
});

describe("a file import whose process was killed", () => {
  test("continues with --resume where it stopped, and applies or rejects every row once", async () => {
    const rows = rowsOf("K", 2_500);
    for (const index of [10, 1_200, 2_050, 2_400]) rows[index] = rows[index]!.replace("Ravi Kumar", "");
    const path = aFile(HEADER, ...rows);
    const holder = await lockLoan("K-2100");
    const env = processEnv(service.databaseUrl);
    const victim = spawn(process.execPath, [CLI_MAIN, ...importArgs(path, "--yes")], { env, stdio: "ignore" });
    await expect.poll(() => eventsOf("K")).toBe(1_998);
    await waitForBlockedSession();
    victim.kill("SIGKILL");
    await once(victim, "exit");
    await rollBackAndClose(holder);

    const { code, stdout } = await cli(...importArgs(path, "--yes", "--resume", "--json", "--reason", "killed"));
    expect(code).toBe(6);
    expect(JSON.parse(stdout)).toMatchObject({
      summary: { ...noRows, received: 2_500, created: 2_496, rejected: 4 },
      examples: { created: [{ line: 2_002 }, {}, {}, {}, {}] },
    });
    expect(await eventsOf("K")).toBe(2_496);
    const rejected = readFileSync(path.replace(".csv", ".rejected.csv"), "utf8").split("\r\n");
    expect(rejected.map((line) => line.split(",", 1)[0]).slice(1, -1)).toEqual(["12", "1202", "2052", "2402"]);

    const acts = await actsOn(
      service.app.database.em(),
      (await lenderByCode(service.app.database.em(), lender.code))!.id,
    );
    expect(acts.slice(0, 3)).toMatchObject([
      { act: "case_file.imported", reason: "killed", data: { rows: 2_500, created: 2_496, rejected: 4 } },
      { act: "case_file.started", reason: "killed", data: { rows: 2_500, from: 2_000 } },
      { act: "case_file.started", reason: null, data: { rows: 2_500 } },
    ]);
    const again = await cli(...importArgs(path, "--yes", "--resume", "--json"));
    expect(again.code).toBe(6);
    expect(JSON.parse(again.stdout)).toMatchObject({ summary: { created: 2_496 }, examples: { created: [] } });
  });

  test("can be started again from the beginning without harm", async () => {
    const path = aFile(HEADER, ...rowsOf("K", 2_500));
    const answers = [await cli.json(...importArgs(path, "--yes")), await cli.json(...importArgs(path, "--yes"))];
    expect(answers.map(({ summary }) => summary)).toMatchObject([
      { created: 4, unchanged: 2_496 },
      { created: 0, unchanged: 2_500 },
    ]);
    expect(existsSync(path.replace(".csv", ".rejected.csv"))).toBe(false);
  });
});

test("an import of a file waits for an unavailable database, and applies or rejects every row once", async () => {
  const rows = rowsOf("W", 1_500);
  rows[1_200] = rows[1_200]!.replace("Ravi Kumar", "");
  const path = aFile(HEADER, ...rows);
  const relay = await aRelay(service.databaseUrl);
  const holder = await lockLoan("W-1100");
  const answer = commandsInProcess({ DATABASE_URL: relay.url })(...importArgs(path, "--yes", "--json"));
  await waitForBlockedSession();
  relay.cut();
  await rollBackAndClose(holder);
  relay.mend();
  const { code, stdout } = await answer;
  expect(code).toBe(6);
  expect(JSON.parse(stdout)).toMatchObject({ summary: { ...noRows, received: 1_500, created: 1_499, rejected: 1 } });
  expect(await eventsOf("W")).toBe(1_499);
  const rejected = readFileSync(path.replace(".csv", ".rejected.csv"), "utf8").split("\r\n");
  expect(rejected.map((line) => line.split(",", 1)[0]).slice(1, -1)).toEqual(["1202"]);
});

test("an import of a file does not apply rows again when the answer to their commit was lost", async () => {
  const path = aFile(HEADER, ...rowsOf("L", 1_500));
  const relay = await aRelay(service.databaseUrl);
  const holder = await lockLoan("L-1100");
  const answer = commandsInProcess({ DATABASE_URL: relay.url })(...importArgs(path, "--yes", "--json"));
  await waitForBlockedSession();
  relay.loseNextCommit();
  await rollBackAndClose(holder);
  await expect.poll(() => eventsOf("L")).toBe(1_500);
  const payment = { amount: 123_456.5, reference: "pay_L", paidAt: "2026-11-20T09:40:55Z", mode: "upi" };
  expect((await lender.confirm("L-1300", payment)).status).toBe(200);
  relay.mend();
  expect(JSON.parse((await answer).stdout)).toMatchObject({ summary: { ...noRows, received: 1_500, created: 1_500 } });
  expect((await lender.call("GET", "/api/v1/partner/cases/L-1300")).body).toMatchObject({
    status: "collected",
    cycle: 1,
  });
});

test("an import of 5,000 rows works with a heap that cannot hold them all", async () => {
  const path = aFile(HEADER, ...rowsOf("H", 5_000));
  const env = processEnv(service.databaseUrl);
  const args = ["--max-old-space-size=72", CLI_MAIN, ...importArgs(path, "--yes")];
  const child = spawn(process.execPath, args, { env, stdio: "ignore" });
  expect(await once(child, "exit")).toEqual([0, null]);
  expect(await eventsOf("H")).toBe(5_000);
});
