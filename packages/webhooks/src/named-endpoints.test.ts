import { newId, query, statement, transaction } from "@collections/database";
import { createOutbound } from "@collections/outbound";
import { until } from "@collections/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openReceiver, type Receiver } from "../tests/receiver.ts";
import { eventsOn, KEY_ID, openTrial, SECRET } from "../tests/trial.ts";
import { addressOfNamed } from "./endpoint/address.ts";
import {
  type AlertJob,
  changeEndpoint,
  checkWebhooks,
  deliveryById,
  deliveryTotals,
  emit,
  type EmittedEvent,
  endpointOf,
  InvalidEndpointError,
  lastFailedAttempt,
  listDeliveries,
  listEndpoints,
  recoverEndpoint,
  registerEndpoint,
  removeEndpoint,
  startReplay,
  testEndpoint,
  upsertEndpoint,
} from "./index.ts";

const trial = await openTrial();
const { database } = trial;
const em = () => database.em();
const outbound = createOutbound({ allow: "127.0.0.1:*" });
const SLOW = { suspendAfter: 20, probeIntervalMs: 900_000 };
beforeAll(() => database.jobs.start());
afterAll(() => Promise.all([database.jobs.stop(60_000), outbound.close()]));

function register(tenantId: string, name: string, url: string | null, topics?: readonly string[]): Promise<void> {
  return transaction(em(), (tx) => upsertEndpoint(tx, { tenantId, name, url, topics }));
}

async function emitMany(tenantId: string, count: number, stream = "INV-1"): Promise<void> {
  const body = ({ eventId, sequence }: EmittedEvent) => {
    return JSON.stringify({ eventId, loan: stream, sequence: Number(sequence) });
  };
  const event = { tenantId, kind: "invoice.paid", stream, occurredAt: new Date(), body };
  await transaction(em(), (tx) =>
    emit(
      tx,
      Array.from({ length: count }, () => event),
    ),
  );
}

/** A receiver whose requests stay open until `release` is called. */
async function openHeldReceiver(status = 204): Promise<{ receiver: Receiver; release: () => void }> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const receiver = await openReceiver((response) => void promise.then(() => response.writeHead(status).end()));
  return { receiver, release: resolve };
}

test.each([
  ["NAME_INVALID", { name: "The CRM" }],
  ["NAME_INVALID", { name: "" }],
  ["TOPICS_INVALID", { name: "crm", topics: [] }],
  ["TOPICS_INVALID", { name: "crm", topics: ["invoice*"] }],
  ["TOPICS_INVALID", { topics: ["invoice.*"] }],
  ["URL_INVALID", { name: "crm", url: "crm.example" }],
])("an endpoint with %s is rejected, and nothing is written: %o", async (code, changes) => {
  const tenantId = newId();
  const rejected = transaction(em(), (tx) => upsertEndpoint(tx, { tenantId, url: null, ...changes }));
  await expect(rejected).rejects.toMatchObject({ name: "InvalidEndpointError", code });
  expect(await listEndpoints(em(), tenantId)).toEqual([]);
});

test("registerEndpoint rejects a name, because it would create the unnamed endpoint", async () => {
  const endpoint = { tenantId: newId(), url: null, name: "crm" };
  await expect(transaction(em(), (tx) => registerEndpoint(tx, endpoint))).rejects.toThrow(InvalidEndpointError);
  expect(await listEndpoints(em(), endpoint.tenantId)).toEqual([]);
});

test("named endpoints can be listed and changed until they are removed", async () => {
  const tenantId = await trial.addLender(null);
  await register(tenantId, "crm", "https://crm.example/hooks", ["invoice.*"]);
  await register(tenantId, "books", null);
  await transaction(em(), (tx) => changeEndpoint(tx, { tenantId, name: "books", url: "https://books.example/" }));
  // A call without topics keeps the endpoint's topics.
  await register(tenantId, "crm", "https://crm.example/v2");
  const listed = await listEndpoints(em(), tenantId);
  expect(listed.map(({ name, topics, url }) => ({ name, topics, url }))).toEqual([
    { name: null, topics: ["*"], url: null },
    { name: "books", topics: ["*"], url: "https://books.example/" },
    { name: "crm", topics: ["invoice.*"], url: "https://crm.example/v2" },
  ]);
  const remove = () => transaction(em(), (tx) => removeEndpoint(tx, { tenantId, name: "crm" }));
  expect([await remove(), await remove()]).toEqual([true, false]);
  expect(await endpointOf(em(), { tenantId, endpoint: "crm" })).toBeUndefined();
  expect((await listEndpoints(em(), tenantId)).map(({ name }) => name)).toEqual([null, "books"]);
  const changed = transaction(em(), (tx) => changeEndpoint(tx, { tenantId, name: "crm", url: null }));
  await expect(changed).rejects.toMatchObject({ code: "ENDPOINT_NOT_FOUND", tenantId, endpoint: "crm" });
});

