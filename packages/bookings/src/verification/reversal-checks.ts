import { ledgerCheck, type LedgerCheck } from "@collections/ledger";

/** The kinds of problem that concern the reversals of payments. */
export type ReversalProblemCode =
  | "REVERSAL_MISSING"
  | "REVERSAL_UNLIKE_TRANSFERS"
  | "REVERSAL_UNLIKE_BOOKING"
  | "REVERSALS_EXCEED_BOOKING"
  | "REVERSAL_TOTAL_MISMATCH"
  | "REVERSED_EARNING_OUT_OF_STEP";

/**
 * Selects the bookings of the lender $1 whose earnings may have changed after the payment: by a reversal, or because
 * excess of the payment was applied later.
 */
export const REVERSED_BOOKINGS = `select booking_id from ledger.payment_reversal where lender_id = $1
         union select (h.held->>'bookingId')::uuid
         from ledger.payment_reversal r cross join lateral jsonb_array_elements(r.reapplied) h (held) where r.lender_id = $1
         union select booking_id from ledger.transfer where lender_id = $1 and kind = 'correction'
           and debit_account like 'excess/%' and credit_account like 'receivable/%'`;

/**
 * The checks of a lender's reversals. A correction that returns money of a payment must have a reversal. Other corrections
 * may undo a transfer that was posted by mistake. The transfers of a reversal have the sequence of its event, and no other
 * transfer of the case has this sequence. The credited part of an earning may be below 0 only by the amount that reversals
 * have taken from it and that no payout has deducted yet. Its other parts are never below 0.
 */
