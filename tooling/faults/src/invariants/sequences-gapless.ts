import type { Invariant } from "./evidence.ts";

/**
 * Checks the sequences of each loan's events. Also compares the last event's sequence with the sequence in the case,
 * from which the next event continues.
 */
export const sequencesGapless: Invariant = {
  name: "the events of each loan are numbered without a gap",
  async violations({ rows }) {
    const { rows: loans } = await rows.query<{ loan: string; first: string; last: string; count: string; at: string }>(
      SELECT_BROKEN,
    );
    return loans.map(
      ({ loan, first, last, count, at }) =>
        `${loan} has ${count} events from ${first} to ${last}, and its case has sequence ${at}`,
    );
  },
};

const SELECT_BROKEN = `
  with numbered as (
    select lender_id, source_loan_number as loan, min(sequence) as first, max(sequence) as last, count(*) as count,
      count(distinct sequence) as numbers
    from webhooks.event group by 1, 2
  )
  select coalesce(n.loan, c.source_loan_number) as loan, coalesce(n.first, 0) as first, coalesce(n.last, 0) as last,
    coalesce(n.count, 0) as count, coalesce(c.sequence, 0) as at
  from numbered n
  full join (select * from cases.collection_case where is_current) c
    on c.lender_id = n.lender_id and c.source_loan_number = n.loan
  where n.first is distinct from 1 or n.last is distinct from n.count or n.numbers is distinct from n.count
    or c.sequence is distinct from n.last`;
