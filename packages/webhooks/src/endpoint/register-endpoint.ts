import { newId, query, send, signal, statement, type Tx } from "@collections/database";
import { addressOfNamed } from "./address.ts";
import {
  type Endpoint,
  EndpointNotFoundError,
  endpointTable,
  isRegistered,
  namesIfOnlyNamed,
  unnamedKey,
  WEBHOOKS_CHANNEL,
} from "./endpoint.ts";
import { checkEndpoint, checkTopics, InvalidEndpointError } from "./endpoint-input.ts";
import { type OfTenant, tenantIdOf } from "./old-names.ts";

/** The unnamed endpoint of a tenant, which receives every event. */
export type EndpointToRegister = OfTenant & { readonly url: string | null };

/** An endpoint of a tenant: its unnamed endpoint, or a named one. */
export type NamedEndpointToRegister = EndpointToRegister & {
  /** 1 to 60 characters of a-z, 0-9, `-` and `_`. Default: the unnamed endpoint. */
  readonly name?: string | undefined;
  /**
   * The kinds of events that a named endpoint receives, 1 to 100: an exact kind, such as `invoice.paid`; all kinds with
   * a prefix, such as `invoice.*`; or all kinds, `*`. Default: `["*"]` for a new endpoint, and no change for an
   * existing one.
   */
  readonly topics?: readonly string[] | undefined;
};

/**
 * Creates the unnamed endpoint of a new tenant. If `url` is null, its events wait. Check the URL with `checkUrl` of
 * `@collections/outbound` before. Use `upsertEndpoint` if the tenant may have an endpoint, and for named endpoints.
 * @throws InvalidEndpointError
 *
 * @example
 * await registerEndpoint(tx, { tenantId, url: "https://acme.example/hooks" });
 */
export async function registerEndpoint(tx: Tx, endpoint: EndpointToRegister): Promise<void> {
  const { lenderId, url, name } = checked(endpoint);
  if (name !== undefined) {
    throw new InvalidEndpointError("NAME_INVALID", "registerEndpoint takes no name: use upsertEndpoint.");
  }
  send(tx, lockEndpoints, [lenderId]);
  await query(tx, insertEndpoint, endpointTable.values({ lenderId, url, id: newId() }, REGISTERED));
  send(tx, noteNamed, [lenderId]);
}

/**
 * Sets or clears the callback URL of an endpoint, and changes the topics of a named one. Waiting events go to the new URL. A
 * different URL resets the count of failures, and a suspended endpoint is then probed at once.
 * @throws EndpointNotFoundError, InvalidEndpointError
 *
 * @example
 * await changeEndpoint(tx, { tenantId, url: "https://acme.example/hooks/v2" });
 * await changeEndpoint(tx, { tenantId, name: "crm", url: "https://crm.example/hooks", topics: ["invoice.*"] });
 */
export async function changeEndpoint(tx: Tx, endpoint: NamedEndpointToRegister): Promise<void> {
  const row = checked(endpoint);
  const { tenantId, name, topics } = row;
  if (name !== undefined) {
    await query(tx, lockEndpoints, [tenantId]);
    const changed = await query(tx, changeTopics, [tenantId, row.lenderId, topics ?? null]);
    if (changed.length === 0) throw new EndpointNotFoundError(tenantId, name);
  }
  if (await hasChanged(tx, row, { evenRemoved: false })) return;
  throw new EndpointNotFoundError(tenantId, name, await namesIfOnlyNamed(tx, tenantId));
}

/**
 * Creates an endpoint, or changes its URL and topics as `changeEndpoint` does. A tenant has at most one endpoint without a
 * name, which receives every event. A named endpoint receives the events of its topics, from the next `emit` on. Each
 * endpoint has its own numbers, backlog and suspension. Concurrent calls for one endpoint wait for each other, and the last
 * one decides.
 * @throws InvalidEndpointError
 *
 * @example
 * await upsertEndpoint(tx, { tenantId, url: "https://acme.example/hooks" });
 * const topics = ["invoice.*", "payment.received"];
 * await upsertEndpoint(tx, { tenantId, name: "crm", url: "https://crm.example/hooks", topics });
 */
