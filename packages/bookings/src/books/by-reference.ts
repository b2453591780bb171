import { type EntityManager, query, statement } from "@collections/database";
import { type Booking, bookings } from "./booking.ts";
import { type Reversal, reversals } from "./reversal.ts";

/** The references to look up at one lender, and the maximum number of results. */
export interface ReferenceSearch {
  readonly references: readonly string[];
  readonly limit: number;
}

/**
 * Returns the payments of a lender that have one of these references, on whatever loan, in the order of their loans.
 * Reads all references of the lender in an index: a million take 0.2 to 0.5 seconds.
 *
 * @example
 * const [payment] = await paymentsByReference(em, lenderId, { references: ["UTR402812345678"], limit: 20 });
 * const loan = payment?.sourceLoanNumber;
 */
export async function paymentsByReference(
  em: EntityManager,
  lenderId: string,
  { references, limit }: ReferenceSearch,
): Promise<Booking[]> {
  return query(em, selectPayments, [lenderId, references, limit]);
}

/**
 * Returns the reversals of a lender that have one of these reversal references, on whatever loan, in the order of their
 * loans. Reads all reversal references of the lender in an index.
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
  return query(em, selectReversals, [lenderId, references, limit]);
}

// The unique index on lender, loan and reference contains every column of the inner query, so the table is read only for
// the rows that match. An index on the reference alone would make every confirmation slower.
export const selectPayments = statement(
  "ledger.payments-by-reference",
  `select ${bookings.selected("b")}
   from (
     select p.source_loan_number as loan, p.reference from ledger.payment_booking p
     where p.lender_id = $1 and p.reference = any ($2::text[])
     order by p.source_loan_number, p.reference limit $3::bigint
   ) k
   cross join lateral (
     select * from ledger.payment_booking p
     where p.lender_id = $1 and p.source_loan_number = k.loan and p.reference = k.reference
     limit 1
   ) b
   order by b.source_loan_number, b.sequence`,
);

export const selectReversals = statement(
  "ledger.reversals-by-reference",
  `select ${reversals.selected("b")}
   from (
     select p.source_loan_number as loan, p.reversal_reference as reference from ledger.payment_reversal p
     where p.lender_id = $1 and p.reversal_reference = any ($2::text[])
     order by p.source_loan_number, p.reversal_reference limit $3::bigint
   ) k
   cross join lateral (
     select * from ledger.payment_reversal p
     where p.lender_id = $1 and p.source_loan_number = k.loan and p.reversal_reference = k.reference
     limit 1
   ) b
   order by b.source_loan_number, b.sequence`,
);
