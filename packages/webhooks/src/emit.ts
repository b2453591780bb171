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
   * The caller numbers the events of a loan under a lock of its own, and makes each body with `JSON.stringify`. Then
   * `emit` does not read the loans' last numbers, does not parse the bodies, and each event needs its id and sequence.
   * Saves a round trip. Default: false.
   */
  readonly trusted?: boolean;
}

/**
 * Writes events and their deliveries in the transaction of the change, and wakes the dispatchers after the commit. Returns
 * the id and the sequence of each event, in their order. Until the transaction ends, the loans are locked against other
 * calls, so that their sequences have no gap and no duplicate.
 *
 * With `trusted` the promise does not wait for an answer of the database, and a missing endpoint fails the transaction.
 * @throws InvalidEventError and EndpointNotFoundError, before anything is written
 *
 * @example
 * await transaction(database.em(), async (tx) => {
 *   const closed = { lenderId, kind: "case.closed", loan: "LN-2026-00417", occurredAt: now };
 *   const body = ({ eventId, sequence }: EmittedEvent) =>
 *     JSON.stringify({ eventId: publicId("evt", eventId), kind: "case.closed", sequence: Number(sequence) });
 *   const [event] = await emit(tx, [{ ...closed, body }]);
 *   console.log(event?.sequence);
 * });
 */
export async function emit(
  tx: Tx,
  events: readonly EventToEmit[],
  { trusted = false }: EmitOptions = {},
): Promise<EmittedEvent[]> {
  if (events.length === 0) return [];
  events.forEach(checkFields);
  const last = trusted ? undefined : await lastNumbers(tx, events);
  const numbered = events.map((event, index) => numberedEvent(event, index, last));
  const byLender = Map.groupBy(numbered, ({ lenderId }) => lenderId);
  for (const lenderId of byLender.keys()) signal(tx, WEBHOOKS_CHANNEL, lenderId);
  if (isOnCluster(tx)) for (const [lenderId, itsEvents] of byLender) await emitOfOne(tx, lenderId, itsEvents);
  else send(tx, insertEvents, [numbered.map(({ lenderId }) => lenderId), ...columnsOf(numbered)]);
  return numbered.map(({ eventId, sequence }) => ({ eventId, sequence }));
}

/** The number of the last event of each loan, by lender and loan. */
type LastNumbers = ReadonlyMap<string, Map<string, bigint>>;

/** Locks the loans of the events until the transaction ends, and returns their last numbers. */
async function lastNumbers(tx: Tx, events: readonly EventToEmit[]): Promise<LastNumbers> {
  const byLender = Map.groupBy(events, ({ lenderId }) => lenderId);
  send(tx, lockLoans, [events.map(({ lenderId }) => lenderId), events.map(({ loan }) => loan)]);
  const last = new Map<string, Map<string, bigint>>();
  for (const [lenderId, own] of byLender) {
    const loans = [...new Set(own.map(({ loan }) => loan))];
    const [endpointId, numbers] = await Promise.all([
      endpointIds.get(lenderId) ?? readEndpointId(tx, lenderId),
      lastSequences(tx, lenderId, loans),
    ]);
    if (endpointId === undefined) throw new EndpointNotFoundError(lenderId);
    last.set(lenderId, numbers);
  }
  return last;
}

/** Returns the event with its id, sequence and body. Counts the event in `last`, so that the next event of its loan follows it. */
function numberedEvent(event: EventToEmit, index: number, last: LastNumbers | undefined): NumberedEvent {
  const { lenderId, loan } = event;
  const numbers = last?.get(lenderId);
  const next = numbers && (numbers.get(loan) ?? 0n) + 1n;
  const sequence = event.sequence ?? next;
  const eventId = event.eventId ?? (numbers && newId());
  if (sequence === undefined || eventId === undefined) {
    throw new InvalidEventError("NOT_NUMBERED", index, "With `trusted`, each event needs an eventId and a sequence.");
  }
  if (next !== undefined && sequence !== next) throw sequenceError(loan, index, sequence, next);
  numbers?.set(loan, sequence);
  const body = typeof event.body === "function" ? event.body({ eventId, sequence }) : event.body;
  checkBody(body, index, { isParsed: numbers !== undefined });
  return { ...event, eventId, sequence, body };
}

function sequenceError(loan: string, index: number, sequence: bigint, next: bigint): InvalidEventError {
  const [code, what] =
    sequence < next
      ? (["SEQUENCE_REPEATED", "was used before"] as const)
      : (["SEQUENCE_SKIPPED", "leaves a gap"] as const);
  return new InvalidEventError(
    code,
    index,
    `The sequence ${sequence} of ${quote(loan)} ${what}; the next number is ${next}. Without a sequence, emit numbers the event itself.`,
  );
}

/** Caches the id of each lender's endpoint. An endpoint is created with its lender and keeps its id. */
const endpointIds = new Map<string, string>();

/**
 * Writes the events of one lender on a cluster with two queries. Each query is one command to the lender's node. The
 * first events of a lender in this process need a third query, for the endpoint's id.
 */
async function emitOfOne(tx: Tx, lenderId: string, events: readonly NumberedEvent[]): Promise<void> {
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

function columnsOf(events: readonly NumberedEvent[]): unknown[][] {
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

// The locks are taken in the order of their keys, so that two transactions cannot deadlock.
const lockLoans = statement(
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
