import { query, statement } from "@collections/database";
import type { Tx } from "@collections/entities";
import type { LoanPayment } from "./pair-on-loan.ts";
import { BOOKED_PAYMENT, type RunKey } from "./reconciliation-row.ts";

/** A loan and a number of its sequence. */
export interface LoanSequence {
  readonly loan: string;
  readonly sequence: bigint;
}

/** A loan and a reference in Unicode NFC. */
export interface LoanReference {
  readonly loan: string;
  readonly reference: string;
}

/**
 * Returns the payments of loans that have a greater sequence than the one given for their loan. Payments that were reversed in
 * full are included.
 *
 * @example
 * const later = await paymentsSince(tx, lenderId, [{ loan: "LN-2026-00417", sequence: 7n }]);
 */
export async function paymentsSince(tx: Tx, lenderId: string, since: readonly LoanSequence[]): Promise<LoanPayment[]> {
  if (since.length === 0) return [];
  const values = [lenderId, since.map(({ loan }) => loan), since.map(({ sequence }) => sequence)];
  return query<LoanPayment>(tx, selectSince, values);
}

/**
 * Returns those loans and references that a row of the lender has in a difference of the run. Reads all stored differences of
 * the run.
 *
 * @example
 * const ofRows = await referencesOfRows(tx, { lenderId, runId }, booked);
 */
export async function referencesOfRows(
  tx: Tx,
  { lenderId, runId }: RunKey,
  keys: readonly LoanReference[],
): Promise<LoanReference[]> {
  if (keys.length === 0) return [];
  const values = [lenderId, runId, keys.map(({ loan }) => loan), keys.map(({ reference }) => reference)];
  return query<LoanReference>(tx, selectOfRows, values);
}

export const selectSince = statement(
  "ledger.payments-of-loans-since",
  `select ${BOOKED_PAYMENT}, b.part_of as "partOf"
   from unnest($2::text[], $3::bigint[]) as k (loan, sequence)
   cross join lateral (
     select * from ledger.payment_booking p
     where p.lender_id = $1 and p.source_loan_number = k.loan and p.sequence > k.sequence
     offset 0
   ) b
   order by b.sequence`,
);

// COALESCE keeps PostgreSQL from turning IN into a join, which could read the run once for each key.
const selectOfRows = statement(
  "ledger.references-of-rows",
  `select d.loan, d.reference from ledger.reconciliation_difference d
   where d.lender_id = $1 and d.run_id = $2 and d.position is not null
     and coalesce((d.loan, d.reference) in (
       select k.loan, k.reference from unnest($3::text[], $4::text[]) as k (loan, reference)
     ), false)`,
);
