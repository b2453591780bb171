import { type EntityManager, query, statement } from "@collections/database";

/** The number of a lender's open cases without a field partner. */
export interface UnassignedCases {
  readonly count: number;
  /** Whether all unassigned cases were read. If not, there may be more than `count`. */
  readonly isComplete: boolean;
}

/** The maximum number of unassigned cases that one count reads. It limits the duration of the query. */
const MOST_READ = 20_000;

/**
 * Counts a lender's current cases that have not ended and are assigned to no field partner, including cases on hold.
 * Reads at most the newest 20,000 unassigned cases, including cases that have ended, so that the query takes a fraction
 * of a second for every lender.
 *
 * @example
 * const { count, isComplete } = await countUnassignedCases(em, lenderId);
 * console.log(isComplete ? `${count} unassigned cases` : `${count} unassigned cases or more`);
 */
export async function countUnassignedCases(em: EntityManager, lenderId: string): Promise<UnassignedCases> {
  const [row] = await query<{ count: number; read: number }>(em, selectUnassigned, [lenderId]);
  return { count: row!.count, isComplete: row!.read < MOST_READ };
}

// The number of the LIMIT is in a sub-select, so that PostgreSQL prefers the index that returns the rows in this order,
// also without statistics: see list-cases.ts. No index names closed_at, because a confirmation changes it. So the query
// reads the ended cases too.
export const selectUnassigned = statement(
  "cases.count-unassigned",
  `select (count(*) filter (where c.closed_at is null))::integer as count, count(*)::integer as read
   from (
     select p.closed_at from cases.collection_case p
     where p.lender_id = $1 and p.is_current and p.assigned_field_partner_id is null
     order by p.id desc limit (select ${MOST_READ})
   ) c`,
);
