import { directUrl, emptyDatabase } from "@collections/testing";
import { Client } from "pg";
import { beforeAll, describe, expect, test } from "vitest";
import { commandsInProcess } from "../fixtures/commands.ts";
import type { Cli } from "../fixtures/processes.ts";

let url: string;
let cli: Cli;

beforeAll(async () => {
  url = directUrl((await emptyDatabase()).url);
  cli = commandsInProcess({ DATABASE_URL: url });
});

describe("collections migrate", () => {
  test("migrates an empty database, and says when the schema is up to date", async () => {
    const { applied } = await cli.json("migrate");
    expect(applied).toEqual(expect.arrayContaining(["cases/0001", "ledger/0001", "webhooks/0001"]));
    expect(await cli("migrate")).toEqual({ code: 0, stdout: "The schema was up to date.\n", stderr: "" });
  });

  test("--distribute without Citus distributes nothing, says why, and exits with 0", async () => {
    expect(await cli.json("migrate", "--distribute")).toMatchObject({
      applied: [],
      citus: null,
      dryRun: false,
      statements: [],
    });
    const { code, stdout } = await cli("migrate", "--distribute");
    expect({ code, last: stdout.trim().split("\n").at(-1) }).toEqual({
      code: 0,
      last: "The extension citus is not installed in this database: there is nothing to distribute.",
    });
  });

  test("--distribute --dry-run prints the statements for a cluster: reference tables first, cases before visits", async () => {
    const { stdout } = await cli("migrate", "--distribute", "--dry-run");
    const lines = stdout.trim().split("\n").slice(2);
    const first = (text: string) => lines.findIndex((line) => line.startsWith(text));
    expect(first("set citus.enable_unsafe_triggers = on;")).toBe(0);
    expect(first("select create_distributed_function('ledger.refuse_change()');")).toBeGreaterThan(0);
    expect(first("select create_reference_table('lenders.lender');")).toBeGreaterThan(
      first("select create_distributed_function("),
    );
    expect(lines[first("select create_distributed_table(")]).toMatch(/, 'lender_id', colocate_with => 'none'\);$/);
    const at = (table: string) => lines.findIndex((line) => line.includes(`_table('${table}'`));
    expect(at("cases.collection_case")).toBeGreaterThan(1);
    expect(at("cases.visit")).toBeGreaterThan(at("cases.collection_case"));
    expect(at("cases.promise")).toBeGreaterThan(at("cases.visit"));
    expect(at("webhooks.event")).toBeGreaterThan(1);
    for (const local of ["field_partners.session", "rate_limits.permit_window", "webhooks.retention"]) {
      expect(at(local)).toBe(-1);
    }
    expect(lines.filter((line) => line.includes("add_local_table"))).toEqual(
      ["cases.held_request", "field_partners.mutation_result", "public.collections_job_commit"].map(
        (table) => `select citus_add_local_table_to_metadata('${table}');`,
      ),
    );
  });

  test("prints on stderr, and not in its JSON, that it is waiting for another migration", async () => {
    const holder = new Client({ connectionString: url });
    await holder.connect();
    const { rows } = await holder.query<{ pid: number }>(
      "select pg_backend_pid() as pid, pg_advisory_lock($1)",
      [0x70636f6c6c],
    );
    const waits = cli("migrate", "--json");
    const waiting =
      "select from pg_stat_activity where query like 'set lock_timeout = 0;%' and wait_event_type = 'Lock'";
    await expect.poll(async () => (await holder.query(waiting)).rowCount).toBe(1);
    await holder.end();
    const { code, stdout, stderr } = await waits;
    expect({ code, answer: JSON.parse(stdout) as unknown }).toEqual({ code: 0, answer: { applied: [], unknown: [] } });
    expect(stderr).toBe(
      `Waiting for the migration lock, which is held by process ${rows[0]!.pid} of PostgreSQL. If no other process is migrating, end it: select pg_terminate_backend(${rows[0]!.pid}).\n`,
    );
  });

  test("--dry-run without --distribute exits with 2", async () => {
    expect(await cli("migrate", "--dry-run")).toMatchObject({ code: 2, stderr: "--dry-run needs --distribute.\n" });
  });
});
