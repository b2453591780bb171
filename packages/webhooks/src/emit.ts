import { isOnCluster, oneLenderInsert, query, send, signal, statement, tableOf, type Tx } from "@collections/database";
import { WEBHOOKS_CHANNEL } from "./endpoint/endpoint.ts";
import { deliveryTable } from "./storage/delivery.ts";
import { EventEntity } from "./storage/event.ts";

/** An event to send to a lender. `body` is the exact text that every attempt sends. */
export interface EventToEmit {
  readonly lenderId: string;
  /** UUIDv7, from `newId()`. */
  readonly eventId: string;
  readonly kind: string;
  readonly loan: string;
  /** The loan's next number, taken while its case is locked. contract: Envelope */
  readonly sequence: bigint;
  readonly occurredAt: Date;
  readonly body: string;
}

/**
 * Writes events and their deliveries in the transaction of the change, and wakes the dispatchers after the commit. The
 * transaction fails if a lender has no endpoint row. Without a cluster, one query writes the events of all lenders, and
 * the promise does not wait for the query's answer.
 *
 * @example
 * await transaction(database.em(), async (tx) => {
 *   const eventId = newId();
 *   const body = JSON.stringify({ eventId: publicId("evt", eventId), kind: "case.closed", sequence: 12 });
 *   const closed = { lenderId, eventId, kind: "case.closed", loan: "LN-2026-00417", sequence: 12n };
 *   await emit(tx, [{ ...closed, occurredAt: now, body }]);
 * });
 */
export async function emit(tx: Tx, events: readonly EventToEmit[]): Promise<void> {
  if (events.length === 0) return;
  const byLender = Map.groupBy(events, ({ lenderId }) => lenderId);
  for (const lenderId of byLender.keys()) signal(tx, WEBHOOKS_CHANNEL, lenderId);
  if (isOnCluster(tx)) for (const [lenderId, itsEvents] of byLender) await emitOfOne(tx, lenderId, itsEvents);
  else send(tx, insertEvents, [events.map(({ lenderId }) => lenderId), ...columnsOf(events)]);
}

/** Caches the id of each lender's endpoint. An endpoint is created with its lender and keeps its id. */
const endpointIds = new Map<string, string>();

/**
 * Writes the events of one lender on a cluster with two queries. Each query is one command to the lender's node. The
 * first events of a lender in this process need a third query, for the endpoint's id.
 */
async function emitOfOne(tx: Tx, lenderId: string, events: readonly EventToEmit[]): Promise<void> {
  const [ids, kinds, loans, sequences, moments, bodies] = columnsOf(events);
  send(tx, recordEvents, [lenderId, ids, kinds, loans, sequences, moments, bodies]);
  // If the lender has no endpoint, the id is null, and the INSERT fails with a NOT NULL violation as it does without a
  // cluster.
  const endpointId = endpointIds.get(lenderId) ?? (await readEndpointId(tx, lenderId)) ?? null;
  send(tx, recordDeliveries, [lenderId, ids, loans, sequences, kinds, endpointId]);
}

async function readEndpointId(tx: Tx, lenderId: string): Promise<string | undefined> {
  const [endpoint] = await query<{ id: string }>(tx, selectEndpoint, [lenderId]);
  if (endpoint) endpointIds.set(lenderId, endpoint.id);
  return endpoint?.id;
}

function columnsOf(events: readonly EventToEmit[]): unknown[][] {
  return [
    events.map(({ eventId }) => eventId),
    events.map(({ kind }) => kind),
    events.map(({ loan }) => loan),
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
