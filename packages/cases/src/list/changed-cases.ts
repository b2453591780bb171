import { query, statement } from "@collections/database";
import type { EntityManager } from "@collections/entities";
import type { Case } from "../case/collection-case.ts";
import { OWN_CASE_COLUMNS, type OwnCase, shownCase, shrunkIfEndedBy } from "./own-case.ts";
import { page, type Page, type PageRequest } from "./page.ts";

/**
 * A request for a page of changed cases. If `since` is null, all cases are returned. `after` is the id of the last case
 * of the previous page.
 */
export interface ChangedSince extends PageRequest {
  readonly since: Date | null;
}

/**
 * Returns a page of a field partner's current cases that have changed since `since`, ordered by id.
 * Includes cases that changed only because time has passed: cases whose details became hidden (shrunk), and cases whose
 * `doNotContactUntil` was reached.
 *
 * @example
 * const since = new Date("2026-11-20T06:00:00Z");
 * const { items, hasNext } = await changedCases(em, fieldPartnerId, { since, first: 100 });
 * const after = items.at(-1)?.id;
 * const next = hasNext ? await changedCases(em, fieldPartnerId, { since, first: 100, after }) : undefined;
 */
export function changedCases(
  em: EntityManager,
  fieldPartnerId: string,
  { since, first, after }: ChangedSince,
  now: Date = new Date(),
): Promise<Page<OwnCase>> {
  const shrunkThen = since && shrunkIfEndedBy(since);
  const values = [fieldPartnerId, after ?? null, since, shrunkThen, shrunkIfEndedBy(now), now];
  return page(first, async (limit) => {
    const cases = await query<Case>(em, selectChanged, [...values, limit]);
    return cases.map((theCase) => shownCase(theCase, now));
  });
}

// Walks the field partner's cases in ascending order of id. There is no index on the time of the last change: with
// one, the update by a confirmation would not be heap-only (HOT). The range of `do_not_contact_until` is a day wider at
// both ends, because the day differs between time zones.
export const selectChanged = statement(
  "cases.changed-own",
  `select ${OWN_CASE_COLUMNS} from cases.collection_case c
   where c.assigned_field_partner_id = $1 and c.is_current and ($2::uuid is null or c.id > $2::uuid)
     and ($3::timestamptz is null or c.updated_at >= $3::timestamptz
       or (c.closed_at > $4::timestamptz and c.closed_at <= $5::timestamptz)
       or c.do_not_contact_until between ($3::timestamptz at time zone 'utc')::date - 1
         and ($6::timestamptz at time zone 'utc')::date + 1)
   order by c.id
   limit $7::bigint`,
);
