import { newId, query, statement, transaction } from "@collections/database";
import { expect, test } from "vitest";
import { openTrial } from "../tests/trial.ts";
import {
  emit,
  type EmitResult,
  type EmittedEvent,
  EndpointNotFoundError,
  eventsOf,
  type EventToEmit,
  InvalidEventError,
  upsertEndpoint,
} from "./index.ts";

const { database, addLender } = await openTrial();

function anEvent(lenderId: string, changes: object = {}): EventToEmit {
  return { tenantId: lenderId, kind: "case.closed", stream: "LN-1", occurredAt: new Date(), body: "{}", ...changes };
}

function emitAll(events: readonly EventToEmit[], options = {}): Promise<EmitResult[]> {
  return transaction(database.em(), (tx) => emit(tx, events, options));
}

async function countEvents(lenderId: string): Promise<number> {
  const [row] = await query<{ count: number }>(database.em(), countAll, [lenderId]);
  return row!.count;
}

const countAll = statement(
  "emit-test.count",
  "select (select count(*) from webhooks.event where lender_id = $1)::int + (select count(*) from webhooks.delivery where lender_id = $1)::int as count",
);

test("emit numbers events without a sequence, each stream from 1, and passes id and sequence to the body", async () => {
  const lenderId = await addLender(null);
  const body = ({ eventId, sequence }: EmittedEvent) => JSON.stringify({ eventId, sequence: Number(sequence) });
  const first = await emitAll([
    anEvent(lenderId, { body }),
    anEvent(lenderId, { stream: "LN-2", body }),
    anEvent(lenderId, { body }),
  ]);
  const [next] = await emitAll([anEvent(lenderId, { body })]);
  expect([...first, next!].map(({ sequence }) => sequence)).toEqual([1n, 1n, 2n, 3n]);
  const stored = await eventsOf(database.em(), lenderId, "LN-1");
  expect(stored.map((event) => JSON.parse(event.body) as object)).toEqual(
    [first[0]!, first[2]!, next!].map(({ eventId, sequence }) => ({ eventId, sequence: Number(sequence) })),
  );
});

test("concurrent calls of emit leave no gap and no duplicate in a stream's sequence", async () => {
  const lenderId = await addLender(null);
  const calls = Array.from({ length: 20 }, (_, index) =>
    emitAll([
      anEvent(lenderId, { stream: index % 2 ? "A" : "B" }),
      anEvent(lenderId, { stream: index % 2 ? "B" : "A" }),
    ]),
  );
  const emitted = (await Promise.all(calls)).flat();
  const sequences = emitted.map(({ sequence }) => Number(sequence)).toSorted((a, b) => a - b);
  expect(sequences).toEqual(Array.from({ length: 40 }, (_, index) => Math.floor(index / 2) + 1));
});

test("emit continues a sequence after an event of a transaction that was rolled back", async () => {
  const lenderId = await addLender(null);
  const failed = transaction(database.em(), async (tx) => {
    await emit(tx, [anEvent(lenderId)]);
    throw new Error("changed my mind");
  });
  await expect(failed).rejects.toThrow("changed my mind");
  expect(await emitAll([anEvent(lenderId)])).toMatchObject([{ sequence: 1n }]);
});

