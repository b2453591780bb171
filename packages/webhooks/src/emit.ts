import {
  isOnCluster,
  newId,
  oneLenderInsert,
  query,
  send,
  signal,
  statement,
  tableOf,
  type Tx,
} from "@collections/database";
import { EndpointNotFoundError, WEBHOOKS_CHANNEL } from "./endpoint/endpoint.ts";
import {
  checkBody,
  type CheckedEvent,
  checkFields,
  type EmittedEvent,
  type EventToEmit,
  InvalidEventError,
  type NumberedEvent,
  quote,
} from "./event-input.ts";
import { lastSequences } from "./insight/verification.ts";
import { deliveryTable } from "./storage/delivery.ts";
import { EventEntity } from "./storage/event.ts";

/** Options of `emit`. */
export interface EmitOptions {
  /**
   * The caller numbers the events of a stream under a lock of its own, and makes each body with `JSON.stringify`. Then
   * `emit` does not read the streams' last numbers, does not parse the bodies, and each event needs its id and sequence.
   * Saves a round trip. Default: false.
   */
  readonly trusted?: boolean;
}

/**
 * Writes events and their deliveries in the transaction of the change, and wakes the dispatchers after the commit. Returns
 * the id and the sequence of each event, in their order. Until the transaction ends, the streams are locked against other
 * calls, so that their sequences have no gap and no duplicate.
 *
 * With `trusted` the promise does not wait for an answer of the database, and a missing endpoint fails the transaction.
 * @throws InvalidEventError, ConflictingNamesError and EndpointNotFoundError, before anything is written
 *
 * @example
 * await transaction(database.em(), async (tx) => {
 *   const paid = { tenantId, kind: "invoice.paid", stream: "INV-2026-00417", occurredAt: now };
 *   const body = ({ eventId, sequence }: EmittedEvent) =>
 *     JSON.stringify({ eventId: publicId("evt", eventId), kind: "invoice.paid", sequence: Number(sequence) });
 *   const [event] = await emit(tx, [{ ...paid, body }]);
 *   console.log(event?.sequence);
 * });
 */
export async function emit(
  tx: Tx,
  events: readonly EventToEmit[],
  { trusted = false }: EmitOptions = {},
): Promise<EmittedEvent[]> {
  if (events.length === 0) return [];
  const checked = events.map(checkFields);
  const last = trusted ? undefined : await lastNumbers(tx, checked);
  const numbered = checked.map((event, index) => numberedEvent(event, index, last));
  const byTenant = Map.groupBy(numbered, ({ tenantId }) => tenantId);
  for (const tenantId of byTenant.keys()) signal(tx, WEBHOOKS_CHANNEL, tenantId);
  if (isOnCluster(tx)) for (const [tenantId, itsEvents] of byTenant) await emitOfOne(tx, tenantId, itsEvents);
  else send(tx, insertEvents, [numbered.map(({ tenantId }) => tenantId), ...columnsOf(numbered)]);
  return numbered.map(({ eventId, sequence }) => ({ eventId, sequence }));
}

/** The number of the last event of each stream, by tenant and stream. */
type LastNumbers = ReadonlyMap<string, Map<string, bigint>>;

/** Locks the streams of the events until the transaction ends, and returns their last numbers. */
async function lastNumbers(tx: Tx, events: readonly CheckedEvent[]): Promise<LastNumbers> {
  const byTenant = Map.groupBy(events, ({ tenantId }) => tenantId);
  send(tx, lockStreams, [events.map(({ tenantId }) => tenantId), events.map(({ stream }) => stream)]);
  const last = new Map<string, Map<string, bigint>>();
  for (const [tenantId, own] of byTenant) {
    const streams = [...new Set(own.map(({ stream }) => stream))];
    const [endpointId, numbers] = await Promise.all([
      endpointIds.get(tenantId) ?? readEndpointId(tx, tenantId),
      lastSequences(tx, tenantId, streams),
    ]);
    if (endpointId === undefined) throw new EndpointNotFoundError(tenantId);
    last.set(tenantId, numbers);
  }
  return last;
}

/** Returns the event with its id, sequence and body. Counts the event in `last`, so that the next event of its stream follows it. */
function numberedEvent(event: CheckedEvent, index: number, last: LastNumbers | undefined): NumberedEvent {
  const { tenantId, stream } = event;
  const numbers = last?.get(tenantId);
  const next = numbers && (numbers.get(stream) ?? 0n) + 1n;
  const sequence = event.sequence ?? next;
  const eventId = event.eventId ?? (numbers && newId());
  if (sequence === undefined || eventId === undefined) {
    throw new InvalidEventError("NOT_NUMBERED", index, "With `trusted`, each event needs an eventId and a sequence.");
  }
  if (next !== undefined && sequence !== next) throw sequenceError(stream, index, sequence, next);
  numbers?.set(stream, sequence);
  const body = typeof event.body === "function" ? event.body({ eventId, sequence }) : event.body;
  checkBody(body, index, { isParsed: numbers !== undefined });
  return { ...event, eventId, sequence, body };
}

