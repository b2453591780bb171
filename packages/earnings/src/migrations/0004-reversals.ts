/**
 * Lets a booking have several earnings: its commission, and a line for each reversal that changes it, which may be below
 * 0. An earning may also be reversed.
 *
 * A process of the previous version cannot write a line below 0, because it does not name `reversal_id`. It cannot pay such
 * a line out either, because the ledger has no transfer below 0. So it fails where it would pay a wrong amount.
 */
export const migration0004: readonly string[] = [
  // NOT VALID below: every existing row passed the dropped checks, which allowed less.
  `alter table earnings.earning
     add column if not exists reversal_id uuid,
     add column if not exists base_before_minor bigint,
     add column if not exists reversed_at timestamptz,
     add column if not exists reversed_by_id uuid,
     drop constraint earning_base_minor_check,
     drop constraint earning_check,
     drop constraint earning_status_check,
     drop constraint earning_check1`,
  `alter table earnings.earning add constraint earning_amount_check check (
     case when base_before_minor is null then base_minor > 0 and amount_minor > 0 and amount_minor <= base_minor
       else reversal_id is not null and base_minor >= 0 and base_before_minor >= 0 and amount_minor <> 0 end) not valid`,
  `alter table earnings.earning add constraint earning_status_check check (
     status in ('pending', 'credited', 'paid_out', 'reversed')) not valid`,
  `alter table earnings.earning add constraint earning_credited_check check (
     status = 'reversed' or (status = 'pending') = (credited_at is null)) not valid`,
  `alter table earnings.earning add constraint earning_reversed_check check (
     (status = 'reversed') = (reversed_at is not null)
     and (status = 'reversed') = (reversed_by_id is not null)) not valid`,

  // Operators of large databases create the columns and this index CONCURRENTLY before the release.
  `create unique index if not exists earning_of_reversal
     on earnings.earning (lender_id, booking_id, reversal_id) nulls not distinct`,
  `alter table earnings.earning drop constraint if exists earning_lender_id_booking_id_key`,
];
