import { AFTER_ALL_IDS, BEFORE_ALL_IDS } from "@collections/database";

/**
 * Returns an SQL condition: the delivery `d` belongs to the endpoint of the lender `$1`, and its id is after `after`
 * and up to `upTo`. With `order by d.endpoint_id, d.id`, every plan uses a partial index on (endpoint_id, id), because
 * the primary key has another order. Without this `order by`, the condition `d.lender_id = $1`, which Citus needs,
 * would make a plan read all deliveries of the lender.
 */
export function ofEndpoint(after = `'${BEFORE_ALL_IDS}'`, upTo = `'${AFTER_ALL_IDS}'`): string {
  return `d.lender_id = $1 and (d.endpoint_id, d.id) > (${ENDPOINT}, ${after}::uuid)
    and (d.endpoint_id, d.id) <= (${ENDPOINT}, ${upTo}::uuid)`;
}

const ENDPOINT = "(select id from webhooks.endpoint where lender_id = $1)";
