import { isOnCluster, newId, query, send, type SendOptions, signal, statement, type Tx } from "@collections/database";
import { EndpointNotFoundError, isRegistered, unnamedKey, WEBHOOKS_CHANNEL } from "./endpoint/endpoint.ts";
import { contains, holdSubscriptions, type SubscriptionRow } from "./endpoint/subscription.ts";
import { columnsOf, DELIVERY, EVENT, type EventCopy, sendDeliveries, sendEvents, translatorOf } from "./event-copy.ts";
import { eventTable } from "./storage/event.ts";
import { bodyOf, checkBody, type CheckedEvent, type EmitResult, InvalidEventError, quote } from "./event-input.ts";
import { lastSequences } from "./insight/verification.ts";
import { deliveryTable } from "./storage/delivery.ts";
import { sendWithoutEndpoint } from "./storage/event-without-endpoint.ts";

/**
 * Numbers the events for each endpoint that receives them, and writes a copy for each of these endpoints. Until the
 * transaction ends, the streams are locked against other calls.
 */
export async function emitToEndpoints(
  tx: Tx,
  events: readonly CheckedEvent[],
  withoutEndpoint: "store" | "throw",
): Promise<EmitResult[]> {
  const targets = await targetsOf(tx, events, withoutEndpoint);
  const written = new Map<Target, EventCopy[]>();
  const results = events.map((event, index): EmitResult => {
    const eventId = event.eventId ?? newId();
    if (typeof event.body === "string") checkBody(event.body, index, { isParsed: true });
    const receivers = targets.get(event.tenantId)!.filter((target) => receives(target, event));
    const copies = receivers.map((target) => {
      const copy = copyFor(target, event, eventId, index);
      const own = written.get(target) ?? [];
      written.set(target, own);
      own.push(copy);
      return { endpointId: target.endpointId, name: target.name, sequence: copy.sequence };
    });
    return {
      eventId,
      sequence: copies.find(({ name }) => name === null)?.sequence ?? null,
      endpoints: copies.flatMap(({ endpointId, name, sequence }) => (endpointId === null ? [] : [{ name, sequence }])),
    };
  });
  for (const { address, endpointId } of written.keys()) {
    if (endpointId !== null) signal(tx, WEBHOOKS_CHANNEL, address);
  }
  sendCopies(tx, written, translatorOf(events));
  return results;
}

/** An endpoint of a tenant, to which events are copied. */
interface Target {
  readonly address: string;
  /** Null if the tenant has no endpoint. Its events are then stored without deliveries. */
  readonly endpointId: string | null;
  readonly name: string | null;
  readonly topics: readonly string[];
  /** The number of the last event of each stream. */
  readonly last: Map<string, bigint>;
}

/** Locks the streams of the events until the transaction ends, and returns the endpoints of each tenant. */
async function targetsOf(
  tx: Tx,
  events: readonly CheckedEvent[],
  withoutEndpoint: "store" | "throw",
): Promise<ReadonlyMap<string, readonly Target[]>> {
  const byTenant = Map.groupBy(events, ({ tenantId }) => tenantId);
  send(tx, holdUnnamed, [[...byTenant.keys()]]);
  // The lock on a tenant's stream also guards the stream's numbers in the tenant's named endpoints, because only this
  // function writes events of named endpoints. The locks are taken before the last numbers are read, so that these
  // numbers include the events of transactions that held the locks before.
  send(tx, lockStreams, [events.map(({ tenantId }) => tenantId), events.map(({ stream }) => stream)]);
  const targets = new Map<string, readonly Target[]>();
  for (const [tenantId, own] of byTenant) {
    // The endpoint's id is not cached: the transaction that created the endpoint may be this one, and may be rolled back.
    const [[endpoint], last, subscriptions] = await Promise.all([
      query<{ id: string }>(tx, selectEndpoint, [tenantId]),
      lastSequences(tx, tenantId, streamsOf(own)),
      holdSubscriptions(tx, tenantId),
    ]);
    const hasNone = !endpoint && subscriptions.length === 0;
    if (hasNone && withoutEndpoint === "throw") throw new EndpointNotFoundError(tenantId);
    const unnamed = { address: tenantId, endpointId: endpoint?.id ?? null, name: null, topics: ["*"], last };
    targets.set(tenantId, [
      ...(endpoint || hasNone ? [unnamed] : []),
      ...(await Promise.all(subscriptions.map((subscription) => targetNamed(tx, subscription, own)))),
    ]);
  }
  return targets;
}

