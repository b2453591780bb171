import { adHocStatement, type EntityManager, query, statement } from "@collections/database";
import type { AttemptErrorCode } from "../endpoint/attempt.ts";
import { type Attempt, attemptTable, LOGGED } from "../storage/attempt-log.ts";
import { type Delivery, deliveryTable, type DeliveryState } from "../storage/delivery.ts";
import { addressOf, type EndpointRef } from "../endpoint/address.ts";
import { addressesOfTenant, ALL_ENDPOINTS, namesIfOnlyNamed } from "../endpoint/endpoint.ts";
import { type StreamNames, streamNames, streamOf, tenantIdOf } from "../endpoint/old-names.ts";
import { type Recipient, recipientOf } from "../endpoint/recipient.ts";
import type { Event } from "../storage/event.ts";
import { CLOCKS_DIFFER_MS, idBefore, laterBy } from "../storage/id-time.ts";

const DEFAULT_LIMIT = 50;

/** A delivery as tenants and operators see it. Ids are UUIDs. */
export interface DeliverySummary extends Recipient, StreamNames {
  readonly eventId: string;
  readonly kind: string;
  readonly sequence: bigint;
  readonly state: DeliveryState;
  readonly attempts: number;
  readonly nextAttemptAt: Date | null;
  readonly lastError: string | null;
  /** Whether a replay sends the event again after it was delivered or parked. */
  readonly replay: boolean;
  readonly createdAt: Date;
  readonly settledAt: Date | null;
}

/**
 * One attempt from the log. `status`, `headers` and `body` are null if no answer came. `errorCode` and `errorDetail` are null if
 * the event was delivered.
 */
export interface LoggedAttempt extends Readonly<Pick<Attempt, (typeof LOGGED)[number]>> {
  readonly errorCode: AttemptErrorCode | null;
}

/** A delivery with its body, and the log of its attempts in order. */
export interface DeliveryDetail extends DeliverySummary {
  /** The callback URL that the next attempt uses. Null if none is registered. */
  readonly url: string | null;
  readonly occurredAt: Date;
  /** The exact body, which every attempt sends. */
  readonly body: string;
  readonly log: readonly LoggedAttempt[];
}

/** A filter of deliveries. An absent field does not restrict the list. `stream` needs `tenantId`. */
export interface DeliveryFilter {
  /**
   * Only deliveries to one endpoint of this tenant: the endpoint with the name `endpoint`, or by default the unnamed
   * endpoint.
   */
  readonly tenantId?: string;
  /** The name of an endpoint, or `*` for all endpoints of the tenant. It needs `tenantId`. */
  readonly endpoint?: string | null;
  /** @deprecated Use `tenantId`. Version 0.2 removes `lenderId`. */
  readonly lenderId?: string;
  readonly states?: readonly DeliveryState[];
  readonly stream?: string;
  /** @deprecated Use `stream`. Version 0.2 removes `loan`. */
  readonly loan?: string;
  readonly kind?: string;
  /** Only deliveries that were created at this time or later. */
  readonly since?: Date;
  /** The cursor of the page to list: `nextCursor` of the previous page. */
  readonly cursor?: string;
  readonly limit?: number;
}

/**
 * A page of deliveries, newest first. Copies of an event for several endpoints are on the same page, so a page of all
 * tenants may be longer than `limit`.
 */
export interface DeliveryPage {
  readonly deliveries: readonly DeliverySummary[];
  /** The cursor of the next page. Null on the last page. */
  readonly nextCursor: string | null;
  /**
   * The names of the tenant's endpoints, if the list is of its unnamed endpoint, is empty, and the tenant has only named ones.
   * Absent otherwise.
   */
  readonly onlyNamed?: readonly string[];
}

/**
 * Lists deliveries, newest first, one page at a time. `now` decides whether a lease has ended.
 *
 * @example
 * const { deliveries, nextCursor } = await listDeliveries(em, { tenantId, states: ["parked"], limit: 20 }, now);
 * const older = nextCursor && (await listDeliveries(em, { tenantId, states: ["parked"], cursor: nextCursor }, now));
 * const ofAllEndpoints = await listDeliveries(em, { tenantId, endpoint: "*" }, now);
 */
export async function listDeliveries(em: EntityManager, filter: DeliveryFilter, now: Date): Promise<DeliveryPage> {
  const limit = filter.limit ?? DEFAULT_LIMIT;
  const conditions = await conditionsOf(em, filter, now);
  const rows = await deliveriesWith(em, conditions, limit + 1);
  const page = rows.slice(0, limit);
  const last = rows.length > limit ? page.at(-1) : undefined;
  if (last && last.id === rows.at(-1)!.id) page.push(...(await otherCopies(em, conditions, last.id, page)));
  const deliveries = await Promise.all(
    page.map(async (row) => summaryOf(await recipientOf(em, row.lenderId), row, now)),
  );
  const onlyNamed = deliveries.length === 0 ? await onlyNamedIn(em, filter) : undefined;
  return { deliveries, nextCursor: last?.id ?? null, ...(onlyNamed && { onlyNamed }) };
}

