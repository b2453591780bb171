import { afterCommit, isOnCluster, query, send, signal, statement, type Tx } from "@collections/database";
import { emitToEndpoints } from "./emit-to-endpoints.ts";
import { isRegistered, WEBHOOKS_CHANNEL } from "./endpoint/endpoint.ts";
import { columnsOf, DELIVERY, EVENT, type EventCopy, sendDeliveries, sendEvents, translatorOf } from "./event-copy.ts";
import { eventTable } from "./storage/event.ts";
import {
  bodyOf,
  type CheckedEvent,
  checkEvents,
  type EmitResult,
  type EventToEmit,
  InvalidEventError,
  quote,
} from "./event-input.ts";
import { deliveryTable } from "./storage/delivery.ts";

/** Options of `emit`. */
export interface EmitOptions {
  /**
   * Set it if the caller numbers the events of each stream under its own lock, and makes each body with
   * `JSON.stringify`. Each event then needs an id and a sequence. `emit` does not read the last numbers of the streams,
   * which saves a round trip, and does not parse the bodies. Default: false.
   *
   * The tenants must not have named endpoints: an event for a tenant with a named endpoint fails the transaction. On a
   * cluster, a process may take a minute to notice a tenant's first named endpoint.
   */
  readonly trusted?: boolean;
  /**
   * What `emit` does with an event of a tenant that has no endpoint. `store`: writes the event without a delivery, numbered for the
   * unnamed endpoint, so that the tenant's settings cannot fail the host's transaction. After the unnamed endpoint is registered, a
   * replay sends the event. `throw`: throws EndpointNotFoundError. With `trusted`, a missing endpoint always fails the transaction.
   * Default: `store`.
   */
  readonly withoutEndpoint?: "store" | "throw";
}

/**
 * Writes events and their deliveries in the transaction of the change, and wakes the dispatchers after the commit.
 * Returns the id and the sequence of each event, in the order of `events`. Until the transaction ends, the streams are
 * locked against other calls, so that their sequences have no gap and no duplicate.
 *
 * Each event is copied to the tenant's unnamed endpoint and to each named endpoint with a topic that contains its kind.
 * All copies have the same id. Each endpoint has its own sequence for each stream. An event that no topic of the tenant's named
 * endpoints contains is not written. An event of a tenant without any endpoint is stored without a delivery, unless
 * `withoutEndpoint` is `throw`.
 *
 * With `trusted`, `emit` does not wait until the database has written the events. A missing endpoint fails the
 * transaction. If the tenant has an event with the same id from an earlier call, the transaction fails with
 * InvalidEventError, at its next awaited query or at its end.
 * @throws InvalidEventError and ConflictingNamesError, and EndpointNotFoundError with `withoutEndpoint: "throw"`, before anything
 *   is written
 *
 * @example
 * await transaction(database.em(), async (tx) => {
 *   const paid = { tenantId, kind: "invoice.paid", stream: "INV-2026-00417", occurredAt: now };
 *   const body = ({ eventId, sequence }: EmittedEvent) =>
 *     JSON.stringify({ eventId: publicId("evt", eventId), kind: "invoice.paid", sequence: Number(sequence) });
 *   const [event] = await emit(tx, [{ ...paid, body }]);
 *   for (const { name, sequence } of event?.endpoints ?? []) console.log(name ?? "(unnamed)", sequence);
 * });
 */
export async function emit(
  tx: Tx,
  events: readonly EventToEmit[],
  { trusted = false, withoutEndpoint = "store" }: EmitOptions = {},
): Promise<EmitResult[]> {
  const checked = checkEvents(events);
  if (withoutEndpoint !== "store" && withoutEndpoint !== "throw") {
    throw new TypeError(`withoutEndpoint is ${quote(withoutEndpoint)}; expected "store" or "throw".`);
  }
  if (checked.length === 0) return [];
  return trusted ? emitTrusted(tx, checked) : emitToEndpoints(tx, checked, withoutEndpoint);
}

