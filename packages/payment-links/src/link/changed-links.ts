import { query, statement } from "@collections/database";
import type { EntityManager } from "@collections/entities";
import { linkColumns, type PaymentLink } from "./payment-link.ts";

/**
 * Returns a field partner's links that have changed since `since`, or that have a message that has changed since then.
 * Returns at most `limit` links with ids greater than `after`, ordered by id.
 *
 * @example
 * const since = new Date("2026-11-20T06:00:00Z");
 * const links = await changedLinks(em, fieldPartnerId, { since, limit: 100 });
 * const more = await changedLinks(em, fieldPartnerId, { since, limit: 100, after: links.at(-1)?.id });
 */
export function changedLinks(
  em: EntityManager,
  fieldPartnerId: string,
  { since, after, limit }: { readonly since: Date; readonly after?: string | undefined; readonly limit: number },
): Promise<PaymentLink[]> {
  return query(em, selectChanged, [fieldPartnerId, since, after ?? null, limit]);
}

// The sub-select with max() makes every plan read only the messages of the field partner's links. The planner may turn an
// EXISTS into a hash join over the messages of all field partners.
export const selectChanged = statement(
  "payment-links.changed",
  `select ${linkColumns} from payment_links.payment_link l
   where l.field_partner_id = $1 and ($3::uuid is null or l.id > $3::uuid)
     and (l.updated_at >= $2 or (
       select max(d.updated_at) from payment_links.link_delivery d
       where d.payment_link_id = l.id and d.lender_id = l.lender_id) >= $2)
   order by l.id
   limit $4::bigint`,
);
