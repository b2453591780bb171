import { digestBeforeInsert } from "./digest-before-insert.ts";

/**
 * Adds triggers that compute the digest of a row that is inserted without one. On a cluster an INSERT cannot call the
 * digest function for each of its rows, because Citus evaluates functions before it sends the rows.
 *
 * The triggers are created in the order in which a confirmation writes the tables. `create trigger` locks its table
 * until the migration commits, so in another order the migration and a confirmation could wait for each other.
 */
export const migration0004: readonly string[] = [
  ...digestBeforeInsert("payment_booking", [
    "lender_id, id, source_loan_number, reference, case_id, cycle, amount_minor, currency, mode, raw_mode, paid_at",
    "link_id, visit_id, field_partner_id, attribution, applied_minor, excess_minor, outstanding_after_minor",
    "total_collected_after_minor, status_after, sequence, warnings, recorded_at, in_balance_minor",
  ]),
  ...digestBeforeInsert("transfer", [
    "lender_id, id, debit_account, credit_account, amount_minor, currency, kind",
    "case_id, booking_id, corrects, sequence, memo, effective_at, recorded_at",
  ]),
];
