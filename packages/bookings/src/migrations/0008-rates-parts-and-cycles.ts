/**
 * Adds to a booking the rate of its commission and the payment that it is a part of, and to a reversal the loan's current
 * case if the payment is of an earlier cycle. Processes of the previous version write null into all these columns.
 *
 * The tables come in the order in which a confirmation writes them, see migration 0004.
 */
export const migration0008: readonly string[] = [
  "alter table ledger.payment_booking add column part_of text, add column commission_percent bigint",

  // If one of the new columns is set, the digest covers both. The digest of every other booking stays the same.
  `create function ledger.payment_booking_digest(
     lender_id uuid, id uuid, source_loan_number text, reference text, case_id uuid, cycle integer,
     amount_minor bigint, currency text, mode text, raw_mode text, paid_at timestamptz, link_id text, visit_id uuid,
     field_partner_id uuid, attribution text, applied_minor bigint, excess_minor bigint,
     outstanding_after_minor bigint, total_collected_after_minor bigint, status_after text, sequence bigint,
     warnings jsonb, recorded_at timestamptz, in_balance_minor bigint, part_of text, commission_percent bigint
   ) returns bytea language sql immutable parallel safe
   return case when part_of is null and commission_percent is null
     then ledger.payment_booking_digest(lender_id, id, source_loan_number, reference, case_id, cycle, amount_minor,
       currency, mode, raw_mode, paid_at, link_id, visit_id, field_partner_id, attribution, applied_minor, excess_minor,
       outstanding_after_minor, total_collected_after_minor, status_after, sequence, warnings, recorded_at,
       in_balance_minor)
     else sha256('payment_booking/3,'::bytea
       || coalesce('\\x01'::bytea || int8send(commission_percent), '\\x00'::bytea)
       || decode(replace(quote_nullable(part_of), '\\', '\\\\'), 'escape')
       || ledger.payment_booking_digest(lender_id, id, source_loan_number, reference, case_id, cycle, amount_minor,
         currency, mode, raw_mode, paid_at, link_id, visit_id, field_partner_id, attribution, applied_minor, excess_minor,
         outstanding_after_minor, total_collected_after_minor, status_after, sequence, warnings, recorded_at,
         in_balance_minor))
     end`,
  `create or replace function ledger.set_payment_booking_digest() returns trigger language plpgsql as $$
   begin
     new.digest := ledger.payment_booking_digest(new.lender_id, new.id, new.source_loan_number, new.reference,
       new.case_id, new.cycle, new.amount_minor, new.currency, new.mode, new.raw_mode, new.paid_at, new.link_id,
       new.visit_id, new.field_partner_id, new.attribution, new.applied_minor, new.excess_minor,
       new.outstanding_after_minor, new.total_collected_after_minor, new.status_after, new.sequence, new.warnings,
       new.recorded_at, new.in_balance_minor, new.part_of, new.commission_percent);
     return new;
   end
   $$`,

  // The dropped checks forbid an adjustment that uses up a surplus, and totals of another case than the payment's.
  `alter table ledger.payment_reversal
     add column current_case_id uuid, add column current_adjustment_minor bigint,
     drop constraint payment_reversal_check, drop constraint payment_reversal_check3`,
  `alter table ledger.payment_reversal add constraint payment_reversal_totals_check check (
     (current_case_id is null) = (current_adjustment_minor is null)
     and (current_case_id is not null or total_reversed_after_minor >= amount_minor)
     and (not in_balance or (adjustment_minor = -applied_minor and reapplied = '[]'))
     and adjustment_minor between -applied_minor and excess_minor
     and coalesce(current_adjustment_minor, 0) between 0 and amount_minor) not valid`,

  `create function ledger.payment_reversal_digest(
     lender_id uuid, id uuid, booking_id uuid, source_loan_number text, reference text, reversal_reference text,
     case_id uuid, cycle integer, amount_minor bigint, currency text, reversed_at timestamptz, reason text, note text,
     applied_minor bigint, excess_minor bigint, in_balance boolean, adjustment_minor bigint, reapplied jsonb,
     outstanding_after_minor bigint, total_collected_after_minor bigint, total_reversed_after_minor bigint,
     excess_after_minor bigint, status_after text, sequence bigint, warnings jsonb, recorded_at timestamptz,
     current_case_id uuid, current_adjustment_minor bigint
   ) returns bytea language sql immutable parallel safe
   return case when current_case_id is null and current_adjustment_minor is null
     then ledger.payment_reversal_digest(lender_id, id, booking_id, source_loan_number, reference, reversal_reference,
       case_id, cycle, amount_minor, currency, reversed_at, reason, note, applied_minor, excess_minor, in_balance,
       adjustment_minor, reapplied, outstanding_after_minor, total_collected_after_minor, total_reversed_after_minor,
       excess_after_minor, status_after, sequence, warnings, recorded_at)
     else sha256('payment_reversal/2,'::bytea
       || coalesce('\\x01'::bytea || uuid_send(current_case_id), '\\x00'::bytea)
       || coalesce('\\x01'::bytea || int8send(current_adjustment_minor), '\\x00'::bytea)
       || ledger.payment_reversal_digest(lender_id, id, booking_id, source_loan_number, reference, reversal_reference,
         case_id, cycle, amount_minor, currency, reversed_at, reason, note, applied_minor, excess_minor, in_balance,
         adjustment_minor, reapplied, outstanding_after_minor, total_collected_after_minor, total_reversed_after_minor,
         excess_after_minor, status_after, sequence, warnings, recorded_at))
     end`,
  `create or replace function ledger.set_payment_reversal_digest() returns trigger language plpgsql as $$
   begin
     new.digest := ledger.payment_reversal_digest(new.lender_id, new.id, new.booking_id, new.source_loan_number,
       new.reference, new.reversal_reference, new.case_id, new.cycle, new.amount_minor, new.currency, new.reversed_at,
       new.reason, new.note, new.applied_minor, new.excess_minor, new.in_balance, new.adjustment_minor, new.reapplied,
       new.outstanding_after_minor, new.total_collected_after_minor, new.total_reversed_after_minor,
       new.excess_after_minor, new.status_after, new.sequence, new.warnings, new.recorded_at, new.current_case_id,
       new.current_adjustment_minor);
     return new;
   end
   $$`,
];
