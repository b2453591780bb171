import { deleteJobs, type EntityManager, query, statement, transaction } from "@collections/database";
import { alertQueue } from "../endpoint/alert.ts";
import { unnamedKey } from "../endpoint/endpoint.ts";
import { checkTenantId } from "../endpoint/endpoint-input.ts";

/** The number of rows that one transaction deletes, unless the host sets another number. */
const DEFAULT_BATCH = 5_000;
const MAX_BATCH = 100_000;

/**
 * The numbers of rows (`rows`) and of jobs that mail alerts (`mails`) that a call of `eraseTenant` has deleted. A job is
 * kept for an hour after it is done.
 */
export interface ErasedTenant {
  readonly rows: number;
  readonly mails: number;
}

/**
 * The role may not delete events or attempts, which are append-only for the role that the host works with. Nothing was deleted.
 *
 * @example
 * await eraseTenant(em, tenantId).catch((error: unknown) => {
 *   if (error instanceof EraseNotPermittedError) console.error(error.tables.join(", "));
 *   throw error;
 * });
 */
export class EraseNotPermittedError extends Error {
  override readonly name = "EraseNotPermittedError";
  readonly code = "ERASE_NOT_PERMITTED";
  readonly tables: readonly string[];

  constructor(tables: readonly string[]) {
    super(
      `This role may not delete from ${tables.join(", ")}; call eraseTenant with a database that the role of migrate() has opened.`,
    );
    this.tables = tables;
  }
}

/**
 * Deletes everything of a tenant: its endpoints, events, deliveries, attempts, alerts with their queued mails, and replays. First
 * removes the endpoints, so that no attempt begins any more. Then deletes the rows in batches, each in a transaction of its own.
 * A call that is interrupted can be repeated, and does the rest. Stop emitting events for the tenant before: a later event would
 * be stored again. Other jobs of the tenant that are still queued do nothing. A mail that is being sent is not stopped, and not
 * repeated if it fails.
 * @throws EraseNotPermittedError and InvalidEndpointError, before anything is deleted
 *
 * @example
 * const { rows } = await eraseTenant(em, tenantId);
 * console.log(`${rows} rows deleted`);
 */
export async function eraseTenant(
  em: EntityManager,
  tenantId: string,
  { batch = DEFAULT_BATCH }: { readonly batch?: number } = {},
): Promise<ErasedTenant> {
  checkTenantId(tenantId);
  if (!Number.isInteger(batch) || batch < 1 || batch > MAX_BATCH) {
    throw new RangeError(`batch is ${batch}; expected a whole number from 1 to ${MAX_BATCH}.`);
  }
  await requireRights(em);
  const tenant = tenantId.toLowerCase();
  const addresses = await stopEndpoints(em, tenant);
  let [rows, mails] = [0, 0];
  for (const address of addresses) {
    for (const deleteRows of BATCHES) rows += await deleteAll(em, deleteRows, address, batch);
    // Jobs follow the alerts: without its alert, a job that is enqueued later mails nothing. A job has the id of its tenant.
    if (address === tenant) mails += await deleteJobs(em, alertQueue, { lenderId: tenant });
    // The row of the endpoint is the last one: a repeated call finds the addresses of the tenant in these rows.
    rows += (await query(em, deleteEndpoint, [address])).length;
  }
  return { rows, mails };
}

async function requireRights(em: EntityManager): Promise<void> {
  const tables = await query<{ name: string }>(em, selectForbidden, []);
  if (tables.length > 0) throw new EraseNotPermittedError(tables.map(({ name }) => name));
}

/** Removes the tenant's endpoints, and returns their addresses. The address of the unnamed endpoint is the last one. */
async function stopEndpoints(em: EntityManager, tenantId: string): Promise<string[]> {
  return transaction(em, async (tx) => {
    // Waits for the `emit` calls that have read the endpoints.
    await query(tx, lockTenant, [tenantId]);
    await query(tx, deleteSubscriptions, [tenantId]);
    const named = await query<{ lenderId: string }>(tx, selectNamed, [tenantId]);
    const addresses = [...named.map(({ lenderId }) => lenderId), tenantId];
    for (const address of addresses) await query(tx, stopEndpoint, [address]);
    return addresses;
  });
}

async function deleteAll(em: EntityManager, deleteRows: ReturnType<typeof statement>, address: string, batch: number) {
  let rows = 0;
  for (;;) {
    const deleted = (await query(em, deleteRows, [address, batch])).length;
    rows += deleted;
    if (deleted < batch) return rows;
  }
}

/**
 * The tables with rows of an endpoint, and the key of each table after `lender_id`. Deliveries come first: the result of an attempt
 * that is under way is written only while its delivery exists.
 */
const KEYS = {
  delivery: "id",
  attempt: "id",
  event_without_endpoint: "id",
  event: "id",
  replay_request: "id",
  replay: "id",
  alert: "id",
  let_go: "loan",
} as const;

const BATCHES = Object.entries(KEYS).map(([table, key]) =>
  statement(
    `webhooks.erase-${table.replaceAll("_", "-")}`,
    `delete from webhooks.${table} where lender_id = $1 and ${key} = any (array(
       select ${key} from webhooks.${table} where lender_id = $1 order by ${key} limit $2))
     returning ${key}`,
  ),
);

const TABLES = [...Object.keys(KEYS), "subscription", "endpoint"].map((table) => `('webhooks.${table}')`).join(", ");

const selectForbidden = statement(
  "webhooks.erase-not-permitted",
  `select t.name from (values ${TABLES}) as t (name) where not has_table_privilege(t.name, 'delete')`,
);

const lockTenant = statement("webhooks.erase-lock-tenant", `select pg_advisory_xact_lock(${unnamedKey("$1::uuid")})`);

const deleteSubscriptions = statement(
  "webhooks.erase-subscriptions",
  `delete from webhooks.subscription where lender_id = $1`,
);

const selectNamed = statement(
  "webhooks.erase-named-endpoints",
  `select lender_id as "lenderId" from webhooks.endpoint where tenant_id = $1 order by lender_id`,
);

const stopEndpoint = statement(
  "webhooks.erase-stop-endpoint",
  `update webhooks.endpoint set url = null, removed_at = now(), updated_at = now() where lender_id = $1`,
);

const deleteEndpoint = statement(
  "webhooks.erase-endpoint",
  `delete from webhooks.endpoint where lender_id = $1 returning id`,
);
