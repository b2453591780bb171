import { type Statement, statement } from "@collections/database";
import { bookings } from "../books/booking.ts";
import { GENESIS, ROW_DIGESTS } from "./chain.ts";
import { transfers } from "../books/transfer.ts";

/** The kinds of problem that a verification can find. */
export type ProblemCode =
  | "CONTENT_CHANGED"
  | "BOOKING_MISSING"
  | "TRANSFERS_MISSING"
  | "BOOKING_UNLIKE_TRANSFERS"
  | "RECEIVABLE_NEGATIVE"
  | "OUTSTANDING_MISMATCH"
  | "TOTAL_COLLECTED_MISMATCH"
  | "SEQUENCE_NOT_RISING"
  | "ACCOUNT_MISSING"
  | "CURRENCY_MISMATCH"
  | "CORRECTS_NOTHING"
  | "EARNING_OUT_OF_STEP"
  | "UNBALANCED"
  | "CHAIN_BROKEN"
  | "BLOCK_MISMATCH"
  | "ROW_MISSING"
  | "ROW_OUTSIDE_CHAIN";

export interface Check {
  /** The name shown as progress of a long verification. */
  readonly name: string;
  /** Returns a row {code, table, id, detail, total} for each problem of the lender $1, or no row if there is no problem. */
  readonly problemsOf: Statement;
  /** A cheap query that returns one row {suspect}. `problemsOf` is not run if `suspect` is false. */
  readonly suspectedBy?: Statement;
  /** True if the check is about payments, cases or earnings, which other charts do not have. */
  readonly ofCollections?: true;
  /** True if both queries take a parameter $2: rows recorded before this time must be in the chain. */
  readonly needsChainedUntil?: true;
}

/** This check runs only if the trial balance shows transfers whose account is missing or has another currency. */
export const accountsCheck: Check = {
  name: "accounts of transfers",
  problemsOf: check(
    "accounts",
    `select case when d.id is null or c.id is null then 'ACCOUNT_MISSING' else 'CURRENCY_MISMATCH' end as code,
       'transfer' as "table", t.id::text as id,
       format('%s %s to %s; the accounts are in %s and %s.', t.currency, t.debit_account, t.credit_account,
         coalesce(d.currency::text, 'no books'), coalesce(c.currency::text, 'no books')) as detail
     from ledger.transfer t
     left join ledger.account d on d.lender_id = $1 and d.id = t.debit_account
     left join ledger.account c on c.lender_id = $1 and c.id = t.credit_account
     where t.lender_id = $1
       and (d.currency is distinct from t.currency or c.currency is distinct from t.currency)`,
  ),
};