function sequenceError(stream: string, index: number, sequence: bigint, next: bigint): InvalidEventError {
  const [code, what] =
    sequence < next
      ? (["SEQUENCE_REPEATED", "was used before"] as const)
      : (["SEQUENCE_SKIPPED", "leaves a gap"] as const);
  return new InvalidEventError(
    code,
    index,
    `The sequence ${sequence} of ${quote(stream)} ${what}; the next number is ${next}. Without a sequence, emit numbers the event itself.`,
  );
}

/** Caches the id of each tenant's endpoint. An endpoint is created with its tenant and keeps its id. */
const endpointIds = new Map<string, string>();

/**
 * Writes the events of one tenant on a cluster with two queries. Each query is one command to the tenant's node. The
 * first events of a tenant in this process need a third query, for the endpoint's id.
 */
async function emitOfOne(tx: Tx, tenantId: string, events: readonly NumberedEvent[]): Promise<void> {
  const [ids, kinds, streams, sequences, moments, bodies] = columnsOf(events);
  send(tx, recordEvents, [tenantId, ids, kinds, streams, sequences, moments, bodies]);
  // If the tenant has no endpoint, the id is null, and the INSERT fails with a NOT NULL violation as it does without a
  // cluster.
  const endpointId = endpointIds.get(tenantId) ?? (await readEndpointId(tx, tenantId)) ?? null;
  send(tx, recordDeliveries, [tenantId, ids, streams, sequences, kinds, endpointId]);
}

async function readEndpointId(tx: Tx, tenantId: string): Promise<string | undefined> {
  const [endpoint] = await query<{ id: string }>(tx, selectEndpoint, [tenantId]);
  if (endpoint) endpointIds.set(tenantId, endpoint.id);
  return endpoint?.id;
}

function columnsOf(events: readonly NumberedEvent[]): unknown[][] {
  return [
    events.map(({ eventId }) => eventId),
    events.map(({ kind }) => kind),
    events.map(({ stream }) => stream),
    events.map(({ sequence }) => String(sequence)),
    events.map(({ occurredAt }) => occurredAt.toISOString()),
    events.map(({ body }) => body),
  ];
}

const events = tableOf(EventEntity);
const EVENT = ["lenderId", "id", "kind", "sourceLoanNumber", "sequence", "body", "occurredAt"] as const;
const DELIVERY = ["lenderId", "id", "endpointId", "loan", "sequence", "kind", "state"] as const;

// The left join makes an event without an endpoint a NOT NULL violation. An inner join would write an event without a delivery.
const insertEvents = statement(
  "webhooks.emit-of-many",
  `with input as (
     select * from unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::bigint[], $6::timestamptz[], $7::text[])
       as i (lender_id, id, kind, loan, sequence, occurred_at, body)
   ), recorded as (
     insert into ${events.name} (${events.columnList(EVENT)})
     select lender_id, id, kind, loan, sequence, body, occurred_at from input
   )
   insert into ${deliveryTable.name} (${deliveryTable.columnList(DELIVERY)})
   select i.lender_id, i.id, e.id, i.loan, i.sequence, i.kind, 'waiting'
   from input i left join webhooks.endpoint e on e.lender_id = i.lender_id`,
);

// The locks are taken in the order of their keys, so that two transactions cannot deadlock.
const lockStreams = statement(
  "webhooks.lock-loans",
  `select pg_advisory_xact_lock(key)
   from (
     select distinct hashtextextended('webhooks.loan/' || lender_id::text || '/' || loan, 0) as key
     from unnest($1::uuid[], $2::text[]) as k (lender_id, loan)
     order by key
   ) ordered`,
);

const recordEvents = oneLenderInsert("webhooks.record-events", {
  table: events.name,
  columns: events.insertedTypes(["id", "kind", "sourceLoanNumber", "sequence", "occurredAt", "body"]),
});

const selectEndpoint = statement(
  "webhooks.endpoint-to-emit-to",
  "select id from webhooks.endpoint where lender_id = $1",
);

const recordDeliveries = oneLenderInsert("webhooks.record-deliveries", {
  table: deliveryTable.name,
  columns: deliveryTable.insertedTypes(["id", "loan", "sequence", "kind"]),
  equal: { endpoint_id: "$6::uuid", state: "'waiting'" },
});
