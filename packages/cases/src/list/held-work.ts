import { type EntityManager, query, statement } from "@collections/database";

/** What a field partner is responsible for now. */
export interface HeldWork {
  /** Cases that have not ended; cases on hold count. */
  readonly cases: number;
  /** Open promises of these cases, whoever wrote them down. */
  readonly promises: number;
}

/**
 * Counts the cases that a field partner holds, and their open promises, over all lenders.
 *
 * @example
 * const { cases, promises } = await heldWorkOf(em, fieldPartnerId);
 * if (cases > 0) console.log(`${cases} cases and ${promises} open promises wait for somebody else.`);
 */
export async function heldWorkOf(em: EntityManager, fieldPartnerId: string): Promise<HeldWork> {
  const [held] = await query<HeldWork>(em, countHeld, [fieldPartnerId]);
  return held!;
}

const countHeld = statement(
  "cases.count-held",
  `select count(*)::integer as cases, count(p.id)::integer as promises
   from cases.collection_case c
   left join cases.promise p on p.lender_id = c.lender_id and p.case_id = c.id and p.state = 'open'
   where c.assigned_field_partner_id = $1 and c.is_current and c.closed_at is null`,
);
