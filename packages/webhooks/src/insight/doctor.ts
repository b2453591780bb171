import { type EntityManager, query, readSnapshot, statement, type Tx } from "@collections/database";
import { diagnoseEndpoint, diagnosePartitions, type WebhookProblem } from "./diagnosis.ts";
import { factsOfEndpoint, selectEndpoints, type EndpointRow } from "./doctor-facts.ts";
import { addressesOfTenant, ALL_ENDPOINTS, type EndpointState, namesIfOnlyNamed } from "../endpoint/endpoint.ts";
import { addressOf } from "../endpoint/address.ts";
import { tenantIdOf } from "../endpoint/old-names.ts";
import { type Recipient, recipientOf } from "../endpoint/recipient.ts";
import type { UndeliveredEvent } from "./backlog.ts";
import { partitionStates } from "../storage/partitions.ts";
import { type DeliveryTotals, holdEvents } from "./verification.ts";

/** The webhooks of one endpoint of a tenant at the time of the check. */
export interface TenantWebhooks extends DeliveryTotals, Recipient {
  readonly url: string | null;
  readonly state: EndpointState;
  readonly suspendedAt: Date | null;
  readonly oldestUndelivered: UndeliveredEvent | null;
}

/**
 * The older name of `TenantWebhooks`.
 *
 * @deprecated Use `TenantWebhooks`. Version 0.2 removes `LenderWebhooks`.
 */
export type LenderWebhooks = TenantWebhooks;

/** The state of the webhooks of one endpoint or of all endpoints, and the problems found. */
export interface WebhookReport {
  /** The time of the report, by the database's clock. */
  readonly at: Date;
  readonly tenants: readonly TenantWebhooks[];
  /** @deprecated Use `tenants`. Version 0.2 removes `lenders`. */
  readonly lenders: readonly TenantWebhooks[];
  /** The problems, in the order of the endpoints. Problems that belong to no tenant come last. */
  readonly problems: readonly WebhookProblem[];
  /**
   * The names of the tenant's endpoints, if the check is of its unnamed endpoint and it has only named ones, which were not
   * checked. Absent otherwise.
   */
  readonly onlyNamed?: readonly string[];
}

/** Which endpoint to check, and a progress callback. */
export interface CheckOptions {
  /** The tenant whose endpoint is checked. Default: all endpoints of all tenants, and the partitions. */
  readonly tenantId?: string | undefined;
  /** The name of the endpoint, or `*` for all endpoints of the tenant. Default: the tenant's unnamed endpoint. */
  readonly endpoint?: string | null | undefined;
  /** @deprecated Use `tenantId`. Version 0.2 removes `lenderId`. */
  readonly lenderId?: string | undefined;
  /** The host's word for a stream, such as `invoice`, for the sentences of the report. Default: `stream`. */
  readonly streamNoun?: string | undefined;
  /** Called before each endpoint is checked. */
  readonly onProgress?: (progress: CheckProgress) => void;
}

/** The endpoint that is checked next, the number of endpoints already checked, and the number of all endpoints. */
export interface CheckProgress extends Recipient {
  readonly done: number;
  readonly of: number;
}

/** The time limit of a query. One query counts all events of a tenant, and no request waits for it. */
const LONG_QUERY_MS = 300_000;

/**
 * Finds work that workers have not done in time, rows that contradict each other, and tenants that get no events. The
 * check changes nothing, and reads one consistent view of the rows. It takes a few seconds per million events.
 *
 * @example
 * const { problems } = await checkWebhooks(em, { tenantId });
 * const faults = problems.filter(({ severity }) => severity === "fault");
 * for (const { code, count, detail } of faults) console.error(code, count, detail);
 */
export async function checkWebhooks(em: EntityManager, options: CheckOptions = {}): Promise<WebhookReport> {
  const { endpoint: name, onProgress, streamNoun = "stream" } = options;
  const tenantId = tenantIdOf(options);
  return readSnapshot(em, async (tx) => {
    await holdEvents(tx);
    await query(tx, allowLongStatements, [String(LONG_QUERY_MS)]);
    const [clock] = await query<{ now: Date }>(tx, selectNow, []);
    const endpoints = await query<EndpointRow>(tx, selectEndpoints, [await addressesToCheck(tx, tenantId, name)]);
    const tenants: TenantWebhooks[] = [];
    const problems: WebhookProblem[] = [];
    for (const [done, endpoint] of endpoints.entries()) {
      const recipient = await recipientOf(tx, endpoint.lenderId);
      onProgress?.({ ...recipient, done, of: endpoints.length });
      const facts = await factsOfEndpoint(tx, endpoint, recipient, { now: clock!.now, timeoutMs: LONG_QUERY_MS });
      const { url, state, suspendedAt } = endpoint;
      const { oldestUndelivered = null, totals } = facts;
      tenants.push({ ...recipient, url, state, suspendedAt, oldestUndelivered, ...totals });
      problems.push(...diagnoseEndpoint(facts, clock!.now, streamNoun));
    }
    if (tenantId === undefined) problems.push(...diagnosePartitions(await partitionStates(tx), clock!.now));
    const isUnnamed = tenantId !== undefined && (name === undefined || name === null);
    const onlyNamed = isUnnamed ? await namesIfOnlyNamed(tx, tenantId) : undefined;
    return { at: clock!.now, tenants, lenders: tenants, problems, ...(onlyNamed && { onlyNamed }) };
  });
}

/** Returns the addresses of the endpoints to check, or null for all endpoints of all tenants. */
async function addressesToCheck(
  tx: Tx,
  tenantId: string | undefined,
  endpoint: string | null | undefined,
): Promise<string[] | null> {
  if (tenantId === undefined) return null;
  return endpoint === ALL_ENDPOINTS ? addressesOfTenant(tx, tenantId) : [addressOf({ tenantId, endpoint })];
}

const allowLongStatements = statement("webhooks.doctor-allow-long", `select set_config('statement_timeout', $1, true)`);

const selectNow = statement("webhooks.doctor-now", `select now() as now`);
