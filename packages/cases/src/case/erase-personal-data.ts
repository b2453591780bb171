import { BEFORE_ALL_IDS, query, send, statement } from "@collections/database";
import type { EntityManager, Tx } from "@collections/entities";
import { caseTable } from "./case-columns.ts";

/** A case whose borrower's personal data are stored, and when the case ended. */
export interface CaseWithPersonalData {
  readonly id: string;
  /** Null if the case has not ended. */
  readonly closedAt: Date | null;
}

/** A page of a lender's cases, ordered by id, which is the order in which they were created. */
export interface PersonalDataPage {
  readonly lenderId: string;
  /** The last id of the previous page. Undefined: the page is the first. */
  readonly after: string | undefined;
  /** The page has only cases with an id below this one. */
  readonly before: string;
  readonly limit: number;
}

/**
 * Returns a page of a lender's cases of all cycles that still have personal data of their borrowers.
 *
 * @example
 * const before = newId(); // the id of a case that is created now
 * const cases = await casesWithPersonalData(em, { lenderId, after: undefined, before, limit: 1_000 });
 * const ended = cases.filter(({ closedAt }) => closedAt !== null);
 */
export async function casesWithPersonalData(
  em: EntityManager,
  { lenderId, after = BEFORE_ALL_IDS, before, limit }: PersonalDataPage,
): Promise<CaseWithPersonalData[]> {
  return query(em, selectNotErased, [lenderId, after, before, limit]);
}

/** The cases to erase. */
export interface PersonalDataErasure {
  readonly lenderId: string;
  readonly caseIds: readonly string[];
  /** If given, a case is left out unless it ended at this time or before. */
  readonly endedBy?: Date | undefined;
}

/**
 * Erases the personal data of borrowers from cases and from their visits: names, phones, e-mail and postal addresses,
 * the lender's metadata, the notes of visits and the places where they started. Amounts, states, times and references
 * stay. Returns the ids of the cases that had personal data. With `endedBy`, a case that another transaction has locked is
 * left out; without it, the function waits for the lock.
 *
 * @example
 * const erased = await erasePersonalData(tx, { lenderId, caseIds: [caseId], endedBy: now }, now);
 * console.log(`${erased.length} cases erased`);
 */
export async function erasePersonalData(
  tx: Tx,
  { lenderId, caseIds, endedBy }: PersonalDataErasure,
  now: Date,
): Promise<string[]> {
  const erased =
    endedBy === undefined
      ? await query<{ id: string }>(tx, eraseGiven, [lenderId, [...caseIds], now])
      : await query<{ id: string }>(tx, eraseEnded, [lenderId, [...caseIds], now, endedBy]);
  const ids = erased.map(({ id }) => id);
  if (ids.length > 0) send(tx, eraseVisits, [lenderId, ids]);
  return ids;
}

export const selectNotErased = statement(
  "cases.not-erased",
  `select ${caseTable.selectList("c", ["id", "closedAt"])} from cases.collection_case c
   where c.lender_id = $1 and c.erased_at is null and c.id > $2::uuid and c.id < $3::uuid
   order by c.id limit $4::bigint`,
);

const eraseGiven = statement("cases.erase-given", eraseText("", ""));
const eraseEnded = statement("cases.erase-ended", eraseText("and o.closed_at <= $4::timestamptz", "skip locked"));

/** `updated_at` changes too, so that phones that have stored the case read it again. */
function eraseText(condition: string, ifLocked: string): string {
  return `update cases.collection_case c
   set borrower_name = '', borrower_phone = '', alternate_phones = '{}', borrower_email = null, addresses = '[]',
     metadata = '{}', erased_at = $3::timestamptz, updated_at = $3::timestamptz
   where c.lender_id = $1 and c.id in (
     select o.id from cases.collection_case o
     where o.lender_id = $1 and o.id = any ($2::uuid[]) and o.erased_at is null ${condition}
     order by o.id for no key update ${ifLocked})
   returning c.id`;
}

const eraseVisits = statement(
  "cases.erase-visits",
  `update cases.visit v set note = null, latitude = null, longitude = null, accuracy_m = null
   where v.lender_id = $1 and v.case_id = any ($2::uuid[])
     and (v.note is not null or v.latitude is not null or v.longitude is not null or v.accuracy_m is not null)`,
);
