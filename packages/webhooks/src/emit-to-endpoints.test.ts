import { type Database, newId, query, statement, transaction } from "@collections/database";
import { expect, test } from "vitest";
import { openTrial } from "../tests/trial.ts";
import {
  deliveryTotals,
  emit,
  type EmittedEvent,
  type EmitResult,
  EndpointNotFoundError,
  type EndpointRef,
  eventsOf,
  type EventToEmit,
  listDeliveries,
  registerEndpoint,
  removeEndpoint,
  sequenceProblems,
  upsertEndpoint,
} from "./index.ts";

const { database, otherDatabase, addLender: addTenant } = await openTrial();
const em = () => database.em();

function anEvent(tenantId: string, changes: object = {}): EventToEmit {
  return { tenantId, kind: "invoice.paid", stream: "INV-1", occurredAt: new Date(), body: "{}", ...changes };
}

function emitAll(events: readonly EventToEmit[], options = {}, on: Database = database): Promise<EmitResult[]> {
  return transaction(on.em(), (tx) => emit(tx, events, options));
}

function addNamed(tenantId: string, name: string, topics?: readonly string[], on: Database = database): Promise<void> {
  return transaction(on.em(), (tx) => upsertEndpoint(tx, { tenantId, name, url: null, topics }));
}

async function sequencesOf(recipient: EndpointRef, stream = "INV-1"): Promise<number[]> {
  return (await eventsOf(em(), recipient, stream)).map(({ sequence }) => Number(sequence));
}

function upTo(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index + 1);
}

test("emit copies an event to the unnamed endpoint and to named endpoints with a matching topic, numbered per endpoint", async () => {
  const tenantId = await addTenant(null);
  await addNamed(tenantId, "crm", ["invoice.*"]);
  await addNamed(tenantId, "books", ["payment.received"]);
  const body = (event: EmittedEvent) => JSON.stringify({ ...event, sequence: Number(event.sequence) });
  const emitted = await emitAll([
    anEvent(tenantId, { kind: "invoice.sent", body }),
    anEvent(tenantId, { kind: "payment.received", body }),
    anEvent(tenantId, { body }),
  ]);
  expect(emitted.map(({ sequence, endpoints }) => ({ sequence, endpoints }))).toEqual([
    { sequence: 1n, endpoints: [named(null, 1n), named("crm", 1n)] },
    { sequence: 2n, endpoints: [named(null, 2n), named("books", 1n)] },
    { sequence: 3n, endpoints: [named(null, 3n), named("crm", 2n)] },
  ]);
  for (const endpoint of [null, "crm", "books"]) {
    const stored = await eventsOf(em(), { tenantId, endpoint }, "INV-1");
    const expected = emitted.flatMap(({ eventId, endpoints }) =>
      endpoints.flatMap(({ name, sequence }) =>
        name === endpoint ? [{ eventId, endpoint, sequence: Number(sequence) }] : [],
      ),
    );
    expect(stored.map((event) => JSON.parse(event.body) as object)).toEqual(expected);
  }
});

function named(name: string | null, sequence: bigint) {
  return { name, sequence };
}

test("emit does not write an event that no endpoint receives, and accepts a tenant with only named endpoints", async () => {
  const tenantId = newId();
  await addNamed(tenantId, "crm", ["invoice.*"]);
  const [unheard, heard] = await emitAll([anEvent(tenantId, { kind: "case.closed" }), anEvent(tenantId)]);
  expect(unheard).toMatchObject({ sequence: null, endpoints: [] });
  expect(heard).toMatchObject({ sequence: null, endpoints: [named("crm", 1n)] });
  expect(await deliveryTotals(em(), tenantId)).toMatchObject({ published: 0, waiting: 0 });
  expect(await deliveryTotals(em(), { tenantId, endpoint: "crm" })).toMatchObject({ published: 1, waiting: 1 });
  const strict = emitAll([anEvent(newId())], { withoutEndpoint: "throw" });
  await expect(strict).rejects.toThrow(EndpointNotFoundError);
});

test("emit rejects a body that is not JSON, even if no endpoint receives the event", async () => {
  const tenantId = newId();
  await addNamed(tenantId, "crm", ["invoice.*"]);
  const rejected = emitAll([anEvent(tenantId, { kind: "case.closed", body: "{closed}" })]);
  await expect(rejected).rejects.toMatchObject({ code: "BODY_INVALID" });
});

test("emit uses a sequence from the host only for the unnamed endpoint, and counts the events of a named endpoint itself", async () => {
  const tenantId = await addTenant(null);
  await emitAll([anEvent(tenantId)]);
  await addNamed(tenantId, "crm");
  const [event] = await emitAll([anEvent(tenantId, { sequence: 2n })]);
  expect(event).toMatchObject({ sequence: 2n, endpoints: [named(null, 2n), named("crm", 1n)] });
  await expect(emitAll([anEvent(tenantId, { sequence: 9n })])).rejects.toMatchObject({ code: "SEQUENCE_SKIPPED" });
  expect(await sequencesOf({ tenantId, endpoint: "crm" })).toEqual([1]);
});

test("a change of topics takes effect with the next emit", async () => {
  const tenantId = await addTenant(null);
  await addNamed(tenantId, "crm", ["payment.received"]);
  expect(await emitAll([anEvent(tenantId)])).toMatchObject([{ endpoints: [named(null, 1n)] }]);
  await addNamed(tenantId, "crm", ["invoice.paid"]);
  expect(await emitAll([anEvent(tenantId)])).toMatchObject([{ endpoints: [named(null, 2n), named("crm", 1n)] }]);
});

