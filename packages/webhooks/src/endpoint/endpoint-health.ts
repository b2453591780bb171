import { type EntityManager, isDistributed, query, statement } from "@collections/database";
import { subscriptionsOf } from "./subscription.ts";

/** How many endpoints of a tenant are unhealthy now. An endpoint without a URL is not counted. */
export interface EndpointHealth {
  /** All endpoints with a URL. */
  readonly endpoints: number;
  /** Endpoints that get no events until they answer a probe. */
  readonly suspended: number;
  /** Endpoints that are not suspended, and whose latest attempt has failed. */
  readonly failing: number;
}

/**
 * Counts the unhealthy endpoints of a tenant, unnamed and named. Reads one row for each endpoint, and no delivery.
 *
 * @example
 * const { endpoints, suspended, failing } = await endpointHealth(em, tenantId);
 * if (suspended + failing > 0) console.log(`${suspended + failing} of ${endpoints} endpoints are unhealthy.`);
 */
export async function endpointHealth(em: EntityManager, tenantId: string): Promise<EndpointHealth> {
  const endpoints = (await isDistributed(em))
    ? await healthOnCluster(em, tenantId)
    : await query<Health>(em, selectHealth, [tenantId]);
  return {
    endpoints: endpoints.length,
    suspended: endpoints.filter(({ isSuspended }) => isSuspended).length,
    failing: endpoints.filter(({ isSuspended, isFailing }) => isFailing && !isSuspended).length,
  };
}

interface Health {
  readonly isSuspended: boolean;
  readonly isFailing: boolean;
}

/** Sends one query for each endpoint, because the rows of a named endpoint may be on another node than its tenant's. */
async function healthOnCluster(em: EntityManager, tenantId: string): Promise<Health[]> {
  const addresses = [tenantId, ...(await subscriptionsOf(em, tenantId)).map(({ id }) => id)];
  const found: Health[] = [];
  for (const address of addresses) found.push(...(await query<Health>(em, selectHealthOnCluster, [address])));
  return found;
}

const HEALTH = `select e.state = 'suspended' as "isSuspended", e.consecutive_failures > 0 as "isFailing"
   from webhooks.endpoint e where e.url is not null`;

const selectHealth = statement(
  "webhooks.endpoint-health",
  `${HEALTH} and e.lender_id = any (array(select s.id from webhooks.subscription s where s.lender_id = $1) || $1::uuid)`,
);

const selectHealthOnCluster = statement("webhooks.endpoint-health-on-cluster", `${HEALTH} and e.lender_id = $1`);
