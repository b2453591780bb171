/** What must never be, whatever ends in the middle of a mutation: a half of something, and a gap. */
export const WRONG_THINGS = `
  select 'a claim without a result' as what, key::text as which from field_partners.mutation_result where result is null
  union all
  select 'a gap in the events of', source_loan_number from webhooks.event
  group by lender_id, source_loan_number having min(sequence) <> 1 or max(sequence) <> count(*)
  union all
  select 'not the sequence of its events', c.source_loan_number from cases.collection_case c
  where c.sequence <> (select max(sequence) from webhooks.event e
    where e.lender_id = c.lender_id and e.source_loan_number = c.source_loan_number)
  union all
  select 'a visit without one event of its ' || step, v.id::text
  from cases.visit v cross join unnest(array['started', 'completed']) step
  where (step = 'started' or v.completed_at is not null) and 1 <> (select count(*) from webhooks.event e
    where e.kind = 'visit.' || step and e.body like '%vis_' || replace(v.id::text, '-', '') || '%')
  union all
  select 'a link that nobody asked for', l.id::text from payment_links.payment_link l
  where not exists (select from field_partners.mutation_result r
    where r.mutation = 'requestPaymentLink' and r.result -> 'done' ->> 'linkId' = l.id::text)
  union all
  select 'a visit that nobody began', v.id::text from cases.visit v
  where not exists (select from field_partners.mutation_result r
    where r.mutation = 'startVisit' and r.result -> 'done' ->> 'visitId' = v.id::text)`;
