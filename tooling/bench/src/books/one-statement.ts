import { AMOUNT, AMOUNT_MINOR, COMMISSION_STORED, EARNING_MINOR, MODE } from "../load/payment.ts";

export const BOOKING = `lender_id, id, source_loan_number, reference, case_id, cycle, amount_minor, currency, mode, raw_mode,
  paid_at, link_id, visit_id, field_partner_id, attribution, applied_minor, excess_minor, outstanding_after_minor,
  total_collected_after_minor, status_after, sequence, warnings, recorded_at`;

export const TRANSFER = `lender_id, id, debit_account, credit_account, amount_minor, currency, kind, case_id, booking_id,
  corrects, sequence, memo, effective_at, recorded_at`;

/**
 * Writes everything that the confirmation of a payment changes, in one SQL statement. No program can confirm a payment
 * faster, so the service is compared with this statement. The statement checks nothing. It assumes that the payment is
 * attributed to the field partner who holds the case, and that an amount is still owed afterwards.
 * Parameters: lender (uuid) and its code, loan, reference, time of the payment.
 */
export const CONFIRM_IN_ONE_STATEMENT = paying("c.source_loan_number = $3", "'waiting', 0, null");

/**
 * Books one payment for every loan of a lender in one SQL statement, to fill a database quickly. Writes the same rows
 * as `CONFIRM_IN_ONE_STATEMENT`. The events count as delivered, or as waiting if `$6` is true. `$3` is not used.
 */
export const PAY_EVERY_LOAN = paying(
  "$3::text is null",
  "case when $6::boolean then 'waiting' else 'delivered' end, case when $6 then 0 else 1 end, case when $6 then null else now() end",
);

function paying(loans: string, delivery: string): string {
  return `
with paid as (
  update cases.collection_case c
  set status = 'in_progress', work_begun = true, sequence = c.sequence + 1,
    outstanding_minor = c.outstanding_minor - ${AMOUNT_MINOR},
    total_collected_minor = c.total_collected_minor + ${AMOUNT_MINOR},
    last_payment_at = greatest(c.last_payment_at, $5::timestamptz), updated_at = now()
  where c.lender_id = $1 and ${loans} and c.is_current and c.outstanding_minor > ${AMOUNT_MINOR}
  returning c.lender_id, c.id as case_id, c.source_loan_number, c.cycle, c.currency::text as currency, c.status,
    c.sequence, c.outstanding_minor, c.total_collected_minor, c.assigned_field_partner_id as field_partner_id,
    c.last_visit_id as visit_id, uuidv7() as booking_id, uuidv7() as event_id
), booked as (
  insert into ledger.payment_booking (${BOOKING}, digest)
  select ${BOOKING}, ledger.payment_booking_digest(${BOOKING})
  from (
    select lender_id, booking_id as id, source_loan_number, $4::text as reference, case_id, cycle,
      ${AMOUNT_MINOR}::bigint as amount_minor, currency, '${MODE}' as mode, '${MODE}' as raw_mode,
      $5::timestamptz as paid_at, null::text as link_id, visit_id, field_partner_id, 'inferred' as attribution,
      ${AMOUNT_MINOR}::bigint as applied_minor, 0::bigint as excess_minor,
      outstanding_minor as outstanding_after_minor, total_collected_minor as total_collected_after_minor,
      status as status_after, sequence, '[]'::jsonb as warnings, now() as recorded_at
    from paid
  ) booking
), moved as (
  insert into ledger.transfer (${TRANSFER}, digest)
  select ${TRANSFER}, ledger.transfer_digest(${TRANSFER})
  from (
    select lender_id, uuidv7() as id, 'settled_direct/' || lender_id::text || '/' || currency as debit_account,
      'receivable/' || case_id::text as credit_account, ${AMOUNT_MINOR}::bigint as amount_minor, currency,
      'payment' as kind, case_id, booking_id, null::uuid as corrects, sequence, 'Payment ' || $4::text as memo,
      $5::timestamptz as effective_at, now() as recorded_at
    from paid
    union all
    select lender_id, uuidv7(), 'commission_expense/' || lender_id::text || '/' || currency,
      'pending/' || field_partner_id::text || '/' || currency, ${EARNING_MINOR}::bigint, currency,
      'commission', case_id, booking_id, null::uuid, null::bigint, 'Commission earned', now(), now()
    from paid
  ) posting
), earned as (
  insert into earnings.earning (lender_id, id, case_id, booking_id, source_loan_number, reference, field_partner_id,
    currency, base_minor, percent, amount_minor, status, earned_at)
  select lender_id, uuidv7(), case_id, booking_id, source_loan_number, $4::text, field_partner_id,
    currency, ${AMOUNT_MINOR}, ${COMMISSION_STORED}, ${EARNING_MINOR}, 'pending', now()
  from paid
), new_event as (
  insert into webhooks.event (lender_id, id, kind, source_loan_number, sequence, body, occurred_at)
  select lender_id, event_id, 'payment.collected', source_loan_number, sequence, json_build_object(
    'eventId', 'evt_' || replace(event_id::text, '-', ''), 'kind', 'payment.collected', 'version', 1,
    'env', 'sandbox', 'lenderCode', $2::text, 'occurredAt', now(), 'sourceLoanNumber', source_loan_number,
    'caseId', 'case_' || replace(case_id::text, '-', ''), 'cycle', cycle, 'sequence', sequence, 'status', status,
    'currency', currency, 'totalCollected', total_collected_minor / 100.0,
    'outstandingAfter', outstanding_minor / 100.0, 'data', json_build_object(
      'reference', $4::text, 'amount', ${AMOUNT}, 'mode', '${MODE}', 'paidAt', $5::timestamptz, 'linkId', null,
      'visitId', visit_id, 'attribution', 'inferred', 'excessAmount', 0))::text, now()
  from paid
)
insert into webhooks.delivery (lender_id, id, endpoint_id, loan, sequence, kind, state, attempts, settled_at)
select paid.lender_id, paid.event_id, e.id, paid.source_loan_number, paid.sequence, 'payment.collected', ${delivery}
from paid join webhooks.endpoint e on e.lender_id = paid.lender_id`;
}
