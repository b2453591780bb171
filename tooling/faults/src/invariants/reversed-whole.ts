import type { Invariant } from "./evidence.ts";

/**
 * A reversal is stored completely, with its event and its transfers, or it is not stored at all. This also holds for a
 * reversal that was never acknowledged.
 */
export const reversedWhole: Invariant = {
  name: "no reversal is half recorded",
  async violations({ rows }) {
    const { rows: halves } = await rows.query<{ what: string }>(SELECT_HALVES);
    return halves.map(({ what }) => what);
  },
};

/** `moved` has the transfers that take the money back: they return it from the settlement to the borrower. */
const SELECT_HALVES = `
  with reported as (
    select lender_id, source_loan_number as loan, sequence,
      (body::jsonb -> 'data' ->> 'reversalReference') as reference
    from webhooks.event where kind = 'payment.reversed'
  ), moved as (
    select lender_id, case_id, booking_id, sequence, sum(amount_minor) as amount from ledger.transfer
    where kind = 'correction' and credit_account like 'settled_direct/%' group by 1, 2, 3, 4
  )
  select format('%s of %s has %s', r.reversal_reference, r.source_loan_number, concat_ws(' and ',
    case when t.reference is null then 'no event' end,
    case when m.amount is distinct from r.amount_minor then format('transfers of %s', coalesce(m.amount, 0)) end)) as what
  from ledger.payment_reversal r
  left join reported t on t.lender_id = r.lender_id and t.loan = r.source_loan_number and t.sequence = r.sequence
    and t.reference = r.reversal_reference
  left join moved m on m.lender_id = r.lender_id and m.case_id = r.case_id and m.booking_id = r.booking_id
    and m.sequence = r.sequence
  where t.reference is null or m.amount is distinct from r.amount_minor
  union all
  select format('event %s of %s is about %s, which is not recorded', t.sequence, t.loan, t.reference)
  from reported t
  where not exists (select from ledger.payment_reversal r where r.lender_id = t.lender_id
    and r.source_loan_number = t.loan and r.reversal_reference = t.reference)
  union all
  select format('transfers of %s take a payment back, but no reversal has their sequence %s', m.amount, m.sequence)
  from moved m
  where not exists (select from ledger.payment_reversal r where r.lender_id = m.lender_id and r.case_id = m.case_id
    and r.booking_id = m.booking_id and r.sequence = m.sequence)
  union all
  select format('case %s has %s reversed, but its reversals are %s', c.source_loan_number, c.total_reversed_minor,
    coalesce(sum(r.amount_minor), 0))
  from cases.collection_case c
  left join ledger.payment_reversal r on r.lender_id = c.lender_id and r.case_id = c.id
  group by c.lender_id, c.id, c.source_loan_number, c.total_reversed_minor
  having c.total_reversed_minor <> coalesce(sum(r.amount_minor), 0)`;
