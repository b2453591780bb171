import { type EntityManager, query, statement } from "@collections/database";

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

const countAssigned = statement(
  "cases.count-held",
  `select count(*)::integer as cases, count(p.id)::integer as promises
   from cases.collection_case c
   left join cases.promise p on p.lender_id = c.lender_id and p.case_id = c.id and p.state = 'open'
   where c.assigned_field_partner_id = $1 and c.is_current and c.closed_at is null`,
);
