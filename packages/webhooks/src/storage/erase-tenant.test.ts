import { createDatabase, enqueue, migrate, newId, query, statement, transaction } from "@collections/database";
import { directUrl, until } from "@collections/testing";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { openReceiver } from "../../tests/receiver.ts";
import { openTrial, UNPACED } from "../../tests/trial.ts";
import { addressOf } from "../endpoint/address.ts";
import { raiseAlert } from "../endpoint/alert.ts";
import {
  type AlertJob,
  alertQueue,
  deliveryTotals,
  emit,
  type EmitResult,
  eraseTenant,
  listEndpoints,
  listEventsWithoutEndpoint,
  parseLadder,
  removeEndpoint,
  replayDelivery,
  requestReplay,
  startReplay,
  upsertEndpoint,
} from "../index.ts";
import { webhooksSchema } from "../schema.ts";

const trial = await openTrial();
const { database, otherDatabase } = trial;
const em = () => database.em();
beforeAll(() => database.jobs.start());
afterAll(() => database.jobs.stop(60_000));

/** Registers endpoints for a tenant, with rows in every table. Its events are delivered, waiting, and parked with an alert. */
async function aTenant(url: string): Promise<string> {
  const tenantId = newId();
  const emitOne = (stream: string) => {
    const body = ({ eventId }: { readonly eventId: string }) => JSON.stringify({ eventId, loan: stream });
    const event = { tenantId, kind: "invoice.paid", stream, occurredAt: new Date(), body };
    return transaction(em(), (tx) => emit(tx, [event]));
  };
  await emitOne("INV-0");
  const register = (name: string | undefined, to: string | null) =>
    transaction(em(), (tx) => upsertEndpoint(tx, { tenantId, name, url: to }));
  await register(undefined, url);
  await register("crm", `${url}/failing`);
  await register("old", null);
  const emitted: EmitResult[] = [];
  for (const stream of ["INV-1", "INV-2", "INV-3"]) emitted.push(...(await emitOne(stream)));
  const crm = { tenantId, endpoint: "crm" };
  await until(async () => (await deliveryTotals(em(), crm)).parked === 3);
  await until(async () => (await deliveryTotals(em(), tenantId)).delivered === 3);
  await transaction(em(), async (tx) => {
    await removeEndpoint(tx, { tenantId, name: "old" });
    await replayDelivery(tx, tenantId, emitted[0]!.eventId, newId());
    await requestReplay(tx, crm, {}, { id: newId(), dryRun: true, requestedBy: "operator" });
    await startReplay(tx, crm, { createdTo: new Date(0) }, { requestedBy: "operator" });
    await query(tx, insertLetGo, [tenantId]);
  });
  return tenantId;
}

/** Runs a worker and a receiver whose path `/failing` answers 500. */
async function withTenants(count: number): Promise<string[]> {
  await using receiver = await openReceiver((response, { path }) => {
    response.writeHead(path.endsWith("/failing") ? 500 : 204).end();
  });
  await using _running = await trial.work({ suspension: UNPACED, ladder: parseLadder("0s") });
  const tenants: string[] = [];
  for (let at = 0; at < count; at += 1) tenants.push(await aTenant(receiver.url));
  return tenants;
}

/** Counts the rows of a tenant in each table that has some. The addresses of its endpoints were read before. */
async function rowsOf(addresses: readonly string[]): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const { table } of await query<{ table: string }>(em(), selectTables, [])) {
    const { rows } = await database.pool.query<{ count: number }>(
      `select count(*)::int as count from webhooks.${table} where lender_id = any ($1)`,
      [addresses],
    );
    if (rows[0]!.count > 0) counts[table] = rows[0]!.count;
  }
  return counts;
}

async function addressesOf(tenantId: string): Promise<string[]> {
  const rows = await query<{ address: string }>(em(), selectAddresses, [tenantId]);
  return rows.map(({ address }) => address);
}

