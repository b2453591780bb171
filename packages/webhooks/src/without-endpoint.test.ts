import { newId, publicId, query, statement, transaction } from "@collections/database";
import { until } from "@collections/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openReceiver } from "../tests/receiver.ts";
import { openTrial, UNPACED } from "../tests/trial.ts";
import {
  changeEndpoint,
  checkWebhooks,
  deliveryTotals,
  emit,
  type EmitOptions,
  type EmitResult,
  endpointOf,
  eventsOf,
  listDeliveries,
  listEndpoints,
  listEventsWithoutEndpoint,
  previewReplay,
  removeEndpoint,
  replayDelivery,
  sequenceProblems,
  startReplay,
  upsertEndpoint,
} from "./index.ts";

const trial = await openTrial();
const { database, otherDatabase } = trial;
const em = () => database.em();
beforeAll(() => database.jobs.start());
afterAll(() => database.jobs.stop(60_000));

function emitOne(tenantId: string, changes: object = {}, options: EmitOptions = {}): Promise<EmitResult[]> {
  const body = ({ eventId, sequence }: { readonly eventId: string; readonly sequence: bigint }) =>
    JSON.stringify({ eventId: publicId("evt", eventId), loan: "INV-1", sequence: Number(sequence) });
  const event = { tenantId, kind: "invoice.paid", stream: "INV-1", occurredAt: new Date(), body, ...changes };
  return transaction(em(), (tx) => emit(tx, [event], options));
}

function register(tenantId: string, url: string | null, name?: string): Promise<void> {
  return transaction(em(), (tx) => upsertEndpoint(tx, { tenantId, url, name }));
}

function remove(tenantId: string, name: string | null): Promise<boolean> {
  return transaction(em(), (tx) => removeEndpoint(tx, { tenantId, name }));
}

async function storedIds(tenantId: string): Promise<string[]> {
  return (await listEventsWithoutEndpoint(em(), tenantId)).events.map(({ eventId }) => eventId);
}

test("emit stores events of a tenant without endpoints, numbered and without deliveries", async () => {
  const tenantId = newId();
  const [first] = await emitOne(tenantId);
  const [second] = await emitOne(tenantId, { kind: "invoice.voided" });
  expect([first, second]).toMatchObject([
    { sequence: 1n, endpoints: [] },
    { sequence: 2n, endpoints: [] },
  ]);
  const page = await listEventsWithoutEndpoint(em(), tenantId, { limit: 1 });
  expect(page).toMatchObject({
    events: [{ eventId: first!.eventId, stream: "INV-1", sequence: 1n }],
    next: first!.eventId,
  });
  const rest = await listEventsWithoutEndpoint(em(), tenantId, { after: page.next!, limit: 1 });
  expect(rest).toMatchObject({ events: [{ eventId: second!.eventId, kind: "invoice.voided" }], next: undefined });
  expect(await deliveryTotals(em(), tenantId)).toMatchObject({ published: 0, parked: 0, withoutEndpoint: 2 });
  expect((await listDeliveries(em(), { tenantId }, new Date())).deliveries).toEqual([]);
  expect(await sequenceProblems(em(), tenantId)).toEqual([]);
});

test("one call of emit serves tenants with and without endpoints", async () => {
  const [without, withOne] = [newId(), await trial.addLender(null)];
  const event = { kind: "invoice.paid", stream: "INV-1", occurredAt: new Date(), body: "{}" };
  const emitted = await transaction(em(), (tx) =>
    emit(tx, [
      { ...event, tenantId: without },
      { ...event, tenantId: withOne },
    ]),
  );
  expect(emitted).toMatchObject([{ endpoints: [] }, { endpoints: [{ name: null, sequence: 1n }] }]);
  expect(await deliveryTotals(em(), without)).toMatchObject({ published: 0, withoutEndpoint: 1 });
  expect(await deliveryTotals(em(), withOne)).toMatchObject({ published: 1, waiting: 1, withoutEndpoint: 0 });
});

test("a rolled back emit stores no event without an endpoint", async () => {
  const tenantId = newId();
  const event = { tenantId, kind: "invoice.paid", stream: "INV-1", occurredAt: new Date(), body: "{}" };
  const rolledBack = transaction(em(), async (tx) => {
    await emit(tx, [event]);
    throw new Error("changed my mind");
  });
  await expect(rolledBack).rejects.toThrow("changed my mind");
  expect(await storedIds(tenantId)).toEqual([]);
  expect(await emitOne(tenantId)).toMatchObject([{ sequence: 1n }]);
});

test("emit rejects the id of a stored event without an endpoint", async () => {
  const tenantId = newId();
  const [event] = await emitOne(tenantId);
  await expect(emitOne(tenantId, { eventId: event!.eventId })).rejects.toMatchObject({ code: "EVENT_ID_REPEATED" });
});

