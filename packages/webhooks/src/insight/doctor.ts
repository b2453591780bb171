import { type EntityManager, query, readSnapshot, statement } from "@collections/database";
import { diagnoseEndpoint, diagnosePartitions, type WebhookProblem } from "./diagnosis.ts";
import { factsOfEndpoint, selectEndpoints, type EndpointRow } from "./doctor-facts.ts";
import type { EndpointState } from "../endpoint/endpoint.ts";
import { tenantIdOf, type TenantNames, tenantNames } from "../endpoint/old-names.ts";
import type { UndeliveredEvent } from "./backlog.ts";
import { partitionStates } from "../storage/partitions.ts";
import { type DeliveryTotals, holdEvents } from "./verification.ts";

/** One tenant's webhooks at the time of the check. */
export interface TenantWebhooks extends DeliveryTotals, TenantNames {
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

/** The state of the webhooks of one tenant or of all tenants, and the problems found. */
export interface WebhookReport {
  /** The time of the report, by the database's clock. */
  readonly at: Date;
  readonly tenants: readonly TenantWebhooks[];
  /** @deprecated Use `tenants`. Version 0.2 removes `lenders`. */
  readonly lenders: readonly TenantWebhooks[];
  /** The problems of each tenant in turn, then those that belong to no tenant. */
  readonly problems: readonly WebhookProblem[];
}

/** Which tenant to check, and a progress callback. */
export interface CheckOptions {
  /** Default: all tenants. Partitions are checked only for all tenants. */
  readonly tenantId?: string | undefined;
  /** @deprecated Use `tenantId`. Version 0.2 removes `lenderId`. */
  readonly lenderId?: string | undefined;
  /** The host's word for a stream, such as `invoice`, for the sentences of the report. Default: `stream`. */
  readonly streamNoun?: string | undefined;
  /** Called before each tenant. */
  readonly onProgress?: (progress: CheckProgress) => void;
}

/** The tenant that is checked next, how many are done, and how many there are. */
export interface CheckProgress extends TenantNames {
  readonly done: number;
  readonly of: number;
}

/** The time limit of a query. One query counts all events of a tenant, and no request waits for it. */
const LONG_QUERY_MS = 300_000;

/**
 * Finds work that workers have not done in time, rows that contradict each other, and tenants that get no events. It
 * changes nothing, and reads one consistent view of the rows. Takes a few seconds per million events.
 *
 * @example
 * const { problems } = await checkWebhooks(em, { tenantId });
 * const faults = problems.filter(({ severity }) => severity === "fault");
 * for (const { code, count, detail } of faults) console.error(code, count, detail);
 */
export async function checkWebhooks(em: EntityManager, options: CheckOptions = {}): Promise<WebhookReport> {
  const { onProgress, streamNoun = "stream" } = options;
  const tenantId = tenantIdOf(options);
  return readSnapshot(em, async (tx) => {
    await holdEvents(tx);
    await query(tx, allowLongStatements, [String(LONG_QUERY_MS)]);
    const [clock] = await query<{ now: Date }>(tx, selectNow, []);
    const endpoints = await query<EndpointRow>(tx, selectEndpoints, [tenantId ?? null]);
    const tenants: TenantWebhooks[] = [];
    const problems: WebhookProblem[] = [];
    for (const [done, endpoint] of endpoints.entries()) {
      onProgress?.({ ...tenantNames(endpoint.lenderId), done, of: endpoints.length });
      const facts = await factsOfEndpoint(tx, endpoint, LONG_QUERY_MS);
      const { url, state, suspendedAt } = endpoint;
      const { oldestUndelivered = null, totals } = facts;
      tenants.push({ ...tenantNames(endpoint.lenderId), url, state, suspendedAt, oldestUndelivered, ...totals });
      problems.push(...diagnoseEndpoint(facts, clock!.now, streamNoun));
    }
    if (tenantId === undefined) problems.push(...diagnosePartitions(await partitionStates(tx), clock!.now));
    return { at: clock!.now, tenants, lenders: tenants, problems };
  });
}

const allowLongStatements = statement("webhooks.doctor-allow-long", `select set_config('statement_timeout', $1, true)`);

const selectNow = statement("webhooks.doctor-now", `select now() as now`);
