import { query, statement } from "@collections/database";
import type { EntityManager } from "@collections/entities";
import type { CaseStatus } from "../case/case-status.ts";

/** The number of cases and promises that a field partner is responsible for now. */
export interface AssignedWork {
  /** Assigned cases that have not ended, including cases on hold. */
  readonly cases: number;
  /** Open promises of these cases, including those that other field partners recorded. */
  readonly promises: number;
}

/**
 * Counts the cases that are assigned to a field partner, and their open promises, over all lenders.
 *
 * @example
 * const { cases, promises } = await assignedWorkOf(em, fieldPartnerId);
 * if (cases > 0) console.log(`${cases} cases and ${promises} open promises have to be assigned to somebody else.`);
 */
export async function assignedWorkOf(em: EntityManager, fieldPartnerId: string): Promise<AssignedWork> {
  const [work] = await query<AssignedWork>(em, countAssigned, [fieldPartnerId]);
  return work!;
}

/** The number of current cases with one status that a field partner has from a lender. */
export interface CaseCount {
  readonly fieldPartnerId: string;
  readonly lenderId: string;
  readonly status: CaseStatus;
  readonly cases: number;
}

/**
 * Counts the current cases of field partners, by lender and status.
 *
 * @example
 * const counts = await caseCountsOf(em, [fieldPartnerId]);
 * const onHold = counts.filter(({ status }) => status === "on_hold");
 */
export async function caseCountsOf(em: EntityManager, fieldPartnerIds: readonly string[]): Promise<CaseCount[]> {
  if (fieldPartnerIds.length === 0) return [];
  return query(em, countByStatus, [fieldPartnerIds]);
}

const countByStatus = statement(
  "cases.count-by-status",
  `select c.assigned_field_partner_id as "fieldPartnerId", c.lender_id as "lenderId", c.status, count(*)::integer as cases
   from cases.collection_case c
   where c.assigned_field_partner_id = any ($1::uuid[]) and c.is_current
   group by c.assigned_field_partner_id, c.lender_id, c.status
   order by c.lender_id, c.status`,
);

const countAssigned = statement(
  "cases.count-held",
  `select count(*)::integer as cases, count(p.id)::integer as promises
   from cases.collection_case c
   left join cases.promise p on p.lender_id = c.lender_id and p.case_id = c.id and p.state = 'open'
   where c.assigned_field_partner_id = $1 and c.is_current and c.closed_at is null`,
);
