import { query, statement } from "@collections/database";
import type { EntityManager, Tx } from "@collections/entities";
import { defineEntity, p } from "@mikro-orm/core";
import type { CaseKey } from "../case/locked-case.ts";
import { page, type Page, type PageRequest } from "./page.ts";

/**
 * A case that a field partner held and has lost. A trigger writes the row, so that every way to lose a case is covered.
 */
export const GoneCaseEntity = defineEntity({
  name: "GoneCase",
  tableName: "gone_case",
  schema: "cases",
  properties: {
    lenderId: p.uuid().primary(),
    fieldPartnerId: p.uuid().primary(),
    caseId: p.uuid().primary(),
    goneAt: p.datetime().columnType("timestamptz"),
  },
});

/** How long a gone case is stored. */
export const GONE_FOR_MS = 31 * 24 * 60 * 60_000;

/**
 * Returns a page of the ids of cases that a field partner has lost since `since` and does not hold again now. The page
 * is ordered by id. `after` is the last id of the previous page.
 *
 * @example
 * const since = new Date("2026-11-20T06:00:00Z");
 * const { items: goneIds } = await goneCaseIds(em, fieldPartnerId, { since, first: 100 });
 */
export function goneCaseIds(
  em: EntityManager,
  fieldPartnerId: string,
  { since, first, after }: PageRequest & { readonly since: Date },
): Promise<Page<string>> {
  return page(first, async (limit) => {
    const gone = await query<{ id: string }>(em, selectGone, [fieldPartnerId, since, after ?? null, limit]);
    return gone.map(({ id }) => id);
  });
}

/**
 * Returns the case if it was assigned to this field partner at `at` and was taken from them later, but at most 31 days
 * ago. Otherwise returns undefined.
 *
 * @example
 * const at = new Date("2026-11-19T16:20:00Z");
 * const wasTheirs = (await caseGoneSince(em, { fieldPartnerId, caseId, at }, now)) !== undefined;
 */
export async function caseGoneSince(
  em: EntityManager,
  { fieldPartnerId, caseId, at }: { readonly fieldPartnerId: string; readonly caseId: string; readonly at: Date },
  now: Date,
): Promise<CaseKey | undefined> {
  const remembered = new Date(now.getTime() - GONE_FOR_MS);
  const [gone] = await query<CaseKey>(em, selectGoneSince, [fieldPartnerId, caseId, at, remembered]);
  return gone;
}

/**
 * Deletes the gone cases that are older than 31 days. Returns how many there were.
 *
 * @example
 * const forgotten = await forgetGoneCases(tx, now);
 */
export async function forgetGoneCases(tx: Tx, now: Date): Promise<number> {
  const [forgotten] = await query<{ gone: bigint }>(tx, forgetGone, [new Date(now.getTime() - GONE_FOR_MS)]);
  return Number(forgotten!.gone);
}

const selectGone = statement(
  "cases.gone-cases",
  `select g.case_id as id from cases.gone_case g
   where g.field_partner_id = $1 and g.gone_at >= $2 and ($3::uuid is null or g.case_id > $3::uuid)
     and not exists (
       select from cases.collection_case c
       where c.lender_id = g.lender_id and c.id = g.case_id and c.is_current and c.assigned_field_partner_id = $1)
   order by g.case_id
   limit $4::bigint`,
);

const selectGoneSince = statement(
  "cases.case-gone-since",
  `select lender_id as "lenderId", case_id as "caseId" from cases.gone_case
   where field_partner_id = $1 and case_id = $2 and gone_at > $3 and gone_at > $4`,
);

const forgetGone = statement(
  "cases.forget-gone-cases",
  `with gone as (delete from cases.gone_case where gone_at <= $1 returning 1) select count(*) as gone from gone`,
);
