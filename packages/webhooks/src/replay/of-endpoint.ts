import { BEFORE_ALL_IDS } from "@collections/database";

const AFTER_ALL_IDS = "ffffffff-ffff-ffff-ffff-ffffffffffff";

/**
 * The condition that a delivery `d` is of the endpoint of the lender `$1`, with an id behind `after` and up to `upTo` (SQL).
 * With `order by d.endpoint_id, d.id` it leads to a partial index on (endpoint_id, id), on any plan: the primary key does not
 * have this order. A plain `d.lender_id = $1`, which Citus needs, would else lead to all that the lender was ever delivered.
 */
export function ofEndpoint(after = `'${BEFORE_ALL_IDS}'`, upTo = `'${AFTER_ALL_IDS}'`): string {
  return `d.lender_id = $1 and (d.endpoint_id, d.id) > (${ENDPOINT}, ${after}::uuid)
    and (d.endpoint_id, d.id) <= (${ENDPOINT}, ${upTo}::uuid)`;
}

const ENDPOINT = "(select id from webhooks.endpoint where lender_id = $1)";
