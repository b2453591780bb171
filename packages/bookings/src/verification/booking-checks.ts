import { ledgerCheck, type LedgerCheck } from "@collections/ledger";
import { REVERSED_BOOKINGS } from "./reversal-checks.ts";

/** The kinds of problem that only the ledger of collections can have. */
export type BookingProblemCode =
  | "BOOKING_MISSING"
  | "TRANSFERS_MISSING"
  | "BOOKING_UNLIKE_TRANSFERS"
  | "RECEIVABLE_NEGATIVE"
  | "OUTSTANDING_MISMATCH"
  | "TOTAL_COLLECTED_MISMATCH"
  | "SEQUENCE_NOT_RISING"
  | "EARNING_OUT_OF_STEP";

/** The checks of a lender's bookings, cases and earnings. Each query reads one consistent state of the database. */
export const bookingChecks: readonly LedgerCheck[] = [
  ledgerCheck(
    "bookings against their transfers",
    "ledger.verify-bookings-and-transfers",
    `with side as (
         select coalesce(b.id, t.booking_id) as id, bool_or(b.id is null) as no_booking, bool_and(t.id is null) as no_transfer,
           min(b.amount_minor) as amount, min(b.applied_minor) as applied, min(b.excess_minor) as excess,
           min(b.in_balance_minor) as in_balance,
           coalesce(sum(case when t.debit_account = 'receivable/' || t.case_id::text then t.amount_minor
             else -t.amount_minor end) filter (where t.kind = 'adjustment'), 0) as added,
           coalesce(sum(t.amount_minor) filter (where t.kind = 'payment'), 0) as moved,
           coalesce(sum(t.amount_minor) filter (where t.kind = 'excess'), 0) as moved_excess,
           bool_or(t.case_id is distinct from b.case_id or t.currency is distinct from b.currency) as elsewhere
         from (select * from ledger.payment_booking where lender_id = $1) b
         full join (select * from ledger.transfer where lender_id = $1 and booking_id is not null) t on t.booking_id = b.id
         group by coalesce(b.id, t.booking_id)
       )
       select case when no_booking then 'BOOKING_MISSING' when no_transfer then 'TRANSFERS_MISSING'
           else 'BOOKING_UNLIKE_TRANSFERS' end as code,
         'payment_booking' as "table", id::text as id,
         case when no_booking then 'Transfers name this booking, and it is not there.'
           when no_transfer then 'Nothing was moved for this booking.'
           when in_balance <> applied or coalesce(in_balance, 0) <> added
             then format('It says that %s of its %s applied was in the balance already; its adjustments added %s.',
               coalesce(in_balance, 0), applied, added)
           else format('Booked %s = %s applied + %s excess; its transfers moved %s and %s%s.', amount, applied, excess, moved,
             moved_excess, case when elsewhere then ', for another case or in another currency' else '' end) end as detail
       from side
       where no_booking or no_transfer or amount <> applied + excess or applied <> moved or excess <> moved_excess
         or in_balance <> applied or coalesce(in_balance, 0) <> added or elsewhere`,
  ),
  ledgerCheck(
    "balances after each booking",
    "ledger.verify-running-balances",
    `with line as (
         select case_id, sequence, 0 as step, 'transfer' as source, id, null::bigint as outstanding, null::bigint as total,
           0::bigint as paid,
           case when debit_account = 'receivable/' || case_id::text then amount_minor else -amount_minor end as change
         from ledger.transfer
         where lender_id = $1 and kind in ('placement', 'adjustment', 'payment', 'correction')
           and 'receivable/' || case_id::text in (debit_account, credit_account)
         union all
         select case_id, sequence, 1, 'payment_booking', id, outstanding_after_minor, total_collected_after_minor,
           amount_minor, 0
         from ledger.payment_booking where lender_id = $1
         union all
         select coalesce(current_case_id, case_id), sequence, 1, 'payment_reversal', id, outstanding_after_minor,
           total_collected_after_minor, case when current_case_id is null then -amount_minor else 0 end, 0
         from ledger.payment_reversal where lender_id = $1
         union all
         select case_id, sequence, 1, 'payment_reversal', id, null, null, -amount_minor, 0
         from ledger.payment_reversal where lender_id = $1 and current_case_id is not null
       ), walk as (
         select *, sum(change) over w as balance, sum(paid) over w as collected
         from line window w as (partition by case_id order by sequence, step, id rows unbounded preceding)
       )
       select case when step = 0 then 'RECEIVABLE_NEGATIVE' when balance <> outstanding then 'OUTSTANDING_MISMATCH'
           else 'TOTAL_COLLECTED_MISMATCH' end as code,
         source as "table", id::text as id,
         case when step = 0 then format('After it, %s is owed on case %s.', balance, case_id)
           when balance <> outstanding then format('It says %s outstanding; the lines up to it make %s.', outstanding, balance)
           else format('It says %s collected; the payments up to it make %s.', total, collected) end as detail
       from walk where (step = 0 and balance < 0) or (step = 1 and (balance <> outstanding or collected <> total))`,
  ),
  ledgerCheck(
    "sequences of bookings",
    "ledger.verify-booking-sequences",
    `select 'SEQUENCE_NOT_RISING' as code, 'payment_booking' as "table", id::text as id,
         format('Sequence %s of cycle %s follows sequence %s of cycle %s of the same loan.', sequence, cycle, previous,
           previous_cycle) as detail
       from (
         select id, sequence, cycle, lag(sequence) over w as previous, lag(cycle) over w as previous_cycle
         from ledger.payment_booking where lender_id = $1
         window w as (partition by source_loan_number order by sequence, id)
       ) b
       where sequence = previous or cycle < previous_cycle`,
  ),
  ledgerCheck(
    "steps of earnings",
    "ledger.verify-earning-steps",
    `with reversed as (
         ${REVERSED_BOOKINGS}
       ), step as (
         select t.booking_id, split_part(t.credit_account, '/', 2) as owner, t.currency,
           max(t.id::text) as last_id, bool_or(t.booking_id in (select booking_id from reversed)) as is_reversed,
           array_agg(t.amount_minor) filter (where t.kind = 'commission') as earned,
           array_agg(t.amount_minor) filter (where t.kind = 'earning_credited') as credited,
           array_agg(t.amount_minor) filter (where t.kind = 'payout') as paid
         from ledger.transfer t
         left join (select corrects from ledger.transfer where lender_id = $1 and kind = 'correction') c on c.corrects = t.id
         where t.lender_id = $1 and t.kind in ('commission', 'earning_credited', 'payout') and c.corrects is null
         group by 1, 2, 3
       )
       select 'EARNING_OUT_OF_STEP' as code, 'transfer' as "table", last_id as id,
         format('Booking %s for %s: earned %s, credited %s, paid out %s; each comes once, the same amount, after the one before.',
           booking_id, owner, coalesce(earned::text, '{}'), coalesce(credited::text, '{}'), coalesce(paid::text, '{}')) as detail
       from step
       where is_reversed is not true and (booking_id is null or coalesce(cardinality(earned), 0) <> 1
         or (credited is not null and credited <> earned) or (paid is not null and paid is distinct from credited))`,
  ),
];
