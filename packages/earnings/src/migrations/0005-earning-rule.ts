import { checkByFunction } from "@collections/database";

/** Replaces the CHECK constraints of earnings by one function, because most confirmations add an earning. */
export const migration0005: readonly string[] = checkByFunction({
  table: "earnings.earning",
  name: "valid_earning",
  columns: {
    currency: "text",
    base_minor: "bigint",
    percent: "bigint",
    amount_minor: "bigint",
    status: "text",
    credited_at: "timestamptz",
    paid_out_at: "timestamptz",
    payout_id: "uuid",
    reversal_id: "uuid",
    base_before_minor: "bigint",
    reversed_at: "timestamptz",
    reversed_by_id: "uuid",
  },
  body: `return currency ~ '^[A-Z]{3}$' and percent between 1 and 1000000
    and case when base_before_minor is null then base_minor > 0 and amount_minor > 0 and amount_minor <= base_minor
      else reversal_id is not null and base_minor >= 0 and base_before_minor >= 0 and amount_minor <> 0 end
    and status in ('pending', 'credited', 'paid_out', 'reversed')
    and (status = 'reversed' or (status = 'pending') = (credited_at is null))
    and (status = 'paid_out') = (paid_out_at is not null) and (status = 'paid_out') = (payout_id is not null)
    and (status = 'reversed') = (reversed_at is not null) and (status = 'reversed') = (reversed_by_id is not null);`,
  replaces: [
    "earning_currency_check",
    "earning_percent_check",
    "earning_amount_check",
    "earning_status_check",
    "earning_credited_check",
    "earning_check2",
    "earning_check3",
    "earning_reversed_check",
  ],
});
