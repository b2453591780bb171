/**
 * Adds the indexes that find payments and reversals by their reference alone. The lender is in the hash and is no column
 * of the indexes. Otherwise PostgreSQL could use them to find all rows of a lender, in plans of hot queries that it makes
 * while the tables are empty. Operators of large databases create the indexes CONCURRENTLY before the release.
 */
export const migration0013: readonly string[] = [
  `create index if not exists payment_booking_by_reference on ledger.payment_booking
     ((hashtextextended(reference, uuid_hash_extended(lender_id, 0))), source_loan_number)`,
  `create index if not exists payment_reversal_by_reference on ledger.payment_reversal
     ((hashtextextended(reversal_reference, uuid_hash_extended(lender_id, 0))), source_loan_number)`,
];