export async function upsertEndpoint(tx: Tx, endpoint: NamedEndpointToRegister): Promise<void> {
  const row = checked(endpoint);
  if (row.name !== undefined) await upsertNamed(tx, { ...row, name: row.name });
  else if (!(await hasChanged(tx, row, { evenRemoved: true }))) {
    send(tx, lockEndpoints, [row.tenantId]);
    await query(tx, insertIfNone, endpointTable.values({ ...row, id: newId() }, REGISTERED));
    send(tx, noteNamed, [row.tenantId]);
    // If another transaction has just created the endpoint, the insert waited for it and did nothing.
    await hasChanged(tx, row, { evenRemoved: true });
  }
}

/**
 * Removes an endpoint: it receives no further events. `name: null` removes the unnamed endpoint. The waiting events are parked,
 * and the endpoint's replays are cancelled. If the endpoint is registered again with `upsertEndpoint`, a replay sends the parked
 * events, and the numbers of new events continue. An attempt that is under way still records its result; if it fails, its event
 * waits until the endpoint is registered again. Returns false if there is no such endpoint.
 * @throws InvalidEndpointError
 *
 * @example
 * const wasRegistered = await transaction(em, (tx) => removeEndpoint(tx, { tenantId, name: "crm" }));
 * for (const { name } of await listEndpoints(em, tenantId)) {
 *   await transaction(em, (tx) => removeEndpoint(tx, { tenantId, name }));
 * }
 */
export async function removeEndpoint(
  tx: Tx,
  { tenantId: givenId, name }: { readonly tenantId: string; readonly name: string | null },
): Promise<boolean> {
  checkEndpoint({ tenantId: givenId, url: null });
  const tenantId = givenId.toLowerCase();
  const [removed] = name === null ? await removeUnnamed(tx, tenantId) : await removeNamed(tx, tenantId, name);
  if (removed === undefined) return false;
  const { lenderId, id } = removed;
  // Waits for a step of a replay that is under way. The step's deliveries are then waiting, and are parked with the others.
  await query(tx, cancelReplays, [lenderId]);
  await query(tx, parkWaiting, [lenderId, id]);
  return true;
}

async function removeUnnamed(tx: Tx, tenantId: string): Promise<Pick<Endpoint, "lenderId" | "id">[]> {
  await query(tx, lockUnnamed, [tenantId]);
  return query(tx, markRemoved, [tenantId]);
}

async function removeNamed(tx: Tx, tenantId: string, name: string): Promise<Pick<Endpoint, "lenderId" | "id">[]> {
  const lenderId = addressOfNamed(tenantId, name);
  await query(tx, lockEndpoints, [tenantId]);
  const removed = await query(tx, unsubscribe, [tenantId, lenderId]);
  if (removed.length === 0) return [];
  await query(tx, updateUrl, [lenderId, null, true]);
  send(tx, noteNamed, [tenantId]);
  return [{ lenderId, id: lenderId }];
}

/** An endpoint whose fields are valid. `lenderId` is its address. */
interface CheckedEndpoint extends Pick<Endpoint, "lenderId" | "url"> {
  readonly tenantId: string;
  readonly name: string | undefined;
  readonly topics: readonly string[] | undefined;
}

function checked(endpoint: NamedEndpointToRegister): CheckedEndpoint {
  const { url, name, topics } = endpoint;
  const givenId = tenantIdOf(endpoint);
  checkEndpoint({ tenantId: givenId, url });
  const tenantId = givenId.toLowerCase();
  if (topics !== undefined) checkTopics(topics);
  if (name !== undefined) return { tenantId, lenderId: addressOfNamed(tenantId, name), url, name, topics };
  if (topics === undefined) return { tenantId, lenderId: tenantId, url, name, topics };
  throw new InvalidEndpointError("TOPICS_INVALID", "topics need a name: the unnamed endpoint receives every event.");
}

async function upsertNamed(tx: Tx, row: CheckedEndpoint & { readonly name: string }): Promise<void> {
  const { lenderId, tenantId, name, topics } = row;
  await query(tx, lockEndpoints, [tenantId]);
  if (!(await hasChanged(tx, row, { evenRemoved: true }))) {
    await query(tx, insertNamed, endpointTable.values({ ...row, id: lenderId }, REGISTERED_NAMED));
  }
  await query(tx, subscribe, [tenantId, lenderId, name, topics ?? null]);
  send(tx, noteNamed, [tenantId]);
}

/** Sets the URL of an endpoint, and with `evenRemoved` registers a removed unnamed endpoint again. */
async function hasChanged(
  tx: Tx,
  { lenderId, url }: Pick<Endpoint, "lenderId" | "url">,
  { evenRemoved }: { readonly evenRemoved: boolean },
): Promise<boolean> {
  const changed = await query(tx, updateUrl, [lenderId, url, evenRemoved]);
  if (changed.length > 0) signal(tx, WEBHOOKS_CHANNEL, lenderId);
  return changed.length > 0;
}