/** Counts the jobs that mail alerts of a tenant, in each state. */
async function mailsOf(tenantId: string): Promise<Record<string, number>> {
  const { rows } = await database.pool.query<{ state: string; count: number }>(
    `select state::text, count(*)::int as count from collections_jobs.job
     where name = 'webhooks.alert' and data ->> 'tenantId' = $1 group by state`,
    [tenantId],
  );
  return Object.fromEntries(rows.map(({ state, count }) => [state, count]));
}

/** Raises two alerts of a tenant, one of them about its endpoint crm. Each has a mail. */
async function raiseTwo(): Promise<string> {
  const tenantId = await trial.addLender(null);
  await transaction(em(), async (tx) => {
    await upsertEndpoint(tx, { tenantId, name: "crm", url: null });
    for (const endpoint of [undefined, "crm"]) {
      const facts = { since: new Date().toISOString() };
      await raiseAlert(tx, { lenderId: addressOf({ tenantId, endpoint }), cause: "parked", facts });
    }
  });
  return tenantId;
}

test("two calls of eraseTenant at once delete each queued mail once", async () => {
  const [tenantId, otherId] = [await raiseTwo(), await raiseTwo()];
  const erased = await Promise.all([database, otherDatabase].map((on) => eraseTenant(on.em(), tenantId)));
  expect(erased.reduce((sum, { mails }) => sum + mails, 0)).toBe(2);
  expect([await mailsOf(tenantId), await mailsOf(otherId)]).toEqual([{}, { created: 2 }]);
  expect(await eraseTenant(em(), otherId)).toMatchObject({ mails: 2 });
});

test("a mail that is sent during the erasure is not repeated", async () => {
  const tenantId = await raiseTwo();
  const [sending, erased] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let calls = 0;
  const sendAlert = async ({ data }: { readonly data: AlertJob }) => {
    if (data.tenantId !== tenantId) return;
    calls += 1;
    if (calls === 2) sending.resolve();
    await erased.promise;
    await transaction(em(), (tx) => enqueue(tx, alertQueue, { ...data, to: ["ops@acme.example"] }));
    throw new Error("the mail server has gone");
  };
  {
    await using _running = await trial.work({ suspension: UNPACED, sendAlert });
    await sending.promise;
    expect(await mailsOf(tenantId)).toEqual({ active: 2 });
    expect(await eraseTenant(em(), tenantId)).toMatchObject({ mails: 2 });
    erased.resolve();
    await until(async () => (await mailsOf(tenantId))["completed"] === 2);
  }
  expect(calls).toBe(2);
  expect(await mailsOf(tenantId)).toEqual({ completed: 2 });
  expect(await eraseTenant(em(), tenantId)).toMatchObject({ rows: 0, mails: 2 });
});

test("eraseTenant deletes every row of one tenant, also after an interruption", async () => {
  const [tenantId, otherId] = (await withTenants(2)) as [string, string];
  const [addresses, others] = [await addressesOf(tenantId), await addressesOf(otherId)];
  expect(addresses).toHaveLength(3);
  const kept = await rowsOf(others);
  const before = await rowsOf(addresses);
  const tables = (await query<{ table: string }>(em(), selectTables, [])).map(({ table }) => table);
  expect(Object.keys(before).toSorted()).toEqual(tables.toSorted());

  await database.pool.query(BREAK_EVENTS, []);
  await expect(eraseTenant(em(), tenantId, { batch: 2 })).rejects.toThrow("broken off");
  const left = await rowsOf(addresses);
  expect(left["event"]).toBe(before["event"]);
  expect(left["delivery"]).toBeLessThan(before["delivery"]!);
  expect(await listEndpoints(em(), tenantId)).toEqual([]);
  await database.pool.query(MEND_EVENTS);

  const rows = Object.values(left).reduce((sum, count) => sum + count, 0);
  expect(await mailsOf(tenantId)).toEqual({ created: 1 });
  expect(await eraseTenant(em(), tenantId, { batch: 2 })).toEqual({ rows, mails: 1 });
  expect(await rowsOf(addresses)).toEqual({});
  expect(await eraseTenant(em(), tenantId)).toEqual({ rows: 0, mails: 0 });
  expect(await rowsOf(others)).toEqual(kept);
});

