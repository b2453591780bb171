import { defineEntity, type InferEntity, p } from "@mikro-orm/core";
import { checkEndpoint } from "./endpoint-input.ts";
import { type EntityManager, newId, query, signal, statement, tableOf, type Tx } from "@collections/database";

/** Signals on this channel carry the id of a lender with deliveries that may be due. */
export const WEBHOOKS_CHANNEL = "webhooks";

/**
 * `suspended` after too many failures in a row: events wait until the endpoint answers a ping.
 * contract: Retry and suspension
 */
export type EndpointState = "active" | "suspended";

/** The callback URL of a lender. Each lender has only one for now, but all keys are (lender, endpoint). */
export const EndpointEntity = defineEntity({
  name: "Endpoint",
  schema: "webhooks",
  tableName: "endpoint",
  properties: {
    lenderId: p.uuid().primary(),
    id: p.uuid().primary(),
    /** Null until the lender registers a callback. Events wait until then. */
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
     * The last event from before the recovery. Up to this event, the events of a loan are sent strictly in sequence.
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

/** An endpoint with its backlog. `waiting` counts deliveries that are due, in flight or waiting for a retry. */
export interface EndpointStatus extends Readonly<Pick<Endpoint, (typeof STATUS)[number]>> {
  readonly waiting: number;
  readonly parked: number;
}

/**
 * The lender has no endpoint row. Every lender gets one when it is created, with or without a URL.
 *
 * @example
 * try {
 *   await transaction(em, (tx) => changeEndpoint(tx, { lenderId, url: "https://lender.example/hooks" }));
 * } catch (error) {
 *   if (!(error instanceof EndpointNotFoundError)) throw error;
 *   console.error(error.code, error.lenderId);
 * }
 */
export class EndpointNotFoundError extends Error {
  override readonly name = "EndpointNotFoundError";
  readonly code = "ENDPOINT_NOT_FOUND";
  readonly lenderId: string;

  constructor(lenderId: string) {
    super(`The lender ${lenderId} has no webhook endpoint; call registerEndpoint when the lender is created.`);
    this.lenderId = lenderId;
  }
}

/**
 * Creates the endpoint of a new lender. If `url` is null, its events wait. Check the URL with `checkUrl` of
 * `@collections/outbound` before. Use `upsertEndpoint` if the lender may have an endpoint.
 * @throws InvalidEndpointError
 *
 * @example
 * await registerEndpoint(tx, { lenderId, url: "https://lender.example/hooks" });
 */
export async function registerEndpoint(tx: Tx, endpoint: { lenderId: string; url: string | null }): Promise<void> {
  checkEndpoint(endpoint);
  await query(tx, insertEndpoint, endpointTable.values({ ...endpoint, id: newId() }, REGISTERED));
}

/**
 * Sets or clears the callback URL. Waiting events go to the new URL. A different URL resets the count of failures, and a
 * suspended endpoint is then probed at once.
 * @throws EndpointNotFoundError, InvalidEndpointError
 *
 * @example
 * await changeEndpoint(tx, { lenderId, url: "https://lender.example/hooks/v2" });
 */
export async function changeEndpoint(tx: Tx, endpoint: { lenderId: string; url: string | null }): Promise<void> {
  checkEndpoint(endpoint);
  if (!(await hasChanged(tx, endpoint))) throw new EndpointNotFoundError(endpoint.lenderId);
}

/**
 * Creates the lender's endpoint, or changes its URL as `changeEndpoint` does. Concurrent calls for one lender wait for each
 * other, and the last one decides.
 * @throws InvalidEndpointError
 *
 * @example
 * await upsertEndpoint(tx, { lenderId, url: "https://lender.example/hooks" });
 */
export async function upsertEndpoint(tx: Tx, endpoint: { lenderId: string; url: string | null }): Promise<void> {
  checkEndpoint(endpoint);
  if (await hasChanged(tx, endpoint)) return;
  await query(tx, insertIfNone, endpointTable.values({ ...endpoint, id: newId() }, REGISTERED));
  // If another transaction has just created the endpoint, the insert waited for it and did nothing.
  await hasChanged(tx, endpoint);
}

async function hasChanged(tx: Tx, { lenderId, url }: { lenderId: string; url: string | null }): Promise<boolean> {
  const changed = await query(tx, updateUrl, [lenderId, url]);
  if (changed.length > 0) signal(tx, WEBHOOKS_CHANNEL, lenderId);
  return changed.length > 0;
}

/**
 * Returns the lender's endpoint and its backlog, or undefined if the lender has no endpoint.
 *
 * @example
 * const endpoint = await endpointOf(em, lenderId);
 * if (endpoint?.state === "suspended") console.log(`Suspended since ${endpoint.suspendedAt?.toISOString()}`);
 */
export async function endpointOf(em: EntityManager, lenderId: string): Promise<EndpointStatus | undefined> {
  const [endpoint] = await query<EndpointStatus>(em, selectEndpoint, [lenderId]);
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
