import { query, statement } from "@collections/database";
import type { EntityManager } from "@collections/entities";
import type { Earning } from "./earning.ts";
import { selectedEarning } from "./write-earnings.ts";

/**
 * Returns one page of a field partner's earnings that were created, credited, paid out or reversed at or after `since`. The page has
 * up to `limit` earnings with ids greater than `after`, ordered by id.
 *
 * @example
 * const since = new Date("2026-11-20T09:00:00Z");
 * const changed = await changedEarnings(em, fieldPartnerId, { since, limit: 100 });
 * const more = await changedEarnings(em, fieldPartnerId, { since, after: changed.at(-1)?.id, limit: 100 });
 */
export function changedEarnings(
  em: EntityManager,
  fieldPartnerId: string,
  { since, after, limit }: { readonly since: Date; readonly after?: string | undefined; readonly limit: number },
): Promise<Earning[]> {
  return query(em, selectChanged, [fieldPartnerId, since, after ?? null, limit]);
}

export const selectChanged = statement(
  "earnings.changed",
  `select ${selectedEarning("e")} from earnings.earning e
   where e.field_partner_id = $1 and greatest(e.earned_at, e.credited_at, e.paid_out_at, e.reversed_at) >= $2
     and ($3::uuid is null or e.id > $3::uuid)
   order by e.id
   limit $4::bigint`,
);
