import { type EntityManager, query, statement } from "@collections/database";
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
  const health = { endpoints: 0, suspended: 0, failing: 0 };
  for (const address of [tenantId, ...(await subscriptionsOf(em, tenantId)).map(({ id }) => id)]) {
    const [endpoint] = await query<{ isSuspended: boolean; isFailing: boolean }>(em, selectHealth, [address]);
    if (!endpoint) continue;
    health.endpoints += 1;
    if (endpoint.isSuspended) health.suspended += 1;
    else if (endpoint.isFailing) health.failing += 1;
  }
  return health;
}

const selectHealth = statement(
  "webhooks.endpoint-health",
  `select e.state = 'suspended' as "isSuspended", e.consecutive_failures > 0 as "isFailing"
   from webhooks.endpoint e where e.lender_id = $1 and e.url is not null`,
);