test("an attempt is signed with the signing key of its endpoint, and reports the tenant and the name of the endpoint", async () => {
  await using receiver = await openReceiver();
  const tenantId = await trial.addLender(receiver.url);
  await register(tenantId, "crm", receiver.url);
  const keysOf: (string | undefined)[] = [];
  await using running = trial.dispatch({
    signingKeyOf(tenant, endpoint) {
      if (tenant === tenantId) keysOf.push(endpoint);
      return { keyId: `${KEY_ID}_${endpoint ?? "main"}`, secret: SECRET };
    },
  });
  await emitMany(tenantId, 1);
  await until(() => running.facts.length === 2);
  expect(new Set(keysOf)).toEqual(new Set(["crm", undefined]));
  const keyIds = receiver.received.map(({ headers }) => headers["x-service-key-id"]);
  expect(new Set(keyIds)).toEqual(new Set([`${KEY_ID}_crm`, `${KEY_ID}_main`]));
  const told = running.facts.map((facts) => ({ tenantId: facts.tenantId, endpoint: facts.endpoint }));
  expect(told).toContainEqual({ tenantId, endpoint: undefined });
  expect(told).toContainEqual({ tenantId, endpoint: "crm" });
  expect(new Set(running.facts.map(({ eventId }) => eventId)).size).toBe(1);
});

test("an endpoint that hangs does not delay other endpoints, and inFlight counts its attempts for its tenant", async () => {
  const { receiver: hanging, release } = await openHeldReceiver();
  await using _hanging = hanging;
  await using receiver = await openReceiver();
  const tenantId = await trial.addLender(receiver.url);
  await register(tenantId, "crm", hanging.url);
  await register(tenantId, "books", receiver.url, ["invoice.*"]);
  await using running = trial.dispatch();
  await emitMany(tenantId, 20);
  await receiver.arrived(40);
  await until(async () => (await deliveryTotals(em(), { tenantId, endpoint: "books" })).delivered === 20);
  expect(hanging.received).toHaveLength(1);
  expect(running.inFlight().get(tenantId)).toBe(1);
  expect([...running.inFlight().keys()]).not.toContain(addressOfNamed(tenantId, "crm"));
  release();
  await until(async () => (await deliveryTotals(em(), { tenantId, endpoint: "crm" })).delivered === 20);
});

test("a suspended endpoint is pinged and then gets its backlog, while the tenant's unnamed endpoint stays active", async () => {
  let isDown = true;
  await using failing = await openReceiver((response) => void response.writeHead(isDown ? 503 : 204).end());
  await using receiver = await openReceiver();
  const tenantId = await trial.addLender(receiver.url);
  const crm = { tenantId, endpoint: "crm" };
  await register(tenantId, "crm", failing.url);
  const pinged: (string | undefined)[] = [];
  const alerts: AlertJob[] = [];
  await using running = await trial.work({
    suspension: { suspendAfter: 2, probeIntervalMs: 200 },
    pingOf(tenant, endpoint) {
      if (tenant === tenantId) pinged.push(endpoint);
      const eventId = newId();
      return { tenantId: tenant, eventId, body: JSON.stringify({ eventId, loan: "ping", sequence: 0 }) };
    },
    async sendAlert({ data }) {
      if (data.tenantId === tenantId) alerts.push(data);
    },
  });
  for (const stream of ["INV-1", "INV-2", "INV-3"]) await emitMany(tenantId, 2, stream);
  await until(async () => (await endpointOf(em(), crm))?.state === "suspended");
  await until(async () => (await deliveryTotals(em(), tenantId)).delivered === 6);
  expect(await endpointOf(em(), tenantId)).toMatchObject({ state: "active", consecutiveFailures: 0 });
  expect(await lastFailedAttempt(em(), crm)).toMatchObject({ errorCode: "NON_2XX" });
  expect(await lastFailedAttempt(em(), tenantId)).toBeUndefined();
  const { problems, tenants } = await checkWebhooks(em(), crm);
  expect(tenants).toMatchObject([{ tenantId, endpoint: "crm", state: "suspended" }]);
  expect(problems).toMatchObject([{ code: "SUSPENDED", tenantId, endpoint: "crm" }]);
  isDown = false;
  await until(async () => (await deliveryTotals(em(), crm)).delivered === 6);
  expect(new Set(pinged)).toEqual(new Set(["crm"]));
  expect(running.probes.at(-1)).toMatchObject({ tenantId, endpoint: "crm", passed: true });
  await until(() => alerts.length === 2);
  for (const alert of alerts) expect(alert).toMatchObject({ tenantId, lenderId: tenantId, endpoint: "crm" });
  expect(alerts.map(({ cause }) => cause).toSorted()).toEqual(["recovered", "suspended"]);
});

