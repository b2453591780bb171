import { isDistributed, query, statement } from "@collections/database";
import type { EntityManager } from "@collections/entities";
import { type Booking, bookings } from "./booking.ts";
import { type Reversal, reversals } from "./reversal.ts";

/** The references to look up at one lender, and the maximum number of results. */
export interface ReferenceSearch {
  readonly references: readonly string[];
  readonly limit: number;
}

/** A payment, and the sum of its reversals in minor units. */
export type BookingWithReversals = Booking & { readonly reversedMinor: bigint };

/**
 * Returns the payments of a lender that have one of these references, on whatever loan, in the order of their loans.
 *
 * @example
 * const [payment] = await paymentsByReference(em, lenderId, { references: ["UTR402812345678"], limit: 20 });
 * const loan = payment?.sourceLoanNumber;
 */
export async function paymentsByReference(
  em: EntityManager,
  lenderId: string,
  { references, limit }: ReferenceSearch,
): Promise<BookingWithReversals[]> {
  return query(em, await chosen(em, selectPayments), [lenderId, references, limit]);
}

/**
 * Returns the reversals of a lender that have one of these reversal references, on whatever loan, in the order of their
 * loans.
 *
 * @example
 * const [reversal] = await reversalsByReference(em, lenderId, { references: ["RV-402812"], limit: 20 });
 * const reversedPayment = reversal?.reference;
 */
export async function reversalsByReference(
  em: EntityManager,
  lenderId: string,
  { references, limit }: ReferenceSearch,
): Promise<Reversal[]> {
  return query(em, await chosen(em, selectReversals), [lenderId, references, limit]);
}

/** Returns the loans of a lender, `limit` at most, that have a payment with this reference. */
export async function loansOfReference(
  em: EntityManager,
  lenderId: string,
  { reference, limit }: { readonly reference: string; readonly limit: number },
): Promise<string[]> {
  const rows = await query<{ loan: string }>(em, await chosen(em, selectLoans), [lenderId, [reference], limit]);
  return rows.map(({ loan }) => loan);
}

/** A query that reads one lender's rows, and its text for a cluster, which names the lender by an equality. */
interface ByReference {
  readonly ofOne: ReturnType<typeof statement>;
  readonly onCluster: ReturnType<typeof statement>;
}

/**
 * Creates a query whose `condition` names the rows of lender $1 with a reference. An index on the hash of `column`
 * returns them in the order of their loans, so LIMIT bounds the rows that are read for a common reference.
 */
function byReference(name: string, column: string, textOf: (condition: string) => string): ByReference {
  const condition = (isTheLenders: string) =>
    `hashtextextended(p.${column}, uuid_hash_extended(p.lender_id, 0))
         = hashtextextended(r.reference, uuid_hash_extended($1::uuid, 0))
       and p.${column} = r.reference and ${isTheLenders}`;
  return {
    // IS TRUE keeps PostgreSQL from using an index that begins with the lender: a plan that was made on an empty table
    // would read all rows of the lender.
    ofOne: statement(name, textOf(condition("(p.lender_id = $1) is true"))),
    onCluster: statement(`${name}-on-cluster`, textOf(condition("p.lender_id = $1"))),
  };
}

async function chosen(em: EntityManager, { ofOne, onCluster }: ByReference) {
  return (await isDistributed(em)) ? onCluster : ofOne;
}

export const selectPayments = byReference(
  "ledger.payments-by-reference",
  "reference",
  (condition) => `select ${bookings.selected("b")},
     coalesce((
       select sum(v.amount_minor) from ledger.payment_reversal v
       where v.lender_id = $1 and v.source_loan_number = b.source_loan_number and v.booking_id = b.id
     ), 0)::bigint as "reversedMinor"
   from unnest($2::text[]) as r (reference)
   cross join lateral (
     select * from ledger.payment_booking p where ${condition}
     order by p.source_loan_number limit $3::bigint
   ) b
   order by b.source_loan_number, b.sequence limit $3::bigint`,
);

export const selectReversals = byReference(
  "ledger.reversals-by-reference",
  "reversal_reference",
  (condition) => `select ${reversals.selected("b")}
   from unnest($2::text[]) as r (reference)
   cross join lateral (
     select * from ledger.payment_reversal p where ${condition}
     order by p.source_loan_number limit $3::bigint
   ) b
   order by b.source_loan_number, b.sequence limit $3::bigint`,
);

export const selectLoans = byReference(
  "ledger.loans-of-reference",
  "reference",
  (condition) => `select b.source_loan_number as loan
   from unnest($2::text[]) as r (reference)
   cross join lateral (
     select p.source_loan_number from ledger.payment_booking p where ${condition}
     order by p.source_loan_number limit $3::bigint
   ) b`,
);
