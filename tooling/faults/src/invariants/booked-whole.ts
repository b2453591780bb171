import type { Invariant } from "./evidence.ts";

/**
 * A payment is stored completely, with its event and its transfers, or it is not stored at all. This also holds for a
 * payment that was never acknowledged.
 */
export const bookedWhole: Invariant = {
  name: "no payment is half booked",
  async violations({ rows }) {
    const { rows: halves } = await rows.query<{ what: string }>(SELECT_HALVES);
    return halves.map(({ what }) => what);
  },
};

const SELECT_HALVES = `
  with reported as (
    select lender_id, source_loan_number as loan, sequence, (body::jsonb -> 'data' ->> 'reference') as reference
    from webhooks.event where kind = 'payment.collected'
  ), moved as (
    select lender_id, booking_id, sum(amount_minor) as amount from ledger.transfer
    where booking_id is not null and kind in ('payment', 'excess') group by 1, 2
  )
  select format('%s of %s has %s', b.reference, b.source_loan_number, concat_ws(' and ',
    case when t.reference is null then 'no event' end,
    case when m.amount is distinct from b.amount_minor then format('transfers of %s', coalesce(m.amount, 0)) end)) as what
  from ledger.payment_booking b
  left join reported t on t.lender_id = b.lender_id and t.loan = b.source_loan_number and t.sequence = b.sequence
    and t.reference = b.reference
  left join moved m on m.lender_id = b.lender_id and m.booking_id = b.id
  where t.reference is null or m.amount is distinct from b.amount_minor
  union all
  select format('event %s of %s is about %s, which is not booked', t.sequence, t.loan, t.reference)
  from reported t
  where not exists (select from ledger.payment_booking b
    where b.lender_id = t.lender_id and b.source_loan_number = t.loan and b.reference = t.reference)
  union all
  select format('transfers of %s refer to a booking that does not exist', m.amount)
  from moved m
  where not exists (select from ledger.payment_booking b where b.lender_id = m.lender_id and b.id = m.booking_id)
  union all
  select format('case %s has %s collected, but its bookings minus its reversals are %s', c.source_loan_number,
    c.total_collected_minor, paid.amount - returned.amount)
  from cases.collection_case c
  cross join lateral (select coalesce(sum(b.amount_minor), 0) as amount from ledger.payment_booking b
    where b.lender_id = c.lender_id and b.case_id = c.id) paid
  cross join lateral (select coalesce(sum(r.amount_minor), 0) as amount from ledger.payment_reversal r
    where r.lender_id = c.lender_id and r.case_id = c.id) returned
  where c.total_collected_minor <> paid.amount - returned.amount`;