test("emit with `withoutEndpoint: throw` writes nothing for a tenant without endpoints", async () => {
  const tenantId = newId();
  const strict = emitOne(tenantId, {}, { withoutEndpoint: "throw" });
  await expect(strict).rejects.toMatchObject({ code: "ENDPOINT_NOT_FOUND", tenantId });
  expect(await eventsOf(em(), tenantId, "INV-1")).toEqual([]);
  // @ts-expect-error The type rejects this value too; callers in plain JavaScript get the error below.
  await expect(emitOne(tenantId, {}, { withoutEndpoint: "drop" })).rejects.toThrow(
    'withoutEndpoint is "drop"; expected "store" or "throw".',
  );
});

test("concurrent calls of emit number the events without an endpoint", async () => {
  const tenantId = newId();
  const emitted = await Promise.all(Array.from({ length: 8 }, () => emitOne(tenantId)));
  expect(new Set(emitted.map(([event]) => Number(event!.sequence)))).toEqual(new Set([1, 2, 3, 4, 5, 6, 7, 8]));
  expect(await storedIds(tenantId)).toHaveLength(8);
});

test("a replay sends the stored events to the endpoint registered later", async () => {
  await using receiver = await openReceiver();
  const tenantId = newId();
  const early = [await emitOne(tenantId), await emitOne(tenantId), await emitOne(tenantId, { kind: "invoice.voided" })];
  expect(await previewReplay(em(), tenantId, {})).toBe(0);
  await register(tenantId, receiver.url);
  await emitOne(tenantId);
  await using _running = await trial.work({ suspension: UNPACED });
  await receiver.arrived(1);
  expect(receiver.received[0]).toMatchObject({ sequence: 4 });
  await until(async () => (await deliveryTotals(em(), tenantId)).delivered === 1);
  expect(await previewReplay(em(), tenantId, {})).toBe(3);
  expect(await previewReplay(em(), tenantId, { kind: "invoice.voided" })).toBe(1);
  expect(await previewReplay(em(), tenantId, { states: ["delivered"] })).toBe(1);
  expect(await previewReplay(em(), tenantId, { createdFrom: new Date(Date.now() + 3_600_000) })).toBe(0);
  const start = (filter: object) =>
    transaction(em(), (tx) => startReplay(tx, tenantId, filter, { requestedBy: "operator" }));
  expect(await start({ kind: "invoice.voided" })).toMatchObject({ total: 1 });
  await receiver.arrived(2);
  expect(await storedIds(tenantId)).toEqual(early.slice(0, 2).map(([event]) => event!.eventId));
  expect(await start({ stream: "INV-1" })).toMatchObject({ total: 2 });
  await receiver.arrived(4);
  expect(receiver.received.map(({ sequence }) => sequence)).toEqual([4, 3, 1, 2]);
  expect(receiver.received.slice(1).map(({ headers }) => headers["x-service-replay"])).toEqual([
    "true",
    "true",
    "true",
  ]);
  await until(async () => (await deliveryTotals(em(), tenantId)).delivered === 4);
  expect(await deliveryTotals(em(), tenantId)).toMatchObject({ published: 4, parked: 0, withoutEndpoint: 0 });
  expect((await checkWebhooks(em(), { tenantId })).problems).toEqual([]);
});

test("two replays at once send each stored event once", async () => {
  const tenantId = newId();
  for (let count = 0; count < 5; count += 1) await emitOne(tenantId);
  await register(tenantId, null);
  const replays = await Promise.all(
    [database, otherDatabase].map((on) =>
      transaction(on.em(), (tx) => startReplay(tx, tenantId, {}, { requestedBy: "operator" })),
    ),
  );
  expect(replays.map(({ id, total }) => ({ id, total }))).toEqual([
    { id: replays[0]!.id, total: 5 },
    { id: replays[0]!.id, total: 5 },
  ]);
  expect(await deliveryTotals(em(), tenantId)).toMatchObject({ published: 5, parked: 5, withoutEndpoint: 0 });
});

test("replayDelivery sends one stored event after the endpoint is registered", async () => {
  await using receiver = await openReceiver();
  const tenantId = newId();
  const [kept, sent] = [...(await emitOne(tenantId)), ...(await emitOne(tenantId))];
  const again = () => transaction(em(), (tx) => replayDelivery(tx, tenantId, sent!.eventId));
  expect(await again()).toBeUndefined();
  await register(tenantId, receiver.url);
  await using _running = trial.dispatch();
  expect(await again()).toEqual({ state: "waiting" });
  await receiver.arrived(1);
  expect(receiver.received).toMatchObject([{ sequence: 2 }]);
  expect(await storedIds(tenantId)).toEqual([kept!.eventId]);
});

