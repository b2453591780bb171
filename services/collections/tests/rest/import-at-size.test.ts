import { verifyBooks } from "@collections/flows";
import { LenderClient, type LenderTwin } from "@collections/lender-twin";
import { afterFile, sessionsWaitingForLocks } from "@collections/testing";
import { Client } from "pg";
import { beforeAll, describe, expect, test } from "vitest";
import { aLender, aRow, startTestService, type TestService } from "../fixtures/fixture.ts";
import { startProcess } from "../fixtures/processes.ts";

const MOST_ROWS = 1_000;

let service: TestService;
let lender: Awaited<ReturnType<typeof aLender>>;

beforeAll(async () => {
  service = await startTestService({ hasWorker: false });
  lender = await aLender(service);
});

function rowsOf(prefix: string, count: number, fields: (index: number) => object = () => ({})): object[] {
  return Array.from({ length: count }, (_, index) => aRow(`${prefix}-${index}`, { ...fields(index) }));
}

async function importRows(rows: object[], from: LenderClient = lender): Promise<Record<string, number>> {
  const { status, body } = await from.importCases(rows);
  expect(status).toBe(200);
  return body["summary"] as Record<string, number>;
}

/** Returns a client of the same lender that calls another process of the service. */
function aClientOf(twin: LenderTwin, serviceUrl: string): LenderClient {
  const client = new LenderClient();
  const [[apiKeyId, hmacSecret]] = [...twin.secrets] as [[string, string]];
  client.connect({ serviceUrl, apiKeyId, hmacSecret });
  afterFile(() => client.disconnect());
  return client;
}

/** Opens a separate database connection for the test. */
async function aConnection(): Promise<Client> {
  const client = new Client({ connectionString: service.databaseUrl });
  await client.connect();
  afterFile(() => client.end());
  return client;
}

async function waitForBlockedSession(client: Client): Promise<void> {
  await expect.poll(() => sessionsWaitingForLocks(client)).toBeGreaterThan(0);
}

async function written(prefix: string): Promise<object> {
  const { rows } = await service.app.database.pool.query<object>(
    `select (select count(*) from cases.collection_case where source_loan_number like $1) as cases,
       (select count(*) from webhooks.event where source_loan_number like $1) as events,
       (select count(*) from webhooks.delivery where loan like $1) as deliveries,
       (select count(*) from ledger.transfer t join cases.collection_case c on c.lender_id = t.lender_id and c.id = t.case_id
        where c.source_loan_number like $1) as transfers`,
    [`${prefix}-%`],
  );
  return rows[0]!;
}

const all = String(MOST_ROWS);
const allOnce = { cases: all, events: all, deliveries: all, transfers: all };