/** The other checks of a lender's ledger. Each query reads one consistent state of the database. */
export const checks: readonly Check[] = [
  {
    name: "contents of transfers",
    problemsOf: check(
      "transfer-contents",
      `select 'CONTENT_CHANGED' as code, 'transfer' as "table", t.id::text as id,
         'The row is not what was written: its digest does not fit its columns.' as detail
       from ledger.transfer t where t.lender_id = $1 and t.digest is distinct from ${transfers.digestOf("t")}`,
    ),
  },
  {
    name: "contents of bookings",
    problemsOf: check(
      "booking-contents",
      `select 'CONTENT_CHANGED' as code, 'payment_booking' as "table", b.id::text as id,
         'The row is not what was written: its digest does not fit its columns.' as detail
       from ledger.payment_booking b where b.lender_id = $1 and b.digest is distinct from ${bookings.digestOf("b")}`,
    ),
  },
  {
    name: "bookings against their transfers",
    ofCollections: true,
    problemsOf: check(
      "bookings-and-transfers",
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
  },
  {
    name: "balances after each booking",
    ofCollections: true,
    problemsOf: check(
      "running-balances",
      `with line as (
         select case_id, sequence, 0 as step, id, null::bigint as outstanding, null::bigint as total, 0::bigint as paid,
           case when debit_account = 'receivable/' || case_id::text then amount_minor else -amount_minor end as change
         from ledger.transfer
         where lender_id = $1 and kind in ('placement', 'adjustment', 'payment', 'correction')
           and 'receivable/' || case_id::text in (debit_account, credit_account)
         union all
         select case_id, sequence, 1, id, outstanding_after_minor, total_collected_after_minor, amount_minor, 0
         from ledger.payment_booking where lender_id = $1
       ), walk as (
         select *, sum(change) over w as balance, sum(paid) over w as collected
         from line window w as (partition by case_id order by sequence, step, id rows unbounded preceding)
       )
       select case when step = 0 then 'RECEIVABLE_NEGATIVE' when balance <> outstanding then 'OUTSTANDING_MISMATCH'
           else 'TOTAL_COLLECTED_MISMATCH' end as code,
         case step when 0 then 'transfer' else 'payment_booking' end as "table", id::text as id,
         case when step = 0 then format('After it, %s is owed on case %s.', balance, case_id)
           when balance <> outstanding then format('It says %s outstanding; the lines up to it make %s.', outstanding, balance)
           else format('It says %s collected; the payments up to it make %s.', total, collected) end as detail
       from walk where (step = 0 and balance < 0) or (step = 1 and (balance <> outstanding or collected <> total))`,
    ),
  },
  {
    name: "sequences of bookings",
    ofCollections: true,
    problemsOf: check(
      "booking-sequences",
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
  },
  {
    name: "corrections",
    problemsOf: check(
      "corrections",
      `select 'CORRECTS_NOTHING' as code, 'transfer' as "table", t.id::text as id,
         format('It corrects transfer %s, which is not there.', t.corrects) as detail
       from ledger.transfer t
       where t.lender_id = $1 and t.corrects is not null
         and not exists (select from ledger.transfer o where o.lender_id = $1 and o.id = t.corrects)`,
    ),
  },
  {
    name: "steps of earnings",
    ofCollections: true,
    problemsOf: check(
      "earning-steps",
      `with step as (
         select t.booking_id, split_part(t.credit_account, '/', 2) as owner, t.currency,
           max(t.id::text) as last_id,
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
       where booking_id is null or coalesce(cardinality(earned), 0) <> 1
         or (credited is not null and credited <> earned) or (paid is not null and paid is distinct from credited)`,
    ),
  },
  {
    name: "links of the chain",
    problemsOf: check(
      "chain-links",
      `select 'CHAIN_BROKEN' as code, 'chain_block' as "table", number::text as id,
         case when number <> expected_number then format('Block %s should come here.', expected_number)
           when previous_hash <> expected_previous then 'It does not name the hash of the block before it.'
           else 'Its hash does not fit its content.' end as detail
       from (
         select number, previous_hash, hash, coalesce(lag(number) over w, 0) + 1 as expected_number,
           coalesce(lag(hash) over w, ${GENESIS}) as expected_previous,
           ledger.chain_block_hash(lender_id, number, row_count, rows_hash, previous_hash, last_id, created_at) as expected
         from ledger.chain_block where lender_id = $1
         window w as (order by number)
       ) b
       where number <> expected_number or previous_hash <> expected_previous or hash <> expected`,
    ),
  },
  {
    name: "rows of the chain",
    needsChainedUntil: true,
    suspectedBy: statement(
      "ledger.verify-chain-suspect",
      `with found as (
         select m.number, t.id, t.digest, t.recorded_at
         from (select number, unnest(transfer_ids) as id from ledger.chain_block where lender_id = $1) m
         full join (select * from ledger.transfer where lender_id = $1) t on t.id = m.id
         union all
         select m.number, b.id, b.digest, b.recorded_at
         from (select number, unnest(booking_ids) as id from ledger.chain_block where lender_id = $1) m
         full join (select * from ledger.payment_booking where lender_id = $1) b on b.id = m.id
       ), part as (
         select number, count(id) as row_count, sha256(${ROW_DIGESTS} filter (where number is not null)) as rows_hash,
           count(*) filter (where number is null and recorded_at < $2) as outside
         from found group by number
       )
       select coalesce(bool_or(p.outside > 0 or p.row_count is distinct from b.row_count
         or p.rows_hash is distinct from b.rows_hash), false) as suspect
       from part p
       full join (select * from ledger.chain_block where lender_id = $1) b on b.number = p.number
       where p.outside > 0 or b.number is not null`,
    ),
    problemsOf: check(
      "chain-rows",
      `with member as (
         select number, 'transfer' as source, unnest(transfer_ids) as id from ledger.chain_block where lender_id = $1
         union all
         select number, 'payment_booking', unnest(booking_ids) from ledger.chain_block where lender_id = $1
       ), row_of as (
         select 'transfer' as source, id, digest, recorded_at from ledger.transfer where lender_id = $1
         union all
         select 'payment_booking', id, digest, recorded_at from ledger.payment_booking where lender_id = $1
       ), found as materialized (
         select m.number, source, id, r.digest, r.recorded_at from member m full join row_of r using (source, id)
       )
       select 'ROW_MISSING' as code, source as "table", id::text as id,
         format('It is in block %s, and it is not there any more.', number) as detail
       from found where digest is null
       union all
       select 'ROW_OUTSIDE_CHAIN', source, id::text,
         format('Recorded at %s and in no block: extend the chain over everything.', recorded_at at time zone 'UTC')
       from found where number is null and recorded_at < $2
       union all
       select 'BLOCK_MISMATCH', 'chain_block', b.number::text, 'Its rows are not those that it was made of.'
       from ledger.chain_block b
       left join (
         select number, count(digest) as row_count, sha256(${ROW_DIGESTS}) as rows_hash
         from found where number is not null group by number
       ) f on f.number = b.number
       where b.lender_id = $1
         and (f.row_count is distinct from b.row_count or f.rows_hash is distinct from b.rows_hash)`,
    ),
  },
];

/** The checks that hold for every chart. */
export const generalChecks: readonly Check[] = checks.filter(({ ofCollections }) => !ofCollections);

// MATERIALIZED makes the planner expect to read all problems. Otherwise it would plan for the first 1,000 rows.
function check(name: string, text: string): Statement {
  return statement(
    `ledger.verify-${name}`,
    `with problem as materialized (${text}) select *, (select count(*) from problem) as total from problem limit 1000`,
  );
}
