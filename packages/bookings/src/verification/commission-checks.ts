import { ledgerCheck, type LedgerCheck } from "@collections/ledger";

/** The kinds of problem that concern field partners' commissions. */
export type CommissionProblemCode = "COMMISSION_UNLIKE_BOOKING";

const owner = (account: string) =>
  `case when split_part(t.${account}, '/', 1) in ('pending', 'credited', 'paid') then split_part(t.${account}, '/', 2) end`;

const isBetween = (account: string, other: string) =>
  `t.${account} like 'receivable/%' and split_part(t.${other}, '/', 1) in ('settled_direct', 'excess')`;

/**
 * Checks that the transfers of each booking's commission belong to its field partner, and that they add up to the
 * commission on the amount that is applied now, at the booking's rate. A booking of an older version has no rate, so
 * only its field partner is compared. The applied amount comes from the transfers, so that excess counts that a reversal
 * or an import has applied later. Half a minor unit is rounded to the even neighbour, as `percentOf` does.
 */
export const commissionChecks: readonly LedgerCheck[] = [
  ledgerCheck(
    "commissions against their bookings",
    "ledger.verify-commissions",
    `with moved as (
         select t.booking_id,
           coalesce(sum(case when t.debit_account like 'commission_expense/%' then t.amount_minor
             when t.credit_account like 'commission_expense/%' then -t.amount_minor end), 0) as earned,
           coalesce(sum(case when t.kind not in ('payment', 'correction') then 0
             when ${isBetween("credit_account", "debit_account")} then t.amount_minor
             when ${isBetween("debit_account", "credit_account")} then -t.amount_minor end), 0) as applied,
           min(least(${owner("debit_account")}, ${owner("credit_account")})) as first_owner,
           max(greatest(${owner("debit_account")}, ${owner("credit_account")})) as last_owner
         from ledger.transfer t
         where t.lender_id = $1 and t.booking_id is not null group by t.booking_id
       ), due as (
         select b.id, b.field_partner_id::text as field_partner, b.commission_percent, m.earned, m.applied, m.first_owner,
           m.last_owner,
           case when b.field_partner_id is null then 0
             else div(x.product, 1000000) + case when mod(x.product, 1000000) > 500000
               or (mod(x.product, 1000000) = 500000 and mod(div(x.product, 1000000), 2) = 1) then 1 else 0 end end as minor
         from ledger.payment_booking b
         join moved m on m.booking_id = b.id
         cross join lateral (select m.applied::numeric * b.commission_percent as product) x
         where b.lender_id = $1
       )
       select 'COMMISSION_UNLIKE_BOOKING' as code, 'payment_booking' as "table", id::text as id,
         case when first_owner <> field_partner or last_owner <> field_partner or (field_partner is null and first_owner is not null)
           then format('Transfers of its commission belong to %s; the field partner of the booking is %s.',
             case when first_owner = last_owner then first_owner else first_owner || ' and ' || last_owner end,
             coalesce(field_partner, 'none'))
           else format('%s are applied, which earns %s; its transfers add up to %s (minor units).', applied, minor, earned)
         end as detail
       from due
       where first_owner <> field_partner or last_owner <> field_partner or (field_partner is null and first_owner is not null)
         or earned <> minor`,
  ),
];