describe("an import of 1,000 rows", () => {
  test("creates each case once if three concurrent requests have the same rows in different orders", async () => {
    const rows = rowsOf("ONCE", MOST_ROWS);
    const summaries = await Promise.all([
      importRows(rows),
      importRows(rows.toReversed()),
      importRows([...rows.slice(500), ...rows.slice(0, 500)]),
    ]);
    const total = (name: string) => summaries.reduce((sum, summary) => sum + summary[name]!, 0);
    expect([total("created"), total("unchanged"), total("rejected")]).toEqual([MOST_ROWS, 2 * MOST_ROWS, 0]);
    expect(await written("ONCE")).toEqual(allOnce);
    expect(await verifyBooks(service.app.database.em(), { now: new Date() })).toMatchObject({ ok: true });
  });

  test("creates, changes, settles, holds, releases, withdraws and reopens loans in one request", async () => {
    await importRows(rowsOf("MIX", 800));
    await importRows(rowsOf("MIX", 100, () => ({ outstandingAmount: 0 })));
    await importRows(rowsOf("MIX", 200, () => ({ action: "hold" })).slice(100));
    const kinds = ["reopened", "released", "withdrawn", "held", "settled", "changed", "unchanged", "unchanged"];
    const row = (index: number) => {
      const kind = kinds[Math.floor(index / 100)] ?? "created";
      return {
        reopened: { outstandingAmount: 10 },
        released: { action: "release" },
        withdrawn: { action: "withdraw", reason: "sold" },
        held: { action: "hold", reason: "dispute" },
        settled: { outstandingAmount: 0 },
        changed: { outstandingAmount: 1, branchCode: "PNQ", tags: ['a "b"', "{c,d}", "\\e"], metadata: { k: "v\\" } },
        unchanged: {},
        created: {},
      }[kind]!;
    };
    const summary = await importRows(rowsOf("MIX", MOST_ROWS, row));
    expect(summary).toEqual({
      received: 1_000,
      created: 200,
      reopened: 100,
      withdrawn: 100,
      updated: 400,
      unchanged: 200,
      rejected: 0,
    });
    const { rows } = await service.app.database.pool.query(
      `select status, count(*)::integer from cases.collection_case
       where source_loan_number like 'MIX-%' and is_current group by status order by status`,
    );
    expect(rows).toEqual([
      { status: "closed", count: 100 },
      { status: "new", count: 700 },
      { status: "on_hold", count: 100 },
      { status: "withdrawn", count: 100 },
    ]);
    const changed = "select tags, metadata from cases.collection_case where source_loan_number = 'MIX-550'";
    const { rows: details } = await service.app.database.pool.query(changed);
    expect(details).toEqual([{ tags: ['a "b"', "{c,d}", "\\e"], metadata: { k: "v\\" } }]);
    expect(await verifyBooks(service.app.database.em(), { now: new Date() })).toMatchObject({ ok: true });
  });

  test("waits for a locked case, and compares the row with what the other transaction committed", async () => {
    await importRows(rowsOf("HELD", MOST_ROWS));
    const [holder, observer] = [await aConnection(), await aConnection()];
    await holder.query("begin");
    await holder.query("update cases.collection_case set dpd = 7 where source_loan_number = 'HELD-500'");
    const sent = importRows(rowsOf("HELD", MOST_ROWS, () => ({ dpd: 7 })));
    await waitForBlockedSession(observer);
    await holder.query("commit");
    expect(await sent).toMatchObject({ updated: MOST_ROWS - 1, unchanged: 1 });
  });

  test("is retried after a deadlock", async () => {
    await importRows(rowsOf("CIRCLE", 1));
    const [gate, holder, observer] = [await aConnection(), await aConnection(), await aConnection()];
    const lockCase = "select from cases.collection_case where source_loan_number = 'CIRCLE-0' for update";
    await holder.query("begin; set local deadlock_timeout = '30s'");
    await holder.query(
      `insert into cases.collection_case
       select (jsonb_populate_record(c, jsonb_build_object('id', gen_random_uuid(), 'source_loan_number', 'CIRCLE-1'))).*
       from cases.collection_case c where source_loan_number = 'CIRCLE-0'`,
    );
    // The import waits for the case that the gate has locked, and the holder waits behind the import. When the gate
    // opens, the import locks the case and waits for the holder's new case: a deadlock from the start of that wait.
    // PostgreSQL looks for a deadlock only once in a wait, after one second.
    await gate.query(`begin; ${lockCase}`);
    const sent = importRows(rowsOf("CIRCLE", 2, () => ({ dpd: 7 })));
    await expect.poll(() => sessionsWaitingForLocks(observer)).toBe(1);
    const locked = holder.query(lockCase);
    await expect.poll(() => sessionsWaitingForLocks(observer)).toBe(2);
    await gate.query("commit");
    await locked;
    await holder.query("rollback");
    expect(await sent).toMatchObject({ updated: 1, created: 1 });
  });

  test("writes nothing if its process is killed halfway, and creates every case once when it is sent again", async () => {
    const victim = await startProcess({ DATABASE_URL: service.databaseUrl, RATE_LIMITS: "off", ROLE: "server" });
    await importRows(rowsOf("KILLED", 1), aClientOf(lender, victim.url));
    const [holder, observer] = [await aConnection(), await aConnection()];
    // Events are the last rows that an import writes, so the lock stops the import just before its end.
    await holder.query("begin; lock table webhooks.delivery in exclusive mode");
    const sent = aClientOf(lender, victim.url).importCases(rowsOf("KILLED", MOST_ROWS));
    const outcome = sent.then(
      () => "answered",
      () => "lost",
    );
    await waitForBlockedSession(observer);
    victim.send("SIGKILL");
    await victim.ended;
    expect(await outcome).toBe("lost");
    await holder.query("commit");
    expect(await written("KILLED")).toMatchObject({ cases: "1", events: "1" });
    expect(await importRows(rowsOf("KILLED", MOST_ROWS))).toMatchObject({ created: MOST_ROWS - 1, unchanged: 1 });
    expect(await written("KILLED")).toEqual(allOnce);
  });
});
