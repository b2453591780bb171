import { AMOUNT, AMOUNT_MINOR, EARNING_MINOR, MODE } from "../load/payment.ts";

/**
 * Tables for the facts of a payment and nothing else: a case, a payment, two transfers, an event and a job. They have
 * primary keys, the indexes that a lookup needs, and no checks, digests, partitions or earnings. The cases are copied from
 * those of the service.
 */
export const LEAN_TABLES = `
create schema lean;
create table lean.case (
  lender_id uuid not null, id uuid not null, loan text not null, cycle integer not null, is_current boolean not null,
  currency text not null, status text not null, sequence bigint not null, outstanding_minor bigint not null,
  total_collected_minor bigint not null, last_payment_at timestamptz, updated_at timestamptz not null,
  field_partner_id uuid, visit_id uuid, borrower_name text not null, borrower_phone text not null,
  primary key (lender_id, id)
) with (fillfactor = 75);
insert into lean.case
select lender_id, id, source_loan_number, cycle, is_current, currency, status, sequence, outstanding_minor,
  total_collected_minor, last_payment_at, updated_at, assigned_field_partner_id, last_visit_id, borrower_name, borrower_phone
from cases.collection_case;
create unique index on lean.case (lender_id, loan) where is_current;
create table lean.payment (
  lender_id uuid not null, id uuid not null, loan text not null, reference text not null, case_id uuid not null,
  amount_minor bigint not null, paid_at timestamptz not null, field_partner_id uuid, outstanding_after_minor bigint not null,
  recorded_at timestamptz not null,
  primary key (lender_id, id), unique (lender_id, loan, reference)
);
create table lean.transfer (
  lender_id uuid not null, id uuid not null, debit_account uuid not null, credit_account uuid not null,
  amount_minor bigint not null, kind smallint not null, case_id uuid not null, payment_id uuid not null,
  recorded_at timestamptz not null,
  primary key (lender_id, id)
);
create index on lean.transfer (lender_id, case_id);
create table lean.event (
  lender_id uuid not null, id uuid not null, kind text not null, loan text not null, sequence bigint not null,
  body text not null, occurred_at timestamptz not null,
  primary key (lender_id, id)
);
create table lean.job (
  lender_id uuid not null, id uuid not null, loan text not null, sequence bigint not null, state text not null,
  primary key (lender_id, id)
);
create index on lean.job (lender_id, loan, sequence) where state = 'waiting'`;

/** Writes the facts of a payment to the lean tables. The parameters are those of `CONFIRM_IN_ONE_STATEMENT`. */
export const CONFIRM_IN_LEAN_TABLES = `
with paid as (
  update lean.case c
  set status = 'in_progress', sequence = c.sequence + 1, outstanding_minor = c.outstanding_minor - ${AMOUNT_MINOR},
    total_collected_minor = c.total_collected_minor + ${AMOUNT_MINOR},
    last_payment_at = greatest(c.last_payment_at, $5::timestamptz), updated_at = now()
  where c.lender_id = $1 and c.loan = $3 and c.is_current and c.outstanding_minor > ${AMOUNT_MINOR}
  returning c.*, uuidv7() as payment_id, uuidv7() as event_id
), booked as (
  insert into lean.payment
  select lender_id, payment_id, loan, $4::text, id, ${AMOUNT_MINOR}, $5::timestamptz, field_partner_id, outstanding_minor,
    now()
  from paid
), moved as (
  insert into lean.transfer
  select lender_id, uuidv7(), lender_id, id, ${AMOUNT_MINOR}, 1, id, payment_id, now() from paid
  union all
  select lender_id, uuidv7(), lender_id, field_partner_id, ${EARNING_MINOR}, 2, id, payment_id, now() from paid
), emitted as (
  insert into lean.event
  select lender_id, event_id, 'payment.collected', loan, sequence, json_build_object(
    'eventId', 'evt_' || replace(event_id::text, '-', ''), 'kind', 'payment.collected', 'version', 1,
    'env', 'sandbox', 'lenderCode', $2::text, 'occurredAt', now(), 'sourceLoanNumber', loan,
    'caseId', 'case_' || replace(id::text, '-', ''), 'cycle', cycle, 'sequence', sequence, 'status', status,
    'currency', currency, 'totalCollected', total_collected_minor / 100.0,
    'outstandingAfter', outstanding_minor / 100.0, 'data', json_build_object(
      'reference', $4::text, 'amount', ${AMOUNT}, 'mode', '${MODE}', 'paidAt', $5::timestamptz, 'linkId', null,
      'visitId', visit_id, 'attribution', 'inferred', 'excessAmount', 0))::text, now()
  from paid
)
insert into lean.job select lender_id, event_id, loan, sequence, 'waiting' from paid`;