test("checkWebhooks reports a lost delivery beside stored events", async () => {
  const tenantId = newId();
  await emitOne(tenantId);
  await register(tenantId, null);
  const [lost] = await emitOne(tenantId);
  const codes = async () => (await checkWebhooks(em(), { tenantId })).problems.map(({ code }) => code);
  expect(await codes()).toEqual(["NO_CALLBACK"]);
  await query(em(), loseDelivery, [tenantId, lost!.eventId]);
  expect(await codes()).toEqual(["EVENT_WITHOUT_DELIVERY", "TOTALS_MISMATCH"]);
});

const loseDelivery = statement(
  "without-endpoint-test.lose-delivery",
  "delete from webhooks.delivery where lender_id = $1 and id = $2",
);

test("the unnamed endpoint is removed, and registered again, like a named one", async () => {
  await using receiver = await openReceiver();
  const tenantId = await trial.addLender(null);
  await emitOne(tenantId);
  expect([await remove(tenantId, null), await remove(tenantId, null)]).toEqual([true, false]);
  expect(await endpointOf(em(), tenantId)).toBeUndefined();
  expect(await listEndpoints(em(), tenantId)).toEqual([]);
  expect(await deliveryTotals(em(), tenantId)).toMatchObject({ waiting: 0, parked: 1 });
  const changed = transaction(em(), (tx) => changeEndpoint(tx, { tenantId, url: receiver.url }));
  await expect(changed).rejects.toMatchObject({ code: "ENDPOINT_NOT_FOUND" });
  expect(await emitOne(tenantId)).toMatchObject([{ sequence: 2n, endpoints: [] }]);
  expect((await checkWebhooks(em(), { tenantId })).problems).toEqual([]);

  await register(tenantId, receiver.url);
  expect(await endpointOf(em(), tenantId)).toMatchObject({ url: receiver.url, state: "active" });
  await using _running = await trial.work({ suspension: UNPACED });
  await emitOne(tenantId);
  await receiver.arrived(1);
  const replay = await transaction(em(), (tx) => startReplay(tx, tenantId, {}, { requestedBy: "operator" }));
  expect(replay).toMatchObject({ total: 2 });
  await receiver.arrived(3);
  expect(receiver.received.map(({ sequence }) => sequence)).toEqual([3, 1, 2]);
});

test("events go only to named endpoints after the unnamed one is removed", async () => {
  const tenantId = await trial.addLender(null);
  await register(tenantId, null, "crm");
  await remove(tenantId, null);
  expect(await emitOne(tenantId)).toMatchObject([{ sequence: null, endpoints: [{ name: "crm", sequence: 1n }] }]);
  for (const { name } of await listEndpoints(em(), tenantId)) await remove(tenantId, name);
  expect(await emitOne(tenantId)).toMatchObject([{ sequence: 1n, endpoints: [] }]);
  expect(await deliveryTotals(em(), tenantId)).toMatchObject({ published: 0, withoutEndpoint: 1 });
});

test("removing the unnamed endpoint waits for an emit under way", async () => {
  const tenantId = await trial.addLender(null);
  const event = { tenantId, kind: "invoice.paid", stream: "INV-1", occurredAt: new Date(), body: "{}" };
  const { promise: emitted, resolve: hasEmitted } = Promise.withResolvers<void>();
  const { promise: mayCommit, resolve: commit } = Promise.withResolvers<void>();
  const emitting = transaction(em(), async (tx) => {
    await emit(tx, [event]);
    hasEmitted();
    await mayCommit;
  });
  await emitted;
  const removing = transaction(otherDatabase.em(), (tx) => removeEndpoint(tx, { tenantId, name: null }));
  await until(async () => (await query(em(), selectLockWaits, [])).length > 0);
  commit();
  expect([await emitting, await removing]).toEqual([undefined, true]);
  expect(await deliveryTotals(em(), tenantId)).toMatchObject({ waiting: 0, parked: 1 });
});

const selectLockWaits = statement(
  "without-endpoint-test.lock-waits",
  `select pid from pg_locks where locktype = 'advisory' and not granted
     and database = (select oid from pg_database where datname = current_database())`,
);

test("emit with `trusted` fails for a removed unnamed endpoint", async () => {
  const tenantId = await trial.addLender(null);
  await remove(tenantId, null);
  const trusted = emitOne(tenantId, { eventId: newId(), sequence: 1n }, { trusted: true });
  await expect(trusted).rejects.toMatchObject({ code: "23502" });
});

test("an endpoint that a previous version registered again receives events", async () => {
  const tenantId = await trial.addLender(null);
  await remove(tenantId, null);
  await query(em(), setUrlOnly, [tenantId]);
  expect(await endpointOf(em(), tenantId)).toMatchObject({ url: "https://acme.example/" });
  expect(await emitOne(tenantId)).toMatchObject([{ endpoints: [{ name: null, sequence: 1n }] }]);
});

// The previous version does not know the column `removed_at`.
const setUrlOnly = statement(
  "without-endpoint-test.set-url-only",
  "update webhooks.endpoint set url = 'https://acme.example/', updated_at = now() where lender_id = $1",
);