const REGISTERED = ["lenderId", "id", "url"] as const;
const REGISTERED_NAMED = [...REGISTERED, "tenantId", "name"] as const;

// Without this lock, two transactions that create the unnamed and a named endpoint at the same time would not see each
// other's rows. `has_named` would then stay false.
const lockEndpoints = statement(
  "webhooks.lock-endpoints",
  `select pg_advisory_xact_lock(hashtextextended('webhooks.endpoints/' || $1::uuid::text, 0))`,
);

// Waits for the `emit` calls that have read the endpoint, see "webhooks.hold-unnamed-endpoints".
const lockUnnamed = statement(
  "webhooks.lock-unnamed-endpoint",
  `select pg_advisory_xact_lock(${unnamedKey("$1::uuid")})`,
);

const markRemoved = statement(
  "webhooks.remove-unnamed-endpoint",
  `update webhooks.endpoint e
   set url = null, removed_at = now(), updated_at = now(), consecutive_failures = 0, failing_since = null
   where e.lender_id = $1 and ${isRegistered("e")}
   returning e.lender_id as "lenderId", e.id`,
);

// Records in `has_named` whether the tenant has named endpoints. `emit` with the option `trusted` reads this column
// instead of the subscriptions.
const noteNamed = statement(
  "webhooks.note-named-endpoints",
  `update webhooks.endpoint e
   set has_named = not e.has_named
   where e.lender_id = $1 and e.has_named <> exists (select 1 from webhooks.subscription s where s.lender_id = $1)`,
);

const insertNamed = statement(
  "webhooks.register-named-endpoint",
  `insert into ${endpointTable.name} (${endpointTable.columnList(REGISTERED_NAMED)})
   values (${endpointTable.parameterList(REGISTERED_NAMED)})`,
);

const subscribe = statement(
  "webhooks.subscribe",
  `insert into webhooks.subscription as s (lender_id, id, name, topics)
   values ($1, $2, $3, coalesce($4::text[], '{*}'))
   on conflict (lender_id, id) do update set topics = coalesce($4::text[], s.topics)`,
);

const changeTopics = statement(
  "webhooks.change-topics",
  `update webhooks.subscription s set topics = coalesce($3::text[], s.topics)
   where s.lender_id = $1 and s.id = $2
   returning s.id`,
);

const unsubscribe = statement(
  "webhooks.unsubscribe",
  `delete from webhooks.subscription where lender_id = $1 and id = $2 returning id`,
);

// A delivery in flight keeps its lease, so that its result is still accepted. The two sub-selects use the partial
// indexes. A single condition on both states would also read the deliveries that were delivered.
const parkWaiting = statement(
  "webhooks.park-waiting",
  `with undelivered as materialized (
     (select d.id from webhooks.delivery d where d.lender_id = $1 and d.endpoint_id = $2 and d.state = 'waiting'
      order by d.loan, d.sequence)
     union all
     (select d.id from webhooks.delivery d where d.lender_id = $1 and d.endpoint_id = $2 and d.state = 'retrying'
      order by d.loan, d.sequence)
   )
   update webhooks.delivery d set state = 'parked', next_attempt_at = null, settled_at = now()
   where d.lender_id = $1 and d.id = any (array(select id from undelivered)) and d.state in ('waiting', 'retrying')`,
);

const cancelReplays = statement(
  "webhooks.cancel-replays",
  `update webhooks.replay set state = 'cancelled', finished_at = now() where lender_id = $1 and state = 'running'`,
);

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

// The time is computed in a WITH, because Citus refuses now() within CASE in SET.
const updateUrl = statement(
  "webhooks.change-endpoint",
  `with clock as materialized (select now() as now)
   update webhooks.endpoint e
   set url = $2, updated_at = clock.now, removed_at = null,
       consecutive_failures = case when e.url is distinct from $2 then 0 else e.consecutive_failures end,
       failing_since = case when e.url is distinct from $2 then null else e.failing_since end,
       next_probe_at = case when e.url is distinct from $2 and e.state = 'suspended' then clock.now else e.next_probe_at end
   from clock
   where e.lender_id = $1 and ($3::boolean or ${isRegistered("e")})
   returning e.id`,
);
