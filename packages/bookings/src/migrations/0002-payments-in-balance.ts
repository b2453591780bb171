/**
 * Adds a column for payments that the lender's balance already included when they were confirmed. Processes of the
 * previous version write null into this column. Their bookings satisfy the new check, because they satisfy the check
 * that it replaces.
 */
export const migration0002: readonly string[] = [
  // A cluster can add a constraint to a distributed table only in a separate statement.
  `alter table ledger.payment_booking add column in_balance_minor bigint, drop constraint payment_booking_check2`,
  `alter table ledger.payment_booking add constraint payment_booking_in_balance_check check (
     (excess_minor = 0 or outstanding_after_minor = 0 or in_balance_minor is not null)
     and (in_balance_minor is null or in_balance_minor = applied_minor)) not valid`,

  // If the new column is set, the digest covers it too. The digest of every other booking stays the same.
  `create function ledger.payment_booking_digest(
     lender_id uuid, id uuid, source_loan_number text, reference text, case_id uuid, cycle integer,
     amount_minor bigint, currency text, mode text, raw_mode text, paid_at timestamptz, link_id text, visit_id uuid,
     field_partner_id uuid, attribution text, applied_minor bigint, excess_minor bigint,
     outstanding_after_minor bigint, total_collected_after_minor bigint, status_after text, sequence bigint,
     warnings jsonb, recorded_at timestamptz, in_balance_minor bigint
   ) returns bytea language sql immutable parallel safe
   return case when in_balance_minor is null
     then ledger.payment_booking_digest(lender_id, id, source_loan_number, reference, case_id, cycle, amount_minor,
       currency, mode, raw_mode, paid_at, link_id, visit_id, field_partner_id, attribution, applied_minor, excess_minor,
       outstanding_after_minor, total_collected_after_minor, status_after, sequence, warnings, recorded_at)
     else sha256('payment_booking/2,'::bytea || int8send(in_balance_minor)
       || ledger.payment_booking_digest(lender_id, id, source_loan_number, reference, case_id, cycle, amount_minor,
         currency, mode, raw_mode, paid_at, link_id, visit_id, field_partner_id, attribution, applied_minor, excess_minor,
         outstanding_after_minor, total_collected_after_minor, status_after, sequence, warnings, recorded_at))
     end`,
];