test("the waiting events of a removed endpoint are parked, and a replay sends them after it is registered again", async () => {
  await using receiver = await openReceiver();
  const tenantId = newId();
  const crm = { tenantId, endpoint: "crm" };
  await register(tenantId, "crm", null);
  await emitMany(tenantId, 3);
  await transaction(em(), (tx) => removeEndpoint(tx, { tenantId, name: "crm" }));
  expect(await deliveryTotals(em(), crm)).toMatchObject({ waiting: 0, retrying: 0, parked: 3 });
  await register(tenantId, "crm", receiver.url);
  await using _running = await trial.work({ suspension: SLOW });
  await emitMany(tenantId, 1);
  const replay = await transaction(em(), (tx) => startReplay(tx, crm, {}, { requestedBy: "operator" }));
  expect(replay).toMatchObject({ tenantId, endpoint: "crm", total: 3 });
  await until(async () => (await deliveryTotals(em(), crm)).delivered === 4);
  expect(receiver.received).toHaveLength(4);
  expect(new Set(receiver.received.map(({ sequence }) => sequence))).toEqual(new Set([1, 2, 3, 4]));
  const { deliveries } = await listDeliveries(em(), { ...crm, stream: "INV-1" }, new Date());
  expect(deliveries.map(({ endpoint, sequence }) => [endpoint, sequence])).toEqual(
    [4n, 3n, 2n, 1n].map((n) => ["crm", n]),
  );
  expect(await deliveryById(em(), crm, deliveries[0]!.eventId, new Date())).toMatchObject({
    endpoint: "crm",
    url: receiver.url,
    log: [{ outcome: "delivered" }],
  });
});

test.each([
  [204, "delivered"],
  [503, "retrying"],
] as const)(
  "an attempt that is under way when its endpoint is removed still records its result: %s, %s",
  async (status, state) => {
    const { receiver, release } = await openHeldReceiver(status);
    await using _receiver = receiver;
    const tenantId = newId();
    await register(tenantId, "crm", receiver.url);
    await using _running = trial.dispatch();
    await emitMany(tenantId, 2);
    await receiver.arrived(1);
    await transaction(em(), (tx) => removeEndpoint(tx, { tenantId, name: "crm" }));
    release();
    await until(async () => (await deliveryTotals(em(), { tenantId, endpoint: "crm" }))[state] === 1);
    expect(await deliveryTotals(em(), { tenantId, endpoint: "crm" })).toMatchObject({ parked: 1, [state]: 1 });
    expect(receiver.received).toHaveLength(1);
  },
);

test("testEndpoint and recoverEndpoint affect only the named endpoint that they are called for", async () => {
  await using receiver = await openReceiver();
  const tenantId = await trial.addLender(null);
  const crm = { tenantId, endpoint: "crm" };
  await register(tenantId, "crm", receiver.url);
  for (const address of [tenantId, addressOfNamed(tenantId, "crm")]) await query(em(), suspend, [address]);
  expect(await recoverEndpoint(em(), crm)).toBe(true);
  expect(await endpointOf(em(), crm)).toMatchObject({ state: "active" });
  expect(await endpointOf(em(), tenantId)).toMatchObject({ state: "suspended" });
  const keysOf: (string | undefined)[] = [];
  const sender = {
    outbound,
    timeoutMs: 300_000,
    now: () => new Date(),
    signingKeyOf(_tenantId: string, endpoint?: string) {
      keysOf.push(endpoint);
      return { keyId: KEY_ID, secret: SECRET };
    },
  };
  const eventId = newId();
  const tested = await testEndpoint(em(), sender, { ...crm, eventId, body: JSON.stringify({ eventId }) });
  expect(tested).toMatchObject({ delivered: true, request: { url: receiver.url } });
  expect(keysOf).toEqual(["crm"]);
});

const suspend = statement(
  "named-endpoints-test.suspend",
  `update webhooks.endpoint set state = 'suspended', suspended_at = now(), next_probe_at = now() + interval '1 hour'
   where lender_id = $1`,
);

test("the events of endpoints whose first registration was rolled back are delivered", async () => {
  await using receiver = await openReceiver();
  const tenantId = newId();
  const event = { tenantId, kind: "invoice.paid", stream: "INV-1", occurredAt: new Date(), body: '{"loan":"INV-1"}' };
  const registerAndEmit = (end: () => void) =>
    transaction(em(), async (tx) => {
      await upsertEndpoint(tx, { tenantId, url: receiver.url });
      await upsertEndpoint(tx, { tenantId, name: "crm", url: receiver.url });
      await emit(tx, [event]);
      end();
    });
  const rolledBack = registerAndEmit(() => {
    throw new Error("changed my mind");
  });
  await expect(rolledBack).rejects.toThrow("changed my mind");
  await registerAndEmit(() => {});
  await using _running = trial.dispatch();
  await receiver.arrived(2);
});

test("a tenant whose id is a UUID of version 8 is not taken for a named endpoint", async () => {
  await using receiver = await openReceiver();
  const tenantId = newId().replace(/^(.{14})7/, "$18");
  await transaction(em(), (tx) => registerEndpoint(tx, { tenantId, url: receiver.url }));
  await using running = trial.dispatch();
  await trial.publish(eventsOn(tenantId, "LN-1", 1, 1));
  await until(() => running.facts.length === 1);
  expect(running.facts).toMatchObject([{ tenantId }]);
  expect(running.facts[0]).not.toHaveProperty("endpoint");
});