async function emitTrusted(tx: Tx, events: readonly CheckedEvent[]): Promise<EmitResult[]> {
  const copies = events.map(numberedCopy);
  const translator = translatorOf(events);
  const byTenant = Map.groupBy(copies, ({ lenderId }) => lenderId);
  for (const tenantId of byTenant.keys()) signal(tx, WEBHOOKS_CHANNEL, tenantId);
  if (isOnCluster(tx)) {
    for (const [tenantId, own] of byTenant) {
      sendEvents(tx, tenantId, own, translator);
      sendDeliveries(tx, tenantId, own, await onlyEndpoint(tx, tenantId), translator);
    }
  } else send(tx, insertEvents, [copies.map(({ lenderId }) => lenderId), ...columnsOf(copies)], translator);
  return copies.map(({ eventId, sequence }) => ({ eventId, sequence, endpoints: [{ name: null, sequence }] }));
}

/** Returns the copy of an event for the tenant's unnamed endpoint. The caller has numbered the event. */
function numberedCopy(event: CheckedEvent, index: number): EventCopy {
  const { tenantId: lenderId, stream: loan, kind, eventId, sequence, occurredAt } = event;
  if (sequence === undefined || eventId === undefined) {
    throw new InvalidEventError("NOT_NUMBERED", index, "With `trusted`, each event needs an eventId and a sequence.");
  }
  const body = bodyOf(event, { eventId, sequence, endpoint: null }, index, { isParsed: false });
  return { lenderId, loan, kind, eventId, sequence, occurredAt, body };
}

/** How long a process trusts that a tenant has no named endpoint. */
const ONLY_ENDPOINT_MS = 60_000;

/** Caches the unnamed endpoints of tenants without named endpoints. Only processes on a cluster use this cache. */
const onlyEndpoints = new Map<string, { readonly id: string; readonly readAt: number }>();

/**
 * Returns the id of a tenant's unnamed endpoint if the tenant has no named endpoints. Otherwise returns null, so that
 * the INSERT fails with a NOT NULL violation, as it does without a cluster.
 */
async function onlyEndpoint(tx: Tx, tenantId: string): Promise<string | null> {
  const known = onlyEndpoints.get(tenantId);
  if (known && performance.now() - known.readAt < ONLY_ENDPOINT_MS) return known.id;
  const [endpoint] = await query<{ id: string }>(tx, selectOnlyEndpoint, [tenantId]);
  if (!endpoint) {
    onlyEndpoints.delete(tenantId);
    return null;
  }
  const readAt = performance.now();
  // This transaction may have created the endpoint, and may be rolled back.
  afterCommit(tx, () => onlyEndpoints.set(tenantId, { id: endpoint.id, readAt }));
  return endpoint.id;
}

// If the tenant has no unnamed endpoint, or has named endpoints, the left join returns a null id, and the INSERT fails with a
// NOT NULL violation. An inner join would write an event without a delivery.
const insertEvents = statement(
  "webhooks.emit-of-many",
  `with input as (
     select * from unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::bigint[], $6::timestamptz[], $7::text[])
       as i (lender_id, id, kind, loan, sequence, occurred_at, body)
   ), recorded as (
     insert into ${eventTable.name} (${eventTable.columnList(EVENT)})
     select lender_id, id, kind, loan, sequence, body, occurred_at from input
   )
   insert into ${deliveryTable.name} (${deliveryTable.columnList(DELIVERY)})
   select i.lender_id, i.id, e.id, i.loan, i.sequence, i.kind, 'waiting'
   from input i left join webhooks.endpoint e on e.lender_id = i.lender_id and not e.has_named
     and ${isRegistered("e")}`,
);

const selectOnlyEndpoint = statement(
  "webhooks.endpoint-to-emit-to",
  `select e.id from webhooks.endpoint e where e.lender_id = $1 and not e.has_named and ${isRegistered("e")}`,
);