test("emit with `trusted` fails for a tenant with named endpoints, and succeeds after their removal", async () => {
  const tenantId = newId();
  const trusted = (sequence: bigint) => emitAll([anEvent(tenantId, { eventId: newId(), sequence })], { trusted: true });
  await addNamed(tenantId, "crm");
  await expect(trusted(1n)).rejects.toMatchObject({ code: "23502" });
  // The unnamed endpoint is created after the named one. `emit` with `trusted` must still fail, because the tenant has
  // a named endpoint.
  await transaction(em(), (tx) => registerEndpoint(tx, { tenantId, url: null }));
  await expect(trusted(1n)).rejects.toMatchObject({ code: "23502" });
  expect(await deliveryTotals(em(), tenantId)).toMatchObject({ published: 0 });
  await transaction(em(), (tx) => removeEndpoint(tx, { tenantId, name: "crm" }));
  await trusted(1n);
  await addNamed(tenantId, "crm");
  await expect(trusted(2n)).rejects.toMatchObject({ code: "23502" });
  expect(await deliveryTotals(em(), tenantId)).toMatchObject({ published: 1 });
});

test("has_named becomes true even if the unnamed and a named endpoint are created at the same time", async () => {
  for (let round = 0; round < 10; round += 1) {
    const tenantId = newId();
    await Promise.all([
      transaction(em(), (tx) => upsertEndpoint(tx, { tenantId, url: null })),
      addNamed(tenantId, "crm", ["*"], otherDatabase),
    ]);
    expect(await query(em(), selectHasNamed, [tenantId])).toEqual([{ hasNamed: true }]);
  }
});

const selectHasNamed = statement(
  "emit-to-endpoints-test.has-named",
  `select has_named as "hasNamed" from webhooks.endpoint where lender_id = $1`,
);

test("two processes that emit to one stream at the same time leave no gap and no duplicate in any endpoint", async () => {
  const tenantId = await addTenant(null);
  await addNamed(tenantId, "crm", ["invoice.*"]);
  await addNamed(tenantId, "books");
  const kinds = ["invoice.paid", "payment.received"];
  const calls = Array.from({ length: 30 }, (_, index) =>
    emitAll(
      [anEvent(tenantId, { kind: kinds[index % 2] }), anEvent(tenantId, { stream: "INV-2" })],
      {},
      index % 3 === 0 ? otherDatabase : database,
    ),
  );
  await Promise.all(calls);
  expect(await sequencesOf(tenantId)).toEqual(upTo(30));
  expect(await sequencesOf({ tenantId, endpoint: "crm" })).toEqual(upTo(15));
  expect(await sequencesOf({ tenantId, endpoint: "books" })).toEqual(upTo(30));
  expect(await sequencesOf({ tenantId, endpoint: "crm" }, "INV-2")).toEqual(upTo(30));
});

test("an endpoint that is added and removed repeatedly during emits has no gap and loses no event", async () => {
  const tenantId = await addTenant(null);
  const crm = { tenantId, endpoint: "crm" };
  const remove = () => transaction(otherDatabase.em(), (tx) => removeEndpoint(tx, { tenantId, name: "crm" }));
  let isOver = false;
  const received: EmitResult[] = [];
  const emitting = Array.from({ length: 3 }, async () => {
    while (!isOver) received.push(...(await emitAll([anEvent(tenantId)])));
  });
  for (let round = 0; round < 10; round += 1) {
    await addNamed(tenantId, "crm", ["invoice.paid"], otherDatabase);
    await new Promise((resolve) => setTimeout(resolve, 10));
    expect(await remove()).toBe(true);
    // No event was written for the removed endpoint after its waiting events were parked.
    expect(await deliveryTotals(em(), crm)).toMatchObject({ waiting: 0 });
  }
  isOver = true;
  await Promise.all(emitting);
  const copies = received.filter(({ endpoints }) => endpoints.some(({ name }) => name === "crm"));
  expect(copies.length).toBeGreaterThan(0);
  expect(await sequencesOf(tenantId)).toEqual(upTo(received.length));
  expect(await sequencesOf(crm)).toEqual(upTo(copies.length));
  expect(await deliveryTotals(em(), crm)).toMatchObject({
    published: copies.length,
    parked: copies.length,
    waiting: 0,
  });
  expect(await sequenceProblems(em(), crm)).toEqual([]);
});

test("a list of all tenants' deliveries shows every copy of an event, even if a page ends between two copies", async () => {
  const tenantId = await addTenant(null);
  for (const name of ["a", "b", "c"]) await addNamed(tenantId, name);
  await emitAll(upTo(3).map(() => anEvent(tenantId)));
  const shown: string[] = [];
  let cursor: string | undefined;
  do {
    const page = await listDeliveries(em(), { limit: 3, ...(cursor !== undefined && { cursor }) }, new Date());
    for (const { tenantId: owner, endpoint, sequence } of page.deliveries) {
      if (owner === tenantId) shown.push(`${endpoint ?? "-"} ${sequence}`);
    }
    cursor = page.nextCursor ?? undefined;
  } while (cursor !== undefined);
  expect(shown.toSorted()).toEqual(["-", "a", "b", "c"].flatMap((name) => upTo(3).map((n) => `${name} ${n}`)));
});
