/**
 * Adds a trigger that records the cases that a field partner loses. A trigger covers every way to lose a case: an
 * order, an import that starts the loan's next cycle, and a process of an older version. It runs for updates that set
 * `assigned_field_partner_id` or `is_current`. A confirmation sets neither.
 */
export const goneCasesMigration: readonly string[] = [
  `create table cases.gone_case (
     lender_id uuid not null,
     field_partner_id uuid not null,
     case_id uuid not null,
     gone_at timestamptz not null,
     primary key (lender_id, field_partner_id, case_id)
   )`,
  "create index on cases.gone_case (field_partner_id, case_id)",
  "create index on cases.gone_case (gone_at)",
  `create function cases.remember_gone_case() returns trigger
   language plpgsql set search_path = pg_catalog, pg_temp as $$
   begin
     insert into cases.gone_case (lender_id, field_partner_id, case_id, gone_at)
     values (old.lender_id, old.assigned_field_partner_id, old.id, clock_timestamp())
     on conflict (lender_id, field_partner_id, case_id) do update set gone_at = excluded.gone_at;
     return null;
   end $$`,
  `create trigger remember_gone_case after update of assigned_field_partner_id, is_current on cases.collection_case
   for each row when (old.is_current and old.assigned_field_partner_id is not null
     and (not new.is_current or new.assigned_field_partner_id is distinct from old.assigned_field_partner_id))
   execute function cases.remember_gone_case()`,
];
