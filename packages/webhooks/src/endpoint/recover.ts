import { type EntityManager, newId, query, signal, statement, transaction, type Tx } from "@collections/database";
import { addressOf, type EndpointRef } from "./address.ts";
import { raiseAlert } from "./alert.ts";
import { WEBHOOKS_CHANNEL } from "./endpoint.ts";

/**
 * The maximum number of waits that one transaction ends. An endpoint may have many, and locking all their rows would
 * delay dispatchers.
 */
const ROWS_AT_A_TIME = 1_000;

/**
 * Ends the suspension of an endpoint. Its backlog is then sent, each stream in its sequence, slowly at first. Events
 * that waited for a retry become due too. With `url`, does nothing unless this URL is still registered, because the
 * answer of another URL says nothing about this one. Returns whether the endpoint was suspended. contract: Retry and
 * suspension
 *
 * @example
 * const wasSuspended = await recoverEndpoint(em, tenantId);
 */
export async function recoverEndpoint(
  em: EntityManager,
  recipient: EndpointRef,
  { url }: { url?: string } = {},
): Promise<boolean> {
  const lenderId = addressOf(recipient);
  const suspended = await query(em, selectSuspended, [lenderId, url ?? null]);
  if (suspended.length === 0) return false;
  while ((await transaction(em, (tx) => endWaits(tx, lenderId))) === ROWS_AT_A_TIME);
  return transaction(em, async (tx) => {
    const [recovered] = await query<{ suspendedAt: Date }>(tx, activate, [lenderId, newId(), url ?? null]);
    if (!recovered) return false;
    // Ends waits a second time, now in the transaction of the recovery. Attempts that were under way at the suspension
    // may have failed after the first loop, and their events may now wait for a retry.
    while ((await endWaits(tx, lenderId)) === ROWS_AT_A_TIME);
    await raiseAlert(tx, {
      lenderId,
      cause: "recovered",
      facts: { since: recovered.suspendedAt.toISOString() },
    });
    signal(tx, WEBHOOKS_CHANNEL, lenderId);
    return true;
  });
}

async function endWaits(tx: Tx, lenderId: string): Promise<number> {
  return (await query(tx, endWaitsOfEndpoint, [lenderId, ROWS_AT_A_TIME])).length;
}

const selectSuspended = statement(
  "webhooks.is-suspended",
  `select from webhooks.endpoint where lender_id = $1 and state = 'suspended' and ($2::text is null or url = $2)`,
);

const endWaitsOfEndpoint = statement(
  "webhooks.end-waits-of-endpoint",
  `with pausing as materialized (
     select d.id from webhooks.delivery d
     where d.lender_id = $1 and d.state = 'retrying'
       and d.endpoint_id = (select id from webhooks.endpoint where lender_id = $1)
     limit $2
     for update skip locked
   )
   update webhooks.delivery d set state = 'waiting', next_attempt_at = null
   where d.lender_id = $1 and d.id = any (array(select id from pausing))
   returning d.id`,
);

// `drain_to` is at least the newest delivery's id: the clock of another process may be ahead, so its ids may be higher
// than a new id.
const activate = statement(
  "webhooks.activate-endpoint",
  `with suspended as materialized (
     select id, suspended_at from webhooks.endpoint
     where lender_id = $1 and state = 'suspended' and ($3::text is null or url = $3)
     for update
   )
   update webhooks.endpoint e
   set state = 'active', consecutive_failures = 0, failing_since = null, suspended_at = null, next_probe_at = null,
       probe_error = null, recovered_at = now(), updated_at = now(),
       drain_to = greatest($2, (select id from webhooks.delivery where lender_id = $1 order by id desc limit 1))
   from suspended where e.lender_id = $1 and e.id = suspended.id
   returning suspended.suspended_at as "suspendedAt"`,
);
