import { killAllStarted, startOperator } from "@collections/faults";
import { publicId } from "@collections/database";
import { afterFile, sessionsWaitingForLocks, until } from "@collections/testing";
import { beforeAll, expect, test } from "vitest";
import { commandsInProcess } from "../fixtures/commands.ts";
import { aFieldPartner, aLender, aRow, startTestService, type TestService } from "../fixtures/fixture.ts";
import { type Cli, withDirectUrl } from "../fixtures/processes.ts";

const LENDER = "ACME";
const CASES = 700;
const CODES = 9;

interface Row {
  readonly person: string;
  readonly code: string;
}

let service: TestService;
let cli: Cli;
let people: readonly string[];

beforeAll(async () => {
  service = await startTestService({ hasWorker: false });
  cli = commandsInProcess({ DATABASE_URL: service.databaseUrl });
  const lender = await aLender(service, { code: LENDER });
  people = [await aFieldPartner(service), await aFieldPartner(service)].map(({ id }) => publicId("fp", id));
  const rows = Array.from({ length: CASES }, (_, number) =>
    aRow(`LN-${number}`, { addresses: [{ line1: "1 Road", postalCode: `41100${number % CODES}` }] }),
  );
  await lender.importCases(rows);
});

async function assigned(): Promise<Row[]> {
  const { rows } = await service.app.database.pool.query<Row>(
    `select assigned_field_partner_id as person, addresses #>> '{0,postalCode}' as code
     from cases.collection_case where assigned_field_partner_id is not null`,
  );
  return rows;
}

test("kill -9 during `case assign --spread` loses nothing, and a repeat completes it", async () => {
  const command = ["case", "assign", LENDER, "--spread", people.join(","), "--by", "postal-code"];
  const planned = await cli.json(...command, "--dry-run");
  const { pool } = service.app.database;
  // Hold a case of the last batch, so that the command waits for it.
  const holder = await pool.connect();
  await holder.query("begin");
  await holder.query("select from cases.collection_case where addresses #>> '{0,postalCode}' = $1 for no key update", [
    `41100${CODES - 1}`,
  ]);
  afterFile(killAllStarted);
  const settings = { MASTER_KEY: "a".repeat(64), ...withDirectUrl({ DATABASE_URL: service.databaseUrl }) };
  const killed = startOperator(settings, ...command, "--yes");
  await until(async () => (await sessionsWaitingForLocks(pool)) > 0);
  const before = (await assigned()).length;
  killed.kill();
  await killed.done;
  await holder.query("rollback");
  holder.release();
  expect(before).toBeGreaterThan(0);
  expect(before).toBeLessThan(CASES);
  await until(async () => (await sessionsWaitingForLocks(pool)) === 0);

  const done = await cli.json(...command, "--yes");
  expect(Number(done["assigned"]) + before).toBe(Number(planned["assigned"]));
  const rows = await assigned();
  expect(rows).toHaveLength(CASES);
  const byCode = Map.groupBy(rows, ({ code }) => code);
  for (const ofCode of byCode.values()) expect(new Set(ofCode.map(({ person }) => person)).size).toBe(1);
  expect(await cli.json(...command, "--yes")).toMatchObject({ assigned: 0, rejected: 0 });
  const { rows: events } = await pool.query<{ events: string }>(
    "select count(*) as events from webhooks.event where kind = 'case.assigned'",
  );
  expect(Number(events[0]!.events)).toBe(CASES);
});
