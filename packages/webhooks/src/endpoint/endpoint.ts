import { defineEntity, type InferEntity, p } from "@mikro-orm/core";
import { addressOf, type EndpointRef } from "./address.ts";
import { subscriptionsOf } from "./subscription.ts";
import { type EntityManager, query, statement, tableOf } from "@collections/database";

/** Signals on this channel carry the address of an endpoint with deliveries that may be due. */
export const WEBHOOKS_CHANNEL = "webhooks";

/**
 * `suspended` after too many failures in a row: events wait until the endpoint answers a ping.
 * contract: Retry and suspension
 */
export type EndpointState = "active" | "suspended";

/**
 * A callback URL of a tenant. `lenderId` is the address of the endpoint: the tenant's id for the unnamed endpoint, and
 * a derived UUID for a named endpoint. So `lenderId` alone identifies the endpoint.
 */
export const EndpointEntity = defineEntity({
  name: "Endpoint",
  schema: "webhooks",
  tableName: "endpoint",
  properties: {
    lenderId: p.uuid().primary(),
    id: p.uuid().primary(),
    /** Null until the tenant registers a callback. Events wait until then. */
    url: p.text().strictNullable(),
    state: p.text().$type<EndpointState>(),
    /** Failed attempts since the last 2xx, over all deliveries. Faults of our own network do not count. */
    consecutiveFailures: p.integer(),
    /** When the first of the consecutive failures was recorded. */
    failingSince: p.datetime().columnType("timestamptz").strictNullable(),
    /** No paced attempt begins before this time. It has no meaning while too few attempts in a row have failed. */
    pacedUntil: p.datetime().columnType("timestamptz").strictNullable(),
    suspendedAt: p.datetime().columnType("timestamptz").strictNullable(),
    nextProbeAt: p.datetime().columnType("timestamptz").strictNullable(),
    /** The time of the latest probe of this suspension. `probeError` is the reason why this probe failed. */
    probedAt: p.datetime().columnType("timestamptz").strictNullable(),
    probeError: p.text().strictNullable(),
    /** The end of the last suspension. */
    recoveredAt: p.datetime().columnType("timestamptz").strictNullable(),
    /**
     * The last event from before the recovery. Up to this event, the events of a stream are sent strictly in sequence.
     */
    drainTo: p.uuid().strictNullable(),
    /** The tenant and the name of a named endpoint. Null for an unnamed endpoint. */
    tenantId: p.uuid().strictNullable(),
    name: p.text().strictNullable(),
    /** Whether the tenant of this unnamed endpoint has named endpoints too. */
    hasNamed: p.boolean(),
    createdAt: p.datetime().columnType("timestamptz"),
    /** When the endpoint was last registered, suspended, probed or recovered. */
    updatedAt: p.datetime().columnType("timestamptz"),
  },
});

export type Endpoint = InferEntity<typeof EndpointEntity>;

export const endpointTable = tableOf(EndpointEntity);

const STATUS = [
  "url",
  "state",
  "consecutiveFailures",
  "failingSince",
  "suspendedAt",
  "nextProbeAt",
  "probedAt",
  "probeError",
  "recoveredAt",
] as const;

/** An endpoint in a list: its name, or null for the unnamed endpoint, and its topics. */
export interface ListedEndpoint extends EndpointStatus {
  readonly name: string | null;
  readonly topics: readonly string[];
}

/** An endpoint with its backlog. `waiting` counts deliveries that are due, in flight or waiting for a retry. */
export interface EndpointStatus extends Readonly<Pick<Endpoint, (typeof STATUS)[number]>> {
  readonly waiting: number;
  readonly parked: number;
}

/**
 * The tenant has no endpoint, or none of this name.
 *
 * @example
 * try {
 *   await transaction(em, (tx) => changeEndpoint(tx, { tenantId, url: "https://acme.example/hooks" }));
 * } catch (error) {
 *   if (!(error instanceof EndpointNotFoundError)) throw error;
 *   console.error(error.code, error.tenantId);
 * }
 */
export class EndpointNotFoundError extends Error {
  override readonly name = "EndpointNotFoundError";
  readonly code = "ENDPOINT_NOT_FOUND";
  readonly tenantId: string;
  /** @deprecated Use `tenantId`. Version 0.2 removes `lenderId`. */
  readonly lenderId: string;

  /** The name of the endpoint. Undefined for the unnamed endpoint. */
  readonly endpoint: string | undefined;

  constructor(tenantId: string, endpoint?: string) {
    super(
      endpoint === undefined
        ? `The tenant ${tenantId} has no webhook endpoint; register one with upsertEndpoint(tx, { tenantId, url }). Pass null as url if it has no URL yet.`
        : `The tenant ${tenantId} has no webhook endpoint "${endpoint}"; register it with upsertEndpoint.`,
    );
    this.tenantId = tenantId;
    this.lenderId = tenantId;
    this.endpoint = endpoint;
  }
}

/**
 * Returns an endpoint and its backlog, or undefined if the tenant has no such endpoint.
 *
 * @example
 * const endpoint = await endpointOf(em, tenantId);
 * if (endpoint?.state === "suspended") console.log(`Suspended since ${endpoint.suspendedAt?.toISOString()}`);
 * const crm = await endpointOf(em, { tenantId, endpoint: "crm" });
 */
export async function endpointOf(em: EntityManager, recipient: EndpointRef): Promise<EndpointStatus | undefined> {
  const address = addressOf(recipient);
  const [endpoint] = await query<EndpointStatus>(em, selectEndpoint, [address]);
  if (endpoint === undefined || typeof recipient === "string" || address === recipient.tenantId) return endpoint;
  // The row of a removed endpoint is kept, because its events are kept. Only its subscription is deleted.
  const registered = await subscriptionsOf(em, recipient.tenantId);
  return registered.some(({ id }) => id === address) ? endpoint : undefined;
}

/**
 * Returns the endpoints of a tenant with their backlogs: the unnamed one first, and then the named ones by name.
 *
 * @example
 * for (const { name, topics, url, waiting } of await listEndpoints(em, tenantId)) {
 *   console.log(name ?? "(unnamed)", topics.join(", "), url, waiting);
 * }
 */
export async function listEndpoints(em: EntityManager, tenantId: string): Promise<ListedEndpoint[]> {
  const unnamed = { id: tenantId, name: null, topics: ["*"] };
  const listed: ListedEndpoint[] = [];
  for (const { id, name, topics } of [unnamed, ...(await subscriptionsOf(em, tenantId))]) {
    const [status] = await query<EndpointStatus>(em, selectEndpoint, [id]);
    if (status) listed.push({ name, topics, ...status });
  }
  return listed;
}

/** The query of an endpoint with its backlog; $1 is the endpoint's address. */
export const ENDPOINT_STATUS = `select ${endpointTable.selectList("e", STATUS)},
     ((select count(*) from webhooks.delivery d where d.lender_id = $1 and d.endpoint_id = e.id and d.state = 'waiting')
       + (select count(*) from webhooks.delivery d where d.lender_id = $1 and d.endpoint_id = e.id and d.state = 'retrying')
     )::int as waiting,
     (select count(*)::int from webhooks.delivery d
       where d.lender_id = $1 and d.endpoint_id = e.id and d.state = 'parked') as parked
   from webhooks.endpoint e
   where e.lender_id = $1`;

const selectEndpoint = statement("webhooks.endpoint-status", ENDPOINT_STATUS);
