/**
 * Assigns every case without a field partner to the only one in the database, in one SQL statement. Writes the rows that
 * `case assign` writes, without its audit entries, so `ledger verify` finds no problem. The events count as delivered if
 * `$1` is true, and wait for their delivery otherwise.
 */
export const ASSIGN_EVERY_CASE = `
with assigned as (
  update cases.collection_case c
  set status = 'assigned', assigned_field_partner_id = p.id, assigned_since = now(), sequence = c.sequence + 1,
    updated_at = now()
  from field_partners.field_partner p, lenders.lender l
  where c.is_current and c.assigned_field_partner_id is null and l.id = c.lender_id
  returning c.lender_id, l.code, c.id as case_id, c.source_loan_number, c.cycle, c.currency::text as currency, c.status,
    c.sequence, c.outstanding_minor, c.total_collected_minor, p.id as field_partner_id, p.display_name,
    uuidv7() as event_id
), new_event as (
  insert into webhooks.event (lender_id, id, kind, source_loan_number, sequence, body, occurred_at)
  select lender_id, event_id, 'case.assigned', source_loan_number, sequence, json_build_object(
    'eventId', 'evt_' || replace(event_id::text, '-', ''), 'kind', 'case.assigned', 'version', 1,
    'env', 'sandbox', 'lenderCode', code, 'occurredAt', now(), 'sourceLoanNumber', source_loan_number,
    'caseId', 'case_' || replace(case_id::text, '-', ''), 'cycle', cycle, 'sequence', sequence, 'status', status,
    'currency', currency, 'totalCollected', total_collected_minor / 100.0,
    'outstandingAfter', outstanding_minor / 100.0, 'data', json_build_object('fieldPartner', json_build_object(
      'id', 'fp_' || replace(field_partner_id::text, '-', ''), 'displayName', display_name)))::text, now()
  from assigned
)
insert into webhooks.delivery (lender_id, id, endpoint_id, loan, sequence, kind, state, attempts, settled_at)
select a.lender_id, a.event_id, e.id, a.source_loan_number, a.sequence, 'case.assigned',
  case when $1::boolean then 'delivered' else 'waiting' end, case when $1 then 1 else 0 end, case when $1 then now() end
from assigned a join webhooks.endpoint e on e.lender_id = a.lender_id`;
