import type { EntityManager } from "@collections/entities";
import { type CreditedSum, creditedSumsOf } from "@collections/earnings";
import { type FieldPartner, searchFieldPartners } from "@collections/field-partners";

/** A field partner to whom money is owed. */
export interface PayoutDue {
  readonly fieldPartner: FieldPartner;
  /** The sums above 0, by currency and lender. A payout pays the sums of one currency. */
  readonly credited: readonly CreditedSum[];
}

/** A request for a page of payouts that are due. */
export interface PayoutsDuePage {
  /** The `next` of the previous page. */
  readonly after?: string | undefined;
  /** The maximum number of field partners, 1 or more. */
  readonly limit: number;
  /**
   * The maximum number of searches, each through 200 field partners. After the last search, the page ends even if it is not
   * full. Default: no maximum.
   */
  readonly mostSearches?: number;
}

/** The number of field partners whose sums one query reads. */
const PEOPLE_AT_A_TIME = 200;

/**
 * Returns a page of the field partners to whom money is owed, in the order of registration, and the id after which the
 * next page begins; null after the last page. A lender whose sum is 0 or less is left out, as in a payout.
 *
 * @example
 * const { due, next } = await payoutsDue(em, { limit: 50 });
 * for (const { fieldPartner, credited } of due) console.log(fieldPartner.displayName, credited.length);
 */
export async function payoutsDue(
  em: EntityManager,
  { after: first, limit, mostSearches = Infinity }: PayoutsDuePage,
): Promise<{ readonly due: readonly PayoutDue[]; readonly next: string | null }> {
  const due: PayoutDue[] = [];
  let after = first;
  for (let searches = 1; ; searches += 1) {
    const people = await searchFieldPartners(em, { after, limit: PEOPLE_AT_A_TIME });
    const sums = await creditedSumsOf(
      em,
      people.map(({ id }) => id),
    );
    const payable = Map.groupBy(
      sums.filter(({ amountMinor }) => amountMinor > 0n),
      ({ fieldPartnerId }) => fieldPartnerId,
    );
    for (const fieldPartner of people) {
      const credited = payable.get(fieldPartner.id);
      if (credited) due.push({ fieldPartner, credited });
    }
    if (due.length > limit) return { due: due.slice(0, limit), next: due[limit - 1]!.fieldPartner.id };
    after = people.at(-1)?.id;
    if (people.length < PEOPLE_AT_A_TIME) return { due, next: null };
    if (searches >= mostSearches) return { due, next: after ?? null };
  }
}
