import { lenderByCode } from "@collections/lenders";
import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { commandsInProcess } from "../fixtures/commands.ts";
import { aLender, aRow, startTestService, type TestService } from "../fixtures/fixture.ts";
import type { Cli } from "../fixtures/processes.ts";

let service: TestService;
let cli: Cli;
let twin: Awaited<ReturnType<typeof aLender>>;

beforeAll(async () => {
  service = await startTestService({ hasWorker: false });
  cli = commandsInProcess({ DATABASE_URL: service.databaseUrl });
  twin = await aLender(service);
  await twin.importCases([aRow("LN-1"), aRow("LN-2")]);
});

/** Runs a command, and returns its exit code and the acts that it has added to the audit, in their order. */
async function run(...args: string[]) {
  const { id } = (await lenderByCode(service.app.database.em(), twin.code))!;
  const select = "select id, act, data from lenders.audit_entry where lender_id = $1 order by id";
  const entries = () => service.app.database.pool.query<{ act: string; data: object }>(select, [id]);
  const before = (await entries()).rows.length;
  const { code } = await cli(...args);
  return { code, added: (await entries()).rows.slice(before).map(({ act, data }) => ({ act, data })) };
}

describe("an act that fails", () => {
  test("leaves no entry for a run of `payment reconcile`", async () => {
    const path = join(await mkdtemp(join(tmpdir(), "failing-run-")), "day.csv");
    await writeFile(path, "Loan No,UTR,Amount,Paid At\nLN-1,UTR1,10.00,2026-11-21 10:00\n");
    const args = ["payment", "reconcile", path, "--lender", twin.code, "--day", "2026-11-21"];
    const { pool } = service.app.database;
    await pool.query("alter table ledger.reconciliation_run add constraint no_run check (false) not valid");
    expect(await run(...args)).toEqual({ code: 5, added: [] });
    await pool.query("alter table ledger.reconciliation_run drop constraint no_run");
    const ran = await run(...args);
    expect(ran).toMatchObject({ code: 6, added: [{ act: "reconciliation.run", data: { file: "day.csv" } }] });
  });

  test("leaves the start of an `endpoint probe`, without a result", async () => {
    await service.app.database.pool.query("update webhooks.endpoint set url = null");
    const { code, added } = await run("endpoint", "probe", twin.code);
    expect({ code, acts: added.map(({ act }) => act) }).toEqual({ code: 1, acts: ["endpoint.probe_started"] });
    await service.app.database.pool.query("update webhooks.endpoint set url = $1", [twin.callbackUrl]);
  });

  test("leaves the start of a scene that `sandbox play` refuses", async () => {
    expect(await cli("case", "close", twin.code, "LN-2", "--reason", "returned")).toMatchObject({ code: 0 });
    const { code, added } = await run("sandbox", "play", twin.code, "LN-2", "visit");
    expect({ code, acts: added.map(({ act }) => act) }).toEqual({ code: 1, acts: ["sandbox.play_started"] });
  });
});

test("`endpoint probe` records its start, and then the result of the ping", async () => {
  expect(await run("endpoint", "probe", twin.code)).toMatchObject({
    added: [
      { act: "endpoint.probe_started", data: { state: "active" } },
      { act: "endpoint.probed", data: { recovered: false } },
    ],
  });
});