/** Returns the names of the tenant's endpoints, if the filter is for its unnamed endpoint and it has only named ones. */
function onlyNamedIn(em: EntityManager, filter: DeliveryFilter): Promise<readonly string[] | undefined> | undefined {
  const tenantId = tenantIdOf(filter);
  const isNamed = filter.endpoint !== undefined && filter.endpoint !== null;
  return tenantId === undefined || isNamed || filter.cursor !== undefined ? undefined : namesIfOnlyNamed(em, tenantId);
}

/** Returns the copies of an event that are not on the page. The cursor of the next page would skip them. */
async function otherCopies(
  em: EntityManager,
  conditions: readonly Condition[],
  id: string,
  page: readonly Delivery[],
): Promise<Delivery[]> {
  const copies = await deliveriesWith(em, [...conditions, ($) => `d.id = ${$(id)}`]);
  return copies.filter((copy) => !page.some((shown) => shown.id === id && shown.lenderId === copy.lenderId));
}

/**
 * Returns one delivery of an endpoint with its body and all attempts, or undefined if there is none.
 *
 * @example
 * const delivery = await deliveryById(em, tenantId, eventId, now);
 * for (const { number, status, errorCode } of delivery?.log ?? []) console.log(number, status ?? errorCode);
 */
export async function deliveryById(
  em: EntityManager,
  recipient: EndpointRef,
  eventId: string,
  now: Date,
): Promise<DeliveryDetail | undefined> {
  const lenderId = addressOf(recipient);
  const [row] = await query<Delivery & Pick<Event, "body" | "occurredAt"> & { readonly url: string | null }>(
    em,
    selectDetail,
    [lenderId, eventId],
  );
  if (!row) return undefined;
  const log = await query<LoggedAttempt>(em, selectAttempts, [lenderId, eventId, laterBy(-CLOCKS_DIFFER_MS, eventId)]);
  return {
    ...summaryOf(await recipientOf(em, lenderId), row, now),
    url: row.url,
    occurredAt: row.occurredAt,
    body: row.body,
    log,
  };
}

/**
 * Returns one delivery of an endpoint without its body and its attempts, or undefined if there is none.
 *
 * @example
 * const state = (await deliveryOfEvent(em, tenantId, eventId, now))?.state;
 */
export async function deliveryOfEvent(
  em: EntityManager,
  recipient: EndpointRef,
  eventId: string,
  now: Date,
): Promise<DeliverySummary | undefined> {
  const lenderId = addressOf(recipient);
  const [row] = await query<Delivery>(em, selectDelivery, [lenderId, eventId]);
  return row ? summaryOf(await recipientOf(em, lenderId), row, now) : undefined;
}

/** Returns a condition of a search. `$` adds a parameter, and returns its place in the text: `$1`. */
type Condition = ($: (value: unknown) => string) => string;

/** Returns the deliveries that meet all conditions, newest first: all, or `limit`. */
async function deliveriesWith(
  em: EntityManager,
  conditions: readonly Condition[],
  limit?: number,
): Promise<Delivery[]> {
  const values: unknown[] = [];
  const $ = (value: unknown): string => `$${values.push(value)}`;
  const where = conditions.length === 0 ? "" : `where ${conditions.map((condition) => condition($)).join(" and ")}`;
  const text = `select ${deliveryTable.selectList("d")} from webhooks.delivery d ${where}
   order by d.id desc ${limit === undefined ? "" : `limit ${$(limit)}`}`;
  return query<Delivery>(em, adHocStatement(text), values);
}

async function conditionsOf(em: EntityManager, filter: DeliveryFilter, now: Date): Promise<Condition[]> {
  const { kind, states, since, cursor } = filter;
  const [addresses, loan] = [await addressesIn(em, filter), streamOf(filter)];
  const conditions: Condition[] = [];
  if (addresses?.length === 1) conditions.push(await endpointCondition(em, addresses[0]!, states));
  else if (addresses !== undefined) conditions.push(await endpointsCondition(em, addresses, states));
  if (states !== undefined && states.length > 0) {
    conditions.push(($) => `(${states.map((state) => stateCondition(state, now)($)).join(" or ")})`);
  }
  if (kind !== undefined) conditions.push(($) => `d.kind = ${$(kind)}`);
  if (since !== undefined) {
    conditions.push(
      ($) => `d.created_at >= ${$(since.toISOString())}::timestamptz and d.id > ${$(idBefore(since))}::uuid`,
    );
  }
  if (cursor !== undefined) conditions.push(($) => `d.id < ${$(cursor)}`);
  // Finds the deliveries of a stream by the ids of its events, because only events have an index by stream.
  if (loan !== undefined) {
    const ids = await idsOfStream(em, addresses, loan);
    conditions.push(($) => `d.id = any (${$(ids)}::uuid[])`);
  }
  return conditions;
}

