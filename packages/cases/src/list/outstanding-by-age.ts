import { AFTER_ALL_IDS, BEFORE_ALL_IDS, query, statement } from "@collections/database";
import type { EntityManager } from "@collections/entities";
import type { CurrencyCode } from "@collections/money";

/**
 * The ranges of days past due by which outstanding amounts are added up, named as `bucketOf` names them.
 *
 * @example
 * const oldest = AGES.at(-1); // "90+"
 */
export const AGES = ["0", "1-30", "31-60", "61-90", "90+"] as const;

/** The open cases of a range of days past due in one currency. */
export interface OutstandingOfAge {
  /** Null for cases whose days past due are unknown. */
  readonly age: (typeof AGES)[number] | null;
  readonly currency: CurrencyCode;
  readonly cases: number;
  /** The number of these cases without a field partner. */
  readonly unassigned: number;
  /** In minor units. */
  readonly outstandingMinor: bigint;
}

/** The number of cases that one query reads. It limits the duration of the query to a fraction of a second. */
const READ_AT_A_TIME = 20_000;

/**
 * Counts the current cases of a lender that have not ended, and adds up what they owe, by currency and by days past due, in
 * the order of AGES, with the unknown days last. Reads all cases of the lender with many short queries, so it takes seconds
 * for a million cases: cache the result. Cases that change meanwhile count as they were when they were read.
 *
 * @example
 * const sums = await outstandingByAge(em, lenderId);
 * const overdue = sums.filter(({ age }) => age !== "0").reduce((sum, { cases }) => sum + cases, 0);
 */
export async function outstandingByAge(em: EntityManager, lenderId: string): Promise<OutstandingOfAge[]> {
  const sums = new Map<string, OutstandingOfAge>();
  let after: string | undefined = BEFORE_ALL_IDS;
  while (after !== undefined) {
    const [last]: { readonly id: string }[] = await query(em, selectEnd, [lenderId, after]);
    for (const row of await query<SumRow>(em, selectSums, [lenderId, after, last?.id ?? AFTER_ALL_IDS])) {
      const age = row.range === null ? null : AGES[row.range]!;
      const key = `${row.currency} ${row.range ?? AGES.length}`;
      const { cases = 0, unassigned = 0, outstandingMinor = 0n } = sums.get(key) ?? {};
      sums.set(key, {
        age,
        currency: row.currency,
        cases: cases + row.cases,
        unassigned: unassigned + row.unassigned,
        outstandingMinor: outstandingMinor + row.outstandingMinor,
      });
    }
    after = last?.id;
  }
  return [...sums].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, sum]) => sum);
}

interface SumRow extends Omit<OutstandingOfAge, "age"> {
  /** The index in AGES. */
  readonly range: number | null;
}

export const selectEnd = statement(
  "cases.end-of-outstanding",
  `select p.id from cases.collection_case p
   where p.lender_id = $1 and p.id > $2 order by p.id offset (select ${READ_AT_A_TIME - 1}) limit 1`,
);

// No index names the outstanding amount or the days past due, because confirmations and imports change them. The inner
// ORDER BY with OFFSET makes every plan read the rows by the primary key.
export const selectSums = statement(
  "cases.outstanding-by-age",
  `select width_bucket(c.dpd, array[1, 31, 61, 91]) as range, c.currency::text as currency, count(*)::integer as cases,
     (count(*) filter (where c.assigned_field_partner_id is null))::integer as unassigned,
     sum(c.outstanding_minor)::bigint as "outstandingMinor"
   from (
     select p.dpd, p.currency, p.outstanding_minor, p.assigned_field_partner_id, p.is_current, p.closed_at
     from cases.collection_case p
     where p.lender_id = $1 and p.id > $2 and p.id <= $3 order by p.id offset 0
   ) c
   where c.is_current and c.closed_at is null
   group by range, c.currency`,
);