async function targetNamed(
  tx: Tx,
  { id, name, topics }: SubscriptionRow,
  events: readonly CheckedEvent[],
): Promise<Target> {
  const received = events.filter(({ kind }) => contains(topics, kind));
  const last = received.length > 0 ? await lastSequences(tx, id, streamsOf(received)) : new Map<string, bigint>();
  return { address: id, endpointId: id, name, topics, last };
}

function streamsOf(events: readonly CheckedEvent[]): string[] {
  return [...new Set(events.map(({ stream }) => stream))];
}

function receives({ topics }: Target, { kind }: CheckedEvent): boolean {
  return contains(topics, kind);
}

/** Returns the copy of an event for one endpoint, with the next number of its stream. Stores this number in `last`. */
function copyFor(target: Target, event: CheckedEvent, eventId: string, index: number): EventCopy {
  const { address, name, last } = target;
  const { stream, kind, occurredAt } = event;
  const sequence = (last.get(stream) ?? 0n) + 1n;
  if (name === null && event.sequence !== undefined && event.sequence !== sequence) {
    throw sequenceError(stream, index, event.sequence, sequence);
  }
  last.set(stream, sequence);
  // A body that is a text is the same in all copies, and `emitToEndpoints` has checked it already.
  const isParsed = typeof event.body === "function";
  const body = bodyOf(event, { eventId, sequence, endpoint: name }, index, { isParsed });
  return { lenderId: address, loan: stream, kind, eventId, sequence, occurredAt, body };
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

/** Writes the copies of all endpoints with one query, or on a cluster with two queries for each endpoint. */
function sendCopies(tx: Tx, written: ReadonlyMap<Target, readonly EventCopy[]>, options: SendOptions): void {
  const toDeliver = [...written].filter(([{ endpointId }]) => endpointId !== null);
  for (const [{ address, endpointId }, own] of written) {
    if (endpointId !== null) continue;
    const eventIds = own.map(({ eventId }) => eventId);
    sendEvents(tx, address, own, options);
    sendWithoutEndpoint(tx, address, eventIds, options);
  }
  if (isOnCluster(tx)) {
    for (const [{ address, endpointId }, copies] of toDeliver) {
      sendEvents(tx, address, copies, options);
      sendDeliveries(tx, address, copies, endpointId, options);
    }
    return;
  }
  const copies = toDeliver.flatMap(([, own]) => own);
  const endpointIds = toDeliver.flatMap(([{ endpointId }, own]) => own.map(() => endpointId));
  if (copies.length > 0) {
    send(tx, insertCopies, [copies.map(({ lenderId }) => lenderId), ...columnsOf(copies), endpointIds], options);
  }
}

// This query needs no join with the endpoints, because the caller passes their ids.
const insertCopies = statement(
  "webhooks.emit-copies-of-many",
  `with input as (
     select * from unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::bigint[], $6::timestamptz[], $7::text[],
       $8::uuid[]) as i (lender_id, id, kind, loan, sequence, occurred_at, body, endpoint_id)
   ), recorded as (
     insert into ${eventTable.name} (${eventTable.columnList(EVENT)})
     select lender_id, id, kind, loan, sequence, body, occurred_at from input
   )
   insert into ${deliveryTable.name} (${deliveryTable.columnList(DELIVERY)})
   select lender_id, id, endpoint_id, loan, sequence, kind, 'waiting' from input`,
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

// `removeEndpoint` waits for these locks, and `emit` for the lock of `removeEndpoint`, so that no event is written for an unnamed
// endpoint after its waiting events were parked. A lock on the endpoint's row would delay probes and paced attempts.
const holdUnnamed = statement(
  "webhooks.hold-unnamed-endpoints",
  `select pg_advisory_xact_lock_shared(key)
   from (
     select distinct ${unnamedKey("k.lender_id")} as key from unnest($1::uuid[]) as k (lender_id) order by key
   ) ordered`,
);

const selectEndpoint = statement(
  "webhooks.unnamed-endpoint",
  `select e.id from webhooks.endpoint e where e.lender_id = $1 and ${isRegistered("e")}`,
);
