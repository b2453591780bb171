/**
 * Allows further lines without a reversal that raise the commission: balances may apply excess of a payment. The function
 * keeps its parameters, so the constraint stays as it is.
 */
export const migration0006: readonly string[] = [
  // One line for the payment itself, and one for each reversal. Operators of large databases create both indexes
  // CONCURRENTLY before the release.
  `create unique index if not exists earning_of_payment on earnings.earning (lender_id, booking_id)
     where base_before_minor is null`,
  `create unique index if not exists earning_of_one_reversal on earnings.earning (lender_id, booking_id, reversal_id)
     where reversal_id is not null`,
  "drop index earnings.earning_of_reversal",
  `create or replace function earnings.valid_earning(currency text, base_minor bigint, percent bigint, amount_minor bigint,
     status text, credited_at timestamptz, paid_out_at timestamptz, payout_id uuid, reversal_id uuid,
     base_before_minor bigint, reversed_at timestamptz, reversed_by_id uuid)
   returns boolean language plpgsql immutable parallel safe as $$ begin
     return currency ~ '^[A-Z]{3}$' and percent between 1 and 1000000
       and case when base_before_minor is null then base_minor > 0 and amount_minor > 0 and amount_minor <= base_minor
         else (reversal_id is not null or amount_minor > 0) and base_minor >= 0 and base_before_minor >= 0
           and amount_minor <> 0 end
       and status in ('pending', 'credited', 'paid_out', 'reversed')
       and (status = 'reversed' or (status = 'pending') = (credited_at is null))
       and (status = 'paid_out') = (paid_out_at is not null) and (status = 'paid_out') = (payout_id is not null)
       and (status = 'reversed') = (reversed_at is not null) and (status = 'reversed') = (reversed_by_id is not null);
   end $$`,
];
