import { isDistributed, query, statement } from "@collections/database";
import type { EntityManager } from "@collections/entities";
import { type Booking, bookings } from "./booking.ts";
import { type Reversal, reversals } from "./reversal.ts";

/** The references to look up, and the maximum number of results. */
export interface ReferenceSearch {
  readonly references: readonly string[];
  readonly limit: number;
}

/** A payment, and the sum of its reversals in minor units. */
export type BookingWithReversals = Booking & { readonly reversedMinor: bigint };

/**
 * Returns the payments of some lenders that have one of these references, on whatever loan, in the order of the lenders and
 * of their loans.
 *
 * @example
 * const [payment] = await paymentsByReference(em, [lenderId], { references: ["UTR402812345678"], limit: 20 });
 * const loan = payment?.sourceLoanNumber;
 */
export async function paymentsByReference(
  em: EntityManager,
  lenderIds: readonly string[],
  search: ReferenceSearch,
): Promise<BookingWithReversals[]> {
  return withReferences(em, selectPayments, lenderIds, search);
}

/**
 * Returns the reversals of some lenders that have one of these reversal references, on whatever loan, in the order of the
 * lenders and of their loans.
 *
 * @example
 * const [reversal] = await reversalsByReference(em, [lenderId], { references: ["RV-402812"], limit: 20 });
 * const reversedPayment = reversal?.reference;
 */
export async function reversalsByReference(
  em: EntityManager,
  lenderIds: readonly string[],
  search: ReferenceSearch,
): Promise<Reversal[]> {
  return withReferences(em, selectReversals, lenderIds, search);
}

/** Returns the loans of a lender, `limit` at most, that have a payment with this reference. */
export async function loansOfReference(
  em: EntityManager,
  lenderId: string,
  { reference, limit }: { readonly reference: string; readonly limit: number },
): Promise<string[]> {
  const rows = await withReferences<{ loan: string }>(em, selectLoans, [lenderId], { references: [reference], limit });
  return rows.map(({ loan }) => loan);
}

/** Returns the rows of lenders with one of the references, by one query, or on a cluster by one for each lender. */
async function withReferences<Row>(
  em: EntityManager,
  { ofMany, onCluster }: ByReference,
  lenderIds: readonly string[],
  { references, limit }: ReferenceSearch,
): Promise<Row[]> {
  if (!(await isDistributed(em))) return query<Row>(em, ofMany, [lenderIds, references, limit]);
  const rows: Row[] = [];
  for (const lenderId of lenderIds) {
    if (rows.length >= limit) break;
    rows.push(...(await query<Row>(em, onCluster, [lenderId, references, limit - rows.length])));
  }
  return rows;
}

/** A query that reads rows of the lenders $1, and its text for a cluster, which names the lender $1 by an equality. */
interface ByReference {
  readonly ofMany: ReturnType<typeof statement>;
  readonly onCluster: ReturnType<typeof statement>;
}

/** The parts of a query by which its text for many lenders differs from that for a cluster. */
interface Parts {
  /** The FROM clause of the references `r`. */
  readonly from: string;
  /** The condition on the rows `p` with a reference. */
  readonly condition: string;
  /** The lender of a found row `b`. */
  readonly lenderId: string;
  /** The beginning of the ORDER BY. */
  readonly order: string;
}

/**
 * Creates a query of the rows with a reference. An index on the hash of `column` returns them in the order of their loans, so
 * LIMIT bounds the rows that are read for a common reference.
 */
function byReference(name: string, column: string, textOf: (parts: Parts) => string): ByReference {
  const condition = (lenderId: string, isTheLenders: string) =>
    `hashtextextended(p.${column}, uuid_hash_extended(p.lender_id, 0))
         = hashtextextended(r.reference, uuid_hash_extended(${lenderId}, 0))
       and p.${column} = r.reference and ${isTheLenders}`;
  const references = "unnest($2::text[]) as r (reference)";
  return {
    ofMany: statement(
      name,
      textOf({
        from: `unnest($1::uuid[]) with ordinality as l (lender_id, place) cross join ${references}`,
        // IS TRUE keeps PostgreSQL from using an index that begins with the lender: a plan that was made on an empty table
        // would read all rows of the lender.
        condition: condition("l.lender_id", "(p.lender_id = l.lender_id) is true"),
        lenderId: "b.lender_id",
        order: "l.place, ",
      }),
    ),
    onCluster: statement(
      `${name}-on-cluster`,
      textOf({
        from: references,
        condition: condition("$1::uuid", "p.lender_id = $1"),
        lenderId: "$1",
        order: "",
      }),
    ),
  };
}

export const selectPayments = byReference(
  "ledger.payments-by-reference",
  "reference",
  ({ from, condition, lenderId, order }) => `select ${bookings.selected("b")},
     coalesce((
       select sum(v.amount_minor) from ledger.payment_reversal v
       where v.lender_id = ${lenderId} and v.source_loan_number = b.source_loan_number and v.booking_id = b.id
     ), 0)::bigint as "reversedMinor"
   from ${from}
   cross join lateral (
     select * from ledger.payment_booking p where ${condition}
     order by p.source_loan_number limit $3::bigint
   ) b
   order by ${order}b.source_loan_number, b.sequence limit $3::bigint`,
);

export const selectReversals = byReference(
  "ledger.reversals-by-reference",
  "reversal_reference",
  ({ from, condition, order }) => `select ${reversals.selected("b")}
   from ${from}
   cross join lateral (
     select * from ledger.payment_reversal p where ${condition}
     order by p.source_loan_number limit $3::bigint
   ) b
   order by ${order}b.source_loan_number, b.sequence limit $3::bigint`,
);

export const selectLoans = byReference(
  "ledger.loans-of-reference",
  "reference",
  ({ from, condition }) => `select b.source_loan_number as loan
   from ${from}
   cross join lateral (
     select p.source_loan_number from ledger.payment_booking p where ${condition}
     order by p.source_loan_number limit $3::bigint
   ) b`,
);