export const reversalChecks: readonly LedgerCheck[] = [
  ledgerCheck(
    "reversals against their transfers",
    "ledger.verify-reversals-and-transfers",
    `with returned as (
         select case_id, sequence, booking_id, min(id::text) as transfer_id, min(currency::text) as currency,
           coalesce(sum(amount_minor) filter (where debit_account like 'receivable/%'), 0) as applied,
           coalesce(sum(amount_minor) filter (where debit_account like 'excess/%'), 0) as excess,
           min(effective_at) as earliest, max(effective_at) as latest
         from ledger.transfer
         where lender_id = $1 and kind = 'correction' and booking_id is not null
           and credit_account like 'settled_direct/%'
         group by case_id, sequence, booking_id
       ), adjusted as (
         select t.case_id, t.sequence,
           sum(case when t.debit_account like 'receivable/%' then t.amount_minor else -t.amount_minor end) as amount
         from ledger.transfer t
         where t.lender_id = $1 and t.kind = 'adjustment' group by t.case_id, t.sequence
       ), reapplied as (
         select case_id, sequence, booking_id, sum(amount_minor) as amount from ledger.transfer
         where lender_id = $1 and kind = 'correction' and debit_account like 'excess/%' and credit_account like 'receivable/%'
         group by case_id, sequence, booking_id
       ), said as (
         select r.case_id, r.sequence, (h.held->>'bookingId')::uuid as booking_id, sum((h.held->>'amountMinor')::bigint) as amount
         from ledger.payment_reversal r cross join lateral jsonb_array_elements(r.reapplied) h (held)
         where r.lender_id = $1 group by 1, 2, 3
       ), unlike as (
         select coalesce(s.case_id, m.case_id) as case_id, coalesce(s.sequence, m.sequence) as sequence
         from said s full join reapplied m
           on m.case_id = s.case_id and m.sequence = s.sequence and m.booking_id = s.booking_id
         where s.amount is distinct from m.amount
       )
       select case when r.id is null then 'REVERSAL_MISSING' else 'REVERSAL_UNLIKE_TRANSFERS' end as code,
         case when r.id is null then 'transfer' else 'payment_reversal' end as "table",
         coalesce(r.id::text, m.transfer_id) as id,
         case when r.id is null then 'It returned money of a payment, and no reversal has its case and its sequence.'
           else format('It took back %s applied and %s excess with an adjustment of %s, at %s; its transfers moved %s, %s and %s, at %s%s.',
             r.applied_minor, r.excess_minor, r.adjustment_minor, r.reversed_at at time zone 'UTC', coalesce(m.applied, 0),
             coalesce(m.excess, 0), coalesce(a.amount, 0), m.earliest at time zone 'UTC',
             case when u.sequence is null then '' else ', and other excess of other payments' end) end as detail
       from (select * from ledger.payment_reversal where lender_id = $1) r
       full join returned m on m.case_id = r.case_id and m.sequence = r.sequence and m.booking_id = r.booking_id
       left join adjusted a on a.case_id = r.case_id and a.sequence = r.sequence
       left join (select distinct case_id, sequence from unlike) u on u.case_id = r.case_id and u.sequence = r.sequence
       where r.id is null or m.applied is distinct from r.applied_minor or m.excess is distinct from r.excess_minor
         or coalesce(a.amount, 0) <> r.adjustment_minor or m.currency <> r.currency::text
         or m.earliest <> r.reversed_at or m.latest <> r.reversed_at or u.sequence is not null
       union all
       select 'REVERSAL_MISSING', 'transfer', u.case_id::text, format('Excess was applied on case %s at sequence %s, and no reversal did it.',
         u.case_id, u.sequence)
       from (select distinct case_id, sequence from unlike) u
       where not exists (select from ledger.payment_reversal r
         where r.lender_id = $1 and r.case_id = u.case_id and r.sequence = u.sequence)`,
  ),
  ledgerCheck(
    "reversals against their bookings",
    "ledger.verify-reversals-and-bookings",
    `with change as (
         select booking_id, amount_minor as amount, applied_minor as applied, excess_minor as excess
         from ledger.payment_reversal where lender_id = $1
         union all
         select (h.held->>'bookingId')::uuid, 0, -(h.held->>'amountMinor')::bigint, (h.held->>'amountMinor')::bigint
         from ledger.payment_reversal r cross join lateral jsonb_array_elements(r.reapplied) h (held) where r.lender_id = $1
       ), taken as (
         select booking_id, sum(amount) as amount, sum(applied) as applied, sum(excess) as excess from change group by booking_id
       )
       select 'REVERSALS_EXCEED_BOOKING' as code, 'payment_booking' as "table", t.booking_id::text as id,
         format('Booked %s = %s applied + %s excess; reversals took %s of it, with %s and %s.', b.amount_minor, b.applied_minor,
           b.excess_minor, t.amount, t.applied, t.excess) as detail
       from taken t left join ledger.payment_booking b on b.lender_id = $1 and b.id = t.booking_id
       where b.id is not null
         and (t.amount > b.amount_minor or t.applied > b.applied_minor or t.excess > b.excess_minor)
       union all
       select 'REVERSAL_UNLIKE_BOOKING', 'payment_reversal', r.id::text,
         case when b.id is null then format('It names booking %s, which is not there.', r.booking_id)
           else format('It has another loan, case, reference or currency than booking %s, or is older.', r.booking_id) end
       from ledger.payment_reversal r left join ledger.payment_booking b on b.lender_id = $1 and b.id = r.booking_id
       where r.lender_id = $1 and (b.id is null or b.source_loan_number <> r.source_loan_number or b.case_id <> r.case_id
         or b.cycle <> r.cycle or b.reference <> r.reference or b.currency <> r.currency or r.reversed_at < b.paid_at)`,
  ),
  ledgerCheck(
    "totals after each reversal",
    "ledger.verify-reversal-totals",
    `with line as (
         select case_id, sequence, id, excess_minor as excess, 0::bigint as reversed, null::bigint as said_excess,
           null::bigint as said_reversed
         from ledger.payment_booking where lender_id = $1
         union all
         select r.case_id, r.sequence, r.id,
           -r.excess_minor - coalesce((select sum((h.held->>'amountMinor')::bigint) from jsonb_array_elements(r.reapplied) h (held)), 0),
           r.amount_minor, r.excess_after_minor, r.total_reversed_after_minor
         from ledger.payment_reversal r where r.lender_id = $1
       ), walk as (
         select *, sum(excess) over w as held, sum(reversed) over w as total
         from line window w as (partition by case_id order by sequence, id rows unbounded preceding)
       )
       select 'REVERSAL_TOTAL_MISMATCH' as code, 'payment_reversal' as "table", id::text as id,
         format('It says %s reversed and %s excess; the payments and reversals up to it make %s and %s.', said_reversed,
           said_excess, total, held) as detail
       from walk where said_reversed is not null and (said_reversed <> total or said_excess <> held)`,
  ),
  ledgerCheck(
    "earnings of reversed payments",
    "ledger.verify-reversed-earnings",
    `with reversed as (
         ${REVERSED_BOOKINGS}
       ), moved as (
         select t.booking_id, split_part(s.account, '/', 2) as owner, max(t.id::text) as last_id,
           sum(case when split_part(s.account, '/', 1) = 'pending' then s.change else 0 end) as pending,
           sum(s.change) as earned,
           coalesce(sum(s.change) filter (where split_part(s.account, '/', 1) = 'credited'), 0) as credited,
           coalesce(sum(s.change) filter (where split_part(s.account, '/', 1) = 'paid'), 0) as paid,
           coalesce(sum(t.amount_minor) filter (where t.kind = 'correction' and s.account = t.debit_account
             and s.account like 'credited/%' and t.credit_account like 'commission_expense/%'), 0) as taken,
           coalesce(sum(t.amount_minor) filter (where t.kind = 'correction' and s.account = t.credit_account
             and s.account like 'credited/%' and t.debit_account like 'paid/%' and t.memo like 'Paid out: %'), 0) as deducted
         from ledger.transfer t
         cross join lateral (values (t.debit_account, -t.amount_minor), (t.credit_account, t.amount_minor)) s (account, change)
         where t.lender_id = $1 and t.booking_id in (select booking_id from reversed)
           and split_part(s.account, '/', 1) in ('pending', 'credited', 'paid')
         group by 1, 2
       )
       select 'REVERSED_EARNING_OUT_OF_STEP' as code, 'transfer' as "table", last_id as id,
         format('Booking %s for %s: pending %s, credited %s, paid out %s; reversals took %s of the credited part, and payouts deducted %s.',
           booking_id, owner, pending, credited, paid, taken, deducted) as detail
       from moved where earned < 0 or pending < 0 or paid < 0 or credited + taken - deducted < 0`,
  ),
];
