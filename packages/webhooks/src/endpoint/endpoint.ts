import { defineEntity, type InferEntity, p } from "@mikro-orm/core";
import { checkEndpoint } from "./endpoint-input.ts";
import { type OfTenant, tenantIdOf } from "./old-names.ts";
import { type EntityManager, newId, query, signal, statement, tableOf, type Tx } from "@collections/database";

/** Signals on this channel carry the id of a tenant with deliveries that may be due. */
export const WEBHOOKS_CHANNEL = "webhooks";

/**
 * `suspended` after too many failures in a row: events wait until the endpoint answers a ping.
 * contract: Retry and suspension
 */
export type EndpointState = "active" | "suspended";

/** The callback URL of a tenant. Each tenant has only one for now, but all keys are (tenant, endpoint). */
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
    /** When the first of these failures was recorded. */
    failingSince: p.datetime().columnType("timestamptz").strictNullable(),
    suspendedAt: p.datetime().columnType("timestamptz").strictNullable(),
    nextProbeAt: p.datetime().columnType("timestamptz").strictNullable(),
    /** The latest probe of this suspension, and why it failed. No error means that it passed. */
    probedAt: p.datetime().columnType("timestamptz").strictNullable(),
    probeError: p.text().strictNullable(),
    /** The end of the last suspension. */
    recoveredAt: p.datetime().columnType("timestamptz").strictNullable(),
    /**
     * The last event from before the recovery. Up to this event, the events of a stream are sent strictly in sequence.
     */
    drainTo: p.uuid().strictNullable(),
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

/** A tenant's endpoint to register, or its new URL. */
export type EndpointToRegister = OfTenant & { readonly url: string | null };

/** An endpoint with its backlog. `waiting` counts deliveries that are due, in flight or waiting for a retry. */
export interface EndpointStatus extends Readonly<Pick<Endpoint, (typeof STATUS)[number]>> {
  readonly waiting: number;
  readonly parked: number;
}

/**
 * The tenant has no endpoint row. Every tenant gets one when it is created, with or without a URL.
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

  constructor(tenantId: string) {
    super(`The tenant ${tenantId} has no webhook endpoint; call registerEndpoint when the tenant is created.`);
    this.tenantId = tenantId;
    this.lenderId = tenantId;
  }
}

/**
 * Creates the endpoint of a new tenant. If `url` is null, its events wait. Check the URL with `checkUrl` of
 * `@collections/outbound` before. Use `upsertEndpoint` if the tenant may have an endpoint.
 * @throws InvalidEndpointError
 *
 * @example
 * await registerEndpoint(tx, { tenantId, url: "https://acme.example/hooks" });
 */
export async function registerEndpoint(tx: Tx, endpoint: EndpointToRegister): Promise<void> {
  await query(tx, insertEndpoint, endpointTable.values({ ...checked(endpoint), id: newId() }, REGISTERED));
}

/**
 * Sets or clears the callback URL. Waiting events go to the new URL. A different URL resets the count of failures, and a
 * suspended endpoint is then probed at once.
 * @throws EndpointNotFoundError, InvalidEndpointError
 *
 * @example
 * await changeEndpoint(tx, { tenantId, url: "https://acme.example/hooks/v2" });
 */
export async function changeEndpoint(tx: Tx, endpoint: EndpointToRegister): Promise<void> {
  const row = checked(endpoint);
  if (!(await hasChanged(tx, row))) throw new EndpointNotFoundError(row.lenderId);
}

/**
 * Creates the tenant's endpoint, or changes its URL as `changeEndpoint` does. Concurrent calls for one tenant wait for each
 * other, and the last one decides.
 * @throws InvalidEndpointError
 *
 * @example
 * await upsertEndpoint(tx, { tenantId, url: "https://acme.example/hooks" });
 */
export async function upsertEndpoint(tx: Tx, endpoint: EndpointToRegister): Promise<void> {
  const row = checked(endpoint);
  if (await hasChanged(tx, row)) return;
  await query(tx, insertIfNone, endpointTable.values({ ...row, id: newId() }, REGISTERED));
  // If another transaction has just created the endpoint, the insert waited for it and did nothing.
  await hasChanged(tx, row);
}

/** The columns of an endpoint that its caller sets. */
type EndpointColumns = Pick<Endpoint, "lenderId" | "url">;

function checked(endpoint: EndpointToRegister): EndpointColumns {
  const [tenantId, { url }] = [tenantIdOf(endpoint), endpoint];
  checkEndpoint({ tenantId, url });
  return { lenderId: tenantId, url };
}

async function hasChanged(tx: Tx, { lenderId, url }: EndpointColumns): Promise<boolean> {
  const changed = await query(tx, updateUrl, [lenderId, url]);
  if (changed.length > 0) signal(tx, WEBHOOKS_CHANNEL, lenderId);
  return changed.length > 0;
}

/**
 * Returns the tenant's endpoint and its backlog, or undefined if the tenant has no endpoint.
 *
 * @example
 * const endpoint = await endpointOf(em, tenantId);
 * if (endpoint?.state === "suspended") console.log(`Suspended since ${endpoint.suspendedAt?.toISOString()}`);
 */
export async function endpointOf(em: EntityManager, tenantId: string): Promise<EndpointStatus | undefined> {
  const [endpoint] = await query<EndpointStatus>(em, selectEndpoint, [tenantId]);
  return endpoint;
}

const REGISTERED = ["lenderId", "id", "url"] as const;

const insertEndpoint = statement(
  "webhooks.register-endpoint",
  `insert into ${endpointTable.name} (${endpointTable.columnList(REGISTERED)})
   values (${endpointTable.parameterList(REGISTERED)})`,
);

const insertIfNone = statement(
  "webhooks.register-endpoint-if-none",
  `insert into ${endpointTable.name} (${endpointTable.columnList(REGISTERED)})
   values (${endpointTable.parameterList(REGISTERED)})
   on conflict (lender_id) do nothing`,
);

// Citus refuses now() within CASE in SET, and accepts it in a WITH.
const updateUrl = statement(
  "webhooks.change-endpoint",
  `with clock as materialized (select now() as now)
   update webhooks.endpoint e
   set url = $2, updated_at = clock.now,
       consecutive_failures = case when e.url is distinct from $2 then 0 else e.consecutive_failures end,
       failing_since = case when e.url is distinct from $2 then null else e.failing_since end,
       next_probe_at = case when e.url is distinct from $2 and e.state = 'suspended' then clock.now else e.next_probe_at end
   from clock
   where e.lender_id = $1
   returning e.id`,
);

const selectEndpoint = statement(
  "webhooks.endpoint-status",
  `select ${endpointTable.selectList("e", STATUS)},
     ((select count(*) from webhooks.delivery d where d.lender_id = $1 and d.endpoint_id = e.id and d.state = 'waiting')
       + (select count(*) from webhooks.delivery d where d.lender_id = $1 and d.endpoint_id = e.id and d.state = 'retrying')
     )::int as waiting,
     (select count(*)::int from webhooks.delivery d
       where d.lender_id = $1 and d.endpoint_id = e.id and d.state = 'parked') as parked
   from webhooks.endpoint e
   where e.lender_id = $1`,
);