test.each([
  ["TENANT_ID_INVALID", { tenantId: "ACME" }, 'tenantId is "ACME"; expected a UUID.'],
  ["TENANT_ID_INVALID", { tenantId: undefined }, "tenantId is undefined; expected a UUID."],
  ["EVENT_ID_INVALID", { eventId: "5c9c2c9e-6b5f-4d63-8e0a-0f6f1a1b2c3d" }, "expected a UUID of version 7"],
  ["KIND_INVALID", { kind: "" }, "expected 1 to 100 visible ASCII characters"],
  ["KIND_INVALID", { kind: "case\r\nX-Evil: 1" }, "expected 1 to 100 visible ASCII characters"],
  ["STREAM_INVALID", { stream: 417 }, "stream is 417; expected a text"],
  ["STREAM_INVALID", { stream: "LN\0" }, "without NUL"],
  ["SEQUENCE_INVALID", { sequence: 0n }, "sequence is 0; expected a bigint from 1n"],
  ["SEQUENCE_INVALID", { sequence: 1 }, "expected a bigint from 1n, such as 12n"],
  ["OCCURRED_AT_INVALID", { occurredAt: "2026-11-20" }, 'occurredAt is "2026-11-20"; expected a valid Date.'],
  ["OCCURRED_AT_INVALID", { occurredAt: new Date("soon") }, "occurredAt is Invalid Date"],
  ["BODY_INVALID", { body: "{closed}" }, 'body is "{closed}"; expected JSON as text'],
  ["BODY_INVALID", { body: { kind: "case.closed" } }, "expected JSON as text, such as JSON.stringify"],
  ["BODY_INVALID", { body: () => undefined }, "body is undefined"],
  ["SEQUENCE_SKIPPED", { sequence: 3n }, 'The sequence 3 of "LN-1" leaves a gap; the next number is 2.'],
  ["SEQUENCE_REPEATED", { sequence: 1n }, 'The sequence 1 of "LN-1" was used before; the next number is 2.'],
])("emit rejects an event with %s: %o, and writes nothing", async (code, changes, message) => {
  const lenderId = await addLender(null);
  await emitAll([anEvent(lenderId)]);
  const rejected = emitAll([anEvent(lenderId, { stream: "LN-2" }), anEvent(lenderId, changes)]);
  const error = await rejected.catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(InvalidEventError);
  expect(error).toMatchObject({ code, index: 1, message: expect.stringContaining(message) as string });
  expect(await countEvents(lenderId)).toBe(2);
});

test("emit with `withoutEndpoint: throw` throws EndpointNotFoundError, which names the call to make", async () => {
  const rejected = emitAll([anEvent(newId())], { withoutEndpoint: "throw" });
  await expect(rejected).rejects.toThrow(EndpointNotFoundError);
  await expect(rejected).rejects.toThrow("register one with upsertEndpoint(tx, { tenantId, url })");
});

test("emit rejects a single event in place of a list, and shows the right call", async () => {
  const rejected = emitAll(anEvent(newId()) as unknown as EventToEmit[]);
  await expect(rejected).rejects.toMatchObject({
    code: "EVENTS_NOT_A_LIST",
    message: expect.stringContaining("await emit(tx, [event])") as string,
  });
});

test.each([{ trusted: false }, { trusted: true }])(
  "emit rejects an event id that the tenant has already, in one call and in two, and names the event: %o",
  async (options) => {
    const [lenderId, otherId] = [await addLender(null), await addLender(null)];
    const eventId = newId();
    const first = anEvent(lenderId, { eventId, sequence: 1n });
    const next = anEvent(lenderId.toUpperCase(), { eventId: eventId.toUpperCase(), sequence: 2n });
    const error = { name: "InvalidEventError", code: "EVENT_ID_REPEATED", index: 1 };
    await expect(emitAll([first, next], options)).rejects.toMatchObject(error);
    expect(await countEvents(lenderId)).toBe(0);
    await emitAll([first, anEvent(otherId, { eventId, sequence: 1n })], options);
    const unused = anEvent(lenderId, { eventId: newId(), sequence: 2n });
    const last = anEvent(lenderId, { eventId, sequence: 3n });
    await expect(emitAll([unused, last], options)).rejects.toMatchObject(error);
    expect(await countEvents(lenderId)).toBe(2);
  },
);

test("a tenant's id in upper case means the same tenant", async () => {
  const lenderId = newId();
  await transaction(database.em(), (tx) => upsertEndpoint(tx, { tenantId: lenderId.toUpperCase(), url: null }));
  const emitted = await emitAll([anEvent(lenderId), anEvent(lenderId.toUpperCase())]);
  expect(emitted.map(({ sequence }) => sequence)).toEqual([1n, 2n]);
});

test("emit with `trusted` needs an id and a sequence, and does not read the last number of the stream", async () => {
  const lenderId = await addLender(null);
  const eventId = newId();
  await expect(emitAll([anEvent(lenderId, { eventId })], { trusted: true })).rejects.toMatchObject({
    code: "NOT_NUMBERED",
  });
  expect(await emitAll([anEvent(lenderId, { eventId, sequence: 7n })], { trusted: true })).toEqual([
    { eventId, sequence: 7n, endpoints: [{ name: null, sequence: 7n }] },
  ]);
});