test("two calls of eraseTenant at once delete each row once", async () => {
  const [tenantId] = (await withTenants(1)) as [string];
  const addresses = await addressesOf(tenantId);
  const all = Object.values(await rowsOf(addresses)).reduce((sum, count) => sum + count, 0);
  const subscriptions = (await rowsOf(addresses))["subscription"]!;
  const erased = await Promise.all([database, otherDatabase].map((on) => eraseTenant(on.em(), tenantId, { batch: 1 })));
  expect(erased.reduce((sum, { rows }) => sum + rows, 0)).toBe(all - subscriptions);
  expect(await rowsOf(addresses)).toEqual({});
});

test("eraseTenant deletes the events of a tenant without endpoints", async () => {
  const tenantId = newId();
  const event = { tenantId, kind: "invoice.paid", stream: "INV-1", occurredAt: new Date(), body: "{}" };
  await transaction(em(), (tx) => emit(tx, [event, event, event]));
  expect(await eraseTenant(em(), tenantId.toUpperCase(), { batch: 1 })).toEqual({ rows: 6, mails: 0 });
  expect(await rowsOf([tenantId])).toEqual({});
  expect((await listEventsWithoutEndpoint(em(), tenantId)).events).toEqual([]);
});

test("eraseTenant by a role without the right to delete events deletes nothing", async () => {
  const tenantId = await trial.addLender("https://acme.example/");
  const role = `erase_${newId().replaceAll("-", "")}`;
  await database.pool.query(`create role ${role} login password 'erase'`);
  onTestFinished(async () => {
    await database.pool.query(`drop owned by ${role}; drop role ${role}`);
  });
  const runtimeUrl = new URL(directUrl(trial.url));
  [runtimeUrl.username, runtimeUrl.password] = [role, "erase"];
  await migrate({ url: trial.url, runtimeUrl: runtimeUrl.href, schemas: [webhooksSchema], jobs: true });
  await using runtime = await opened(runtimeUrl.href);
  const rejected = eraseTenant(runtime.database.em(), tenantId);
  await expect(rejected).rejects.toMatchObject({
    code: "ERASE_NOT_PERMITTED",
    tables: expect.arrayContaining(["webhooks.event", "webhooks.attempt"]) as string[],
  });
  expect(await listEndpoints(em(), tenantId)).toMatchObject([{ url: "https://acme.example/" }]);
});

async function opened(url: string) {
  const runtime = await createDatabase({ url, schemas: [webhooksSchema] });
  return { database: runtime, [Symbol.asyncDispose]: () => runtime.close() };
}

test.each([
  ["a tenantId that is no UUID", { tenantId: "acme" }, "expected a UUID"],
  ["a batch of 0", { batch: 0 }, "batch is 0; expected a whole number from 1 to 100000."],
])(
  "eraseTenant rejects %s",
  async (_, { tenantId = newId(), batch = 1 }: { tenantId?: string; batch?: number }, message) => {
    await expect(eraseTenant(em(), tenantId, { batch })).rejects.toThrow(message);
  },
);

const selectTables = statement(
  "erase-tenant-test.tables",
  `select c.relname::text as "table" from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'lender_id'
   where c.relnamespace = 'webhooks'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition`,
);

const selectAddresses = statement(
  "erase-tenant-test.addresses",
  `select lender_id as address from webhooks.endpoint where lender_id = $1 or tenant_id = $1`,
);

const insertLetGo = statement(
  "erase-tenant-test.let-go",
  `insert into webhooks.let_go (lender_id, loan, sequence) values ($1, 'INV-9', 2)`,
);

const BREAK_EVENTS = `
  create function webhooks.break_off() returns trigger language plpgsql as $$ begin raise exception 'broken off'; end $$;
  create trigger break_off before delete on webhooks.event for each row execute function webhooks.break_off()`;
const MEND_EVENTS = `drop trigger break_off on webhooks.event; drop function webhooks.break_off()`;
