import { actsOn, lenderByCode } from "@collections/lenders";
import { afterFile, sessionsWaitingForLocks } from "@collections/testing";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { commandsInProcess } from "../fixtures/commands.ts";
import { aLender, startTestService, type TestService } from "../fixtures/fixture.ts";
import { aRelay, type Cli } from "../fixtures/processes.ts";

const folder = mkdtempSync(join(tmpdir(), "collections-cli-assign-"));
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

function aFile(...lines: string[]): string {
  const path = join(folder, `${(files += 1)}.csv`);
  writeFileSync(path, `${lines.join("\r\n")}\r\n`);
  return path;
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

const noRows = { created: 0, updated: 0, unchanged: 0, reopened: 0, withdrawn: 0, rejected: 0 };

describe("a file with the column assignTo", () => {
  const columns = "Loan No,Customer Name,Mob No,POS,Assign To";
  const line = (loan: string, assignTo: string) => `${loan},Ravi Kumar,98200 00001,5000,${assignTo}`;
  let asha: string;
  let ravi: string;

  beforeAll(async () => {
    const create = async (name: string, phone: string) =>
      String((await cli.json("field-partner", "create", "--name", name, "--phone", phone))["fieldPartnerId"]);
    asha = await create("Asha Rao", "+919820000071");
    ravi = await create("Ravi Iyer", "+919820000072");
  });

  async function holderOf(loan: string): Promise<string | null> {
    const shown = (await cli.json("case", "show", lender.code, loan)) as { fieldPartner: { id: string } | null };
    return shown.fieldPartner?.id ?? null;
  }

  test("assigns, moves and unassigns the cases of its rows, and a dry run shows the same counts", async () => {
    const path = aFile(columns, line("M-0", asha), line("M-1", asha), line("M-2", ""), line("M-3", "none"));
    const summary = { ...noRows, received: 4, created: 4, assigned: 2, notAssigned: 0 };
    expect(await cli.json(...importArgs(path, "--dry-run"))).toMatchObject({ dryRun: true, summary });
    expect(await cli("case", "show", lender.code, "M-0")).toMatchObject({ code: 3 });
    expect(await cli.json(...importArgs(path, "--yes", "--reason", "November"))).toMatchObject({ summary });
    expect([await holderOf("M-0"), await holderOf("M-1"), await holderOf("M-2")]).toEqual([asha, asha, null]);
    const { id } = (await lenderByCode(service.app.database.em(), lender.code))!;
    const acts = await actsOn(service.app.database.em(), id, 10);
    expect(acts).toContainEqual(
      expect.objectContaining({ act: "case.assign", reason: "November", data: { loan: "M-0" } }),
    );

    const again = aFile(columns, line("M-0", ravi), line("M-1", "none"), line("M-2", asha), line("M-3", ""));
    expect(await cli.json(...importArgs(again, "--yes"))).toMatchObject({
      summary: { ...noRows, received: 4, unchanged: 4, assigned: 3, notAssigned: 0 },
    });
    expect([await holderOf("M-0"), await holderOf("M-1"), await holderOf("M-2")]).toEqual([ravi, null, asha]);
    expect(await cli.json(...importArgs(again, "--yes"))).toMatchObject({ summary: { unchanged: 4, assigned: 0 } });
    expect(await eventsOf("M")).toBe(4 + 2 + 4);
  });

  test("imports a row whose case cannot be assigned, and lists it with the reason beside the rejected rows", async () => {
    await cli.json("field-partner", "suspend", ravi, "--reason", "left");
    const path = aFile(
      columns,
      line("N-0", ravi),
      line("N-1", "fp_00000000000000000000000000000001"),
      line("N-2", "Asha"),
      line("N-3", asha),
    );
    const result = await cli(...importArgs(path, "--yes", "--json"));
    expect(result.code).toBe(6);
    expect(JSON.parse(result.stdout)).toMatchObject({
      summary: { ...noRows, received: 4, created: 3, rejected: 1, assigned: 1, notAssigned: 2 },
    });
    expect([await holderOf("N-0"), await holderOf("N-1"), await holderOf("N-3")]).toEqual([null, null, asha]);
    const rejected = readFileSync(path.replace(".csv", ".rejected.csv"), "utf8").split("\r\n");
    expect(rejected[1]).toMatch(/^2,.*The case was imported, but not assigned: .* is suspended.*,N-0,/);
    expect(rejected[2]).toMatch(/^3,.*not assigned: There is no such field partner.*,N-1,/);
    expect(rejected[3]).toMatch(
      /^4,.*column ""Assign To"": Expected the id of a field partner \(fp_…\) or none.*,N-2,/,
    );
    expect(rejected.filter((text) => text !== "")).toHaveLength(4);
  });

  test("assigns each case once if the answer to the commit is lost, and shows the counts that were committed", async () => {
    await cli.json(...importArgs(aFile(columns, line("P-0", ""), line("P-1", ""), line("P-2", "")), "--yes"));
    const unknown = "fp_00000000000000000000000000000001";
    const path = aFile(columns, line("P-0", asha), line("P-1", asha), line("P-2", unknown));
    const { pool } = service.app.database;
    const relay = await aRelay(service.databaseUrl);
    const holder = await pool.connect();
    await holder.query("begin");
    await holder.query("select from cases.collection_case where source_loan_number = 'P-1' for no key update");
    const running = commandsInProcess({ DATABASE_URL: relay.url })(...importArgs(path, "--yes", "--json"));
    await expect.poll(() => sessionsWaitingForLocks(pool)).toBe(1);
    relay.loseNextCommit();
    await holder.query("rollback");
    holder.release();
    await expect.poll(() => eventsOf("P")).toBe(3 + 2);
    relay.mend();
    const { code, stdout } = await running;
    expect({ code, summary: (JSON.parse(stdout) as { summary: object }).summary }).toEqual({
      code: 6,
      summary: { ...noRows, received: 3, unchanged: 3, assigned: 2, notAssigned: 1 },
    });
    expect(await eventsOf("P")).toBe(3 + 2);
    const rejected = readFileSync(path.replace(".csv", ".rejected.csv"), "utf8").split("\r\n");
    expect(rejected.slice(1, -1)).toEqual([
      expect.stringMatching(/not assigned: There is no such field partner.*,P-2,/),
    ]);
  });
});
