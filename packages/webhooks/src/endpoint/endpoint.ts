import { addressOf, type EndpointRef } from "./address.ts";
import { checkTenantId } from "./endpoint-input.ts";
import { subscriptionsOf } from "./subscription.ts";
import { type EntityManager, query, statement, defineTable } from "@collections/database";

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
export interface Endpoint {
  lenderId: string;
  id: string;
  /** Null until the tenant registers a callback. Events wait until then. */
  url: string | null;
  state: EndpointState;
  /** Failed attempts since the last 2xx, over all deliveries. Faults of our own network do not count. */
  consecutiveFailures: number;
  /** When the first of the consecutive failures was recorded. */
  failingSince: Date | null;
  /** No paced attempt begins before this time. It has no meaning while too few attempts in a row have failed. */
  pacedUntil: Date | null;
  suspendedAt: Date | null;
  nextProbeAt: Date | null;
  /** The time of the latest probe of this suspension. `probeError` is the reason why this probe failed. */
  probedAt: Date | null;
  probeError: string | null;
  /** The end of the last suspension. */
  recoveredAt: Date | null;
  /**
   * The last event from before the recovery. Up to this event, the events of a stream are sent strictly in sequence.
   */
  drainTo: string | null;
  /** The tenant and the name of a named endpoint. Null for an unnamed endpoint. */
  tenantId: string | null;
  name: string | null;
  /** When this unnamed endpoint was removed. Null while it is registered, and for a named endpoint. */
  removedAt: Date | null;
  /** Whether the tenant of this unnamed endpoint has named endpoints too. */
  hasNamed: boolean;
  createdAt: Date;
  /** When the endpoint was last registered, suspended, probed or recovered. */
  updatedAt: Date;
}

export const endpointTable = defineTable<Endpoint>("webhooks.endpoint", {
  lenderId: "uuid",
  id: "uuid",
  url: "text null",
  state: "text",
  consecutiveFailures: "integer",
  failingSince: "timestamptz null",
  pacedUntil: "timestamptz null",
  suspendedAt: "timestamptz null",
  nextProbeAt: "timestamptz null",
  probedAt: "timestamptz null",
  probeError: "text null",
  recoveredAt: "timestamptz null",
  drainTo: "uuid null",
  tenantId: "uuid null",
  name: "text null",
  removedAt: "timestamptz null",
  hasNamed: "boolean",
  createdAt: "timestamptz",
  updatedAt: "timestamptz",
});

/**
 * Returns an SQL condition: the endpoint is registered, if it is unnamed. A process of the previous version registers a removed
 * endpoint again by its URL alone.
 */
export function isRegistered(alias: string): string {
  return `(${alias}.url is not null or ${alias}.removed_at is null)`;
}

/** Returns SQL for the key of the lock that guards the removal of a tenant's unnamed endpoint. */
export function unnamedKey(tenantId: string): string {
  return `hashtextextended('webhooks.unnamed-endpoint/' || ${tenantId}::text, 0)`;
}

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

  /** `named` has the names of the tenant's endpoints, if it has only named ones. */
  constructor(tenantId: string, endpoint?: string, named: readonly string[] = []) {
    super(notFoundText(tenantId, endpoint, named));
    this.tenantId = tenantId;
    this.lenderId = tenantId;
    this.endpoint = endpoint;
  }
}

function notFoundText(tenantId: string, endpoint: string | undefined, named: readonly string[]): string {
  if (endpoint !== undefined) {
    return `The tenant ${tenantId} has no webhook endpoint "${endpoint}"; register it with upsertEndpoint.`;
  }
  if (named.length > 0) {
    const names = named.map((name) => JSON.stringify(name)).join(", ");
    return `The tenant ${tenantId} has no unnamed webhook endpoint, only ${names}; pass { tenantId, endpoint: ${JSON.stringify(named[0])} }.`;
  }
  return `The tenant ${tenantId} has no webhook endpoint; register one with upsertEndpoint(tx, { tenantId, url }). Pass null as url if it has no URL yet.`;
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

/** The value of `endpoint` that stands for all endpoints of a tenant. No endpoint can have it as its name. */
export const ALL_ENDPOINTS = "*";

/** Returns the addresses of a tenant's unnamed endpoint, registered or not, and of its named endpoints. */
export async function addressesOfTenant(em: EntityManager, tenantId: string): Promise<string[]> {
  checkTenantId(tenantId);
  return [tenantId, ...(await subscriptionsOf(em, tenantId)).map(({ id }) => id)];
}

/** Returns the names of a tenant's endpoints if it has only named ones, and undefined otherwise. */
export async function namesIfOnlyNamed(em: EntityManager, tenantId: string): Promise<readonly string[] | undefined> {
  const rows = await query<{ name: string }>(em, selectOnlyNamed, [tenantId]);
  return rows.length === 0 ? undefined : rows.map(({ name }) => name);
}

const selectOnlyNamed = statement(
  "webhooks.only-named-endpoints",
  `select s.name from webhooks.subscription s
   where s.lender_id = $1
     and not exists (select 1 from webhooks.endpoint e where e.lender_id = $1 and ${isRegistered("e")})
   order by s.name`,
);

/** The query of an endpoint with its backlog; $1 is the endpoint's address. */
export const ENDPOINT_STATUS = `select ${endpointTable.selectList("e", STATUS)},
     ((select count(*) from webhooks.delivery d where d.lender_id = $1 and d.endpoint_id = e.id and d.state = 'waiting')
       + (select count(*) from webhooks.delivery d where d.lender_id = $1 and d.endpoint_id = e.id and d.state = 'retrying')
     )::int as waiting,
     (select count(*)::int from webhooks.delivery d
       where d.lender_id = $1 and d.endpoint_id = e.id and d.state = 'parked') as parked
   from webhooks.endpoint e
   where e.lender_id = $1 and ${isRegistered("e")}`;

const selectEndpoint = statement("webhooks.endpoint-status", ENDPOINT_STATUS);
