import { transaction } from "@collections/database";
import { directUrl } from "@collections/testing";
import { setTimeout as delay } from "node:timers/promises";
import { Client } from "pg";
import { beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { addBookings } from "./fixtures/add-bookings.ts";
import { aLender, aRow, startTestService, type TestService } from "../fixtures/fixture.ts";

vi.setConfig({ testTimeout: 120_000 });

const DAY = { from: "2026-11-20T18:30:00Z", to: "2026-11-21T18:30:00Z" };
const NOON = "2026-11-21T06:30:00.000Z";
const RUNS = "/api/v1/partner/payments/reconcile";
const BOOKINGS = 2_000;
/** The connections of a process that are in no share: see `SHARES` in create-app.ts. */
const SHARED_CONNECTIONS = 6;

type TestLender = Awaited<ReturnType<typeof aLender>>;

let service: TestService;
let attacker: TestLender;
let victim: TestLender;

beforeAll(async () => {
  service = await startTestService({ hasWorker: false });
});

beforeEach(async () => {
  attacker = await aLender(service);
  victim = await aLender(service);
  await victim.importCases([aRow("LN-1"), aRow("LN-2")]);
});

async function confirmAll(count: number): Promise<number[]> {
  const answers = Array.from({ length: count }, (_, index) =>
    victim.confirm(`LN-${(index % 2) + 1}`, { amount: 1, reference: `utr_${index}`, paidAt: NOON, mode: "upi" }),
  );
  return (await Promise.all(answers)).map(({ status }) => status);
}

/** Holds a lock on a table while `work` runs: every statement that needs the table waits. */
async function withLockedTable<Result>(table: string, work: () => Promise<Result>): Promise<Result> {
  const client = new Client({ connectionString: directUrl(service.databaseUrl) });
  await client.connect();
  try {
    await client.query(`begin; lock table ${table} in access exclusive mode`);
    return await work();
  } finally {
    await client.query("rollback");
    await client.end();
  }
}

/** Waits until this many statements wait for a lock. */
async function waitingForLock(count: number): Promise<void> {
  const client = new Client({ connectionString: directUrl(service.databaseUrl) });
  await client.connect();
  const waiting = async () => {
    const { rows } = await client.query<{ count: number }>(
      `select count(*)::int as count from pg_stat_activity
       where datname = current_database() and wait_event_type = 'Lock'`,
    );
    return rows[0]!.count;
  };
  await expect.poll(waiting, { timeout: 8_000 }).toBeGreaterThanOrEqual(count);
  await client.end();
}

test("a confirmation of a loan number with several normal forms needs no shared connection", async () => {
  await victim.importCases([aRow("CAF\u00c9-1")]);
  const { database } = service.app;
  const done = Promise.withResolvers<void>();
  const begun = Array.from({ length: SHARED_CONNECTIONS }, () => Promise.withResolvers<void>());
  const work = begun.map((one) =>
    transaction(database.em(), async (tx) => {
      await tx.execute("select 1");
      one.resolve();
      await done.promise;
    }),
  );
  await Promise.all(begun.map(({ promise }) => promise));
  const payment = { amount: 1, reference: "utr_cafe", paidAt: NOON, mode: "upi" };
  expect(await victim.confirm("CAFE\u0301-1", payment)).toMatchObject({ status: 200 });
  done.resolve();
  await Promise.all(work);
});

describe("while another lender's runs make no progress", () => {
  test("confirmations are answered 200", async () => {
    const sent = await withLockedTable("ledger.reconciliation_run", async () => {
      const attack = Array.from({ length: 24 }, () => attacker.reconcile({ ...DAY, rows: [] }));
      const lists = Array.from({ length: 24 }, () => attacker.call("GET", RUNS));
      await waitingForLock(2);
      expect(new Set(await confirmAll(40))).toEqual(new Set([200]));
      return [attack, lists];
    });
    await Promise.all(sent.flat());
  });

  test("a second run is 429 and a third lender's run 503, at once", async () => {
    const third = await aLender(service);
    const running = await withLockedTable("ledger.reconciliation_run", async () => {
      const begun = [attacker.reconcile({ ...DAY, rows: [] }), victim.reconcile({ ...DAY, rows: [] })];
      await waitingForLock(2);
      expect(await attacker.reconcile({ ...DAY, rows: [] })).toMatchObject({
        status: 429,
        body: { code: "RATE_LIMITED", retryable: true },
        headers: { "retry-after": "2" },
      });
      expect(await third.reconcile({ ...DAY, rows: [] })).toMatchObject({
        status: 503,
        body: { code: "SERVICE_UNAVAILABLE", retryable: true },
        headers: { "retry-after": "2" },
      });
      return begun;
    });
    for (const { status } of await Promise.all(running)) expect(status).toBe(200);
    expect(await third.reconcile({ ...DAY, rows: [] })).toMatchObject({ status: 200 });
  });

  test("reading two stored runs at a time is 429, reading one twice is 200", async () => {
    const [first, second] = [await reconcileOnce(), await reconcileOnce()];
    const reading = await withLockedTable("ledger.reconciliation_run", async () => {
      const same = [attacker.call("GET", first), attacker.call("GET", first)];
      await waitingForLock(1);
      expect(await attacker.call("GET", second)).toMatchObject({ status: 429, body: { code: "RATE_LIMITED" } });
      return same;
    });
    expect(await Promise.all(reading)).toMatchObject([{ status: 200 }, { status: 200 }]);
  });
});

/** Reconciles, and returns the path of the stored run. */
async function reconcileOnce(): Promise<string> {
  const { status, body } = await attacker.reconcile<{ runId: string }>({ ...DAY, rows: [] });
  expect(status).toBe(200);
  return `${RUNS}/${body.runId}`;
}

test("confirmations beside a lender that only reconciles are answered 200", async () => {
  await attacker.importCases([aRow("LN-1")]);
  await addBookings(service, attacker, BOOKINGS);
  let isOver = false;
  const statuses = new Map<number, number>();
  const attack = Array.from({ length: 6 }, async (_, index) => {
    while (!isOver) {
      const rows = index % 2 === 0 ? [] : [{ loan: "LN-1", reference: "sql-1", amount: 1, paidAt: NOON }];
      const { status } = await attacker.reconcile({ ...DAY, rows });
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      // A faster loop would measure how much processor time is left for the requests of this test.
      if (status !== 200) await delay(200);
    }
  });
  try {
    await expect.poll(() => statuses.get(200) ?? 0, { timeout: 60_000 }).toBeGreaterThan(0);
    expect(new Set(await confirmAll(40))).toEqual(new Set([200]));
  } finally {
    isOver = true;
    await Promise.all(attack);
  }
  expect(new Set(statuses.keys())).toEqual(new Set([200, 429]));
});