/** Returns the addresses of the endpoints that a filter names, or undefined if it names none. */
async function addressesIn(em: EntityManager, filter: DeliveryFilter): Promise<string[] | undefined> {
  const [tenantId, { endpoint }] = [tenantIdOf(filter), filter];
  if (tenantId !== undefined && endpoint === ALL_ENDPOINTS) return addressesOfTenant(em, tenantId);
  if (tenantId !== undefined) return [addressOf({ tenantId, endpoint })];
  if (endpoint === undefined || endpoint === null) return undefined;
  throw new TypeError("The filter has endpoint but no tenantId. A name belongs to one tenant: pass tenantId too.");
}

/**
 * Returns the condition on the endpoint. For parked deliveries, the condition uses the endpoint's id, because the index
 * of parked deliveries begins with this id. A condition on the address would also read deliveries in other states.
 */
async function endpointCondition(
  em: EntityManager,
  lenderId: string,
  states: readonly DeliveryState[] | undefined,
): Promise<Condition> {
  const ofAddress: Condition = ($) => `d.lender_id = ${$(lenderId)}`;
  if (states?.length !== 1 || states[0] !== "parked") return ofAddress;
  const [endpoint] = await query<{ id: string }>(em, selectEndpointId, [lenderId]);
  return endpoint ? ($) => `d.endpoint_id = ${$(endpoint.id)}` : ofAddress;
}

/** Returns the condition on several endpoints, as `endpointCondition` does. */
async function endpointsCondition(
  em: EntityManager,
  addresses: readonly string[],
  states: readonly DeliveryState[] | undefined,
): Promise<Condition> {
  if (states?.length !== 1 || states[0] !== "parked") return ($) => `d.lender_id = any (${$(addresses)})`;
  const endpoints = await query<{ id: string }>(em, selectEndpointIds, [addresses]);
  return ($) => `d.endpoint_id = any (${$(endpoints.map(({ id }) => id))})`;
}

function stateCondition(state: DeliveryState, now: Date): Condition {
  return ($) => {
    if (state === "in_flight")
      return `(d.state = 'waiting' and d.leased_until >= ${$(now.toISOString())}::timestamptz)`;
    if (state !== "waiting") return `d.state = ${$(state)}`;
    return `(d.state = 'waiting' and (d.leased_until is null or d.leased_until < ${$(now.toISOString())}::timestamptz))`;
  };
}

async function idsOfStream(
  em: EntityManager,
  addresses: readonly string[] | undefined,
  stream: string,
): Promise<string[]> {
  if (addresses === undefined)
    throw new TypeError("The filter has stream but no tenantId. A stream belongs to one tenant: pass tenantId too.");
  const ids = new Set<string>();
  for (const address of addresses) {
    const rows = await query<{ id: string }>(em, selectIdsOfStream, [address, stream]);
    for (const { id } of rows) ids.add(id);
  }
  return [...ids];
}

/** Returns a delivery to a recipient as tenants and operators see it. */
export function summaryOf(recipient: Recipient, row: Delivery, now: Date): DeliverySummary {
  const isInFlight = row.state === "waiting" && row.leasedUntil && row.leasedUntil >= now;
  return {
    ...recipient,
    eventId: row.id,
    kind: row.kind,
    ...streamNames(row.loan),
    sequence: row.sequence,
    state: isInFlight ? "in_flight" : row.state,
    attempts: row.attempts,
    nextAttemptAt: row.nextAttemptAt,
    lastError: row.lastError,
    replay: row.replay,
    createdAt: row.createdAt,
    settledAt: row.settledAt,
  };
}

const selectDelivery = statement(
  "webhooks.delivery-of-event",
  `select ${deliveryTable.selectList("d")} from webhooks.delivery d where d.lender_id = $1 and d.id = $2`,
);

const selectDetail = statement(
  "webhooks.delivery-detail",
  `select ${deliveryTable.selectList("d")}, e.occurred_at as "occurredAt", e.body, p.url
   from webhooks.delivery d
   join webhooks.event e on e.lender_id = d.lender_id and e.id = d.id
   left join webhooks.endpoint p on p.lender_id = d.lender_id and p.id = d.endpoint_id
   where d.lender_id = $1 and d.id = $2`,
);

const selectEndpointId = statement("webhooks.endpoint-id", `select id from webhooks.endpoint where lender_id = $1`);

const selectEndpointIds = statement(
  "webhooks.endpoint-ids",
  `select id from webhooks.endpoint where lender_id = any ($1)`,
);

const selectIdsOfStream = statement(
  "webhooks.event-ids-of-loan",
  `select id from webhooks.event where lender_id = $1 and source_loan_number = $2`,
);

// An attempt is later than its delivery, except for the difference between the clocks of two processes. `$3` allows for
// this difference, and keeps PostgreSQL from reading earlier partitions.
export const selectAttempts = statement(
  "webhooks.attempts-of-delivery",
  `select ${attemptTable.selectList("a", LOGGED)}
   from webhooks.attempt a
   where a.lender_id = $1 and a.delivery_id = $2 and a.id >= $3
   order by a.id`,
);
