/** Returns the status and the band of `dpd` that `cases.search_state` has for a row of a case. */
function stateOf(row: string): string {
  return `case when ${row}is_current and ${row}status in ('on_hold', 'closed', 'withdrawn') then ${row}status end,
    case when ${row}is_current then (${row}dpd + 29) / 30 end`;
}

/**
 * Adds a table that finds cases by status and by days past due. It contains only what a payment and a daily import
 * seldom change: a status that no payment sets, and the band of 30 days that contains `dpd` (0, 1 to 30, 31 to 60 …).
 * A case has a row from the first time when it has one of the two.
 *
 * Triggers write the rows, so that a process of an older version keeps them, too. SECURITY DEFINER, because the role of
 * the service gets its rights on the table only after the migration. The upsert never deletes: a row that is being
 * filled by another transaction would not be visible, and would remain.
 *
 * On a cluster the table is distributed here, and not by `distribute` after the migrations: the trigger runs on the
 * nodes of the cases as soon as it exists.
 */
export const searchStatesMigration: readonly string[] = [
  `create table if not exists cases.search_state (
     lender_id uuid not null,
     case_id uuid not null,
     status text check (status in ('on_hold', 'closed', 'withdrawn')),
     dpd_band integer,
     primary key (lender_id, case_id)
   )`,
  `do $$
   declare
     is_cluster boolean := false;
   begin
     if exists (select 1 from pg_extension where extname = 'citus') then
       execute 'select exists (select 1 from pg_dist_partition where logicalrelid = ''cases.collection_case''::regclass)
         and not exists (select 1 from pg_dist_partition where logicalrelid = ''cases.search_state''::regclass)'
         into is_cluster;
     end if;
     if is_cluster then
       perform create_distributed_table('cases.search_state', 'lender_id', colocate_with => 'cases.collection_case');
     end if;
   end $$`,
  `create or replace function cases.record_search_state() returns trigger
   language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
   begin
     insert into cases.search_state (lender_id, case_id, status, dpd_band)
     values (new.lender_id, new.id, ${stateOf("new.")})
     on conflict (lender_id, case_id) do update set status = excluded.status, dpd_band = excluded.dpd_band;
     return null;
   end $$`,
  `do $$
   begin
     if not exists (select 1 from pg_trigger where tgrelid = 'cases.collection_case'::regclass and tgname = 'record_search_state') then
       create trigger record_search_state after insert on cases.collection_case
       for each row when (new.is_current and (new.dpd is not null or new.status in ('on_hold', 'closed', 'withdrawn')))
       execute function cases.record_search_state();
     end if;
     if not exists (select 1 from pg_trigger where tgrelid = 'cases.collection_case'::regclass and tgname = 'change_search_state') then
       create trigger change_search_state after update of status, dpd, is_current on cases.collection_case
       for each row when ((${stateOf("old.")}) is distinct from (${stateOf("new.")}))
       execute function cases.record_search_state();
     end if;
   end $$`,
  `insert into cases.search_state (lender_id, case_id, status, dpd_band)
   select c.lender_id, c.id, ${stateOf("c.")} from cases.collection_case c
   where c.is_current and (c.dpd is not null or c.status in ('on_hold', 'closed', 'withdrawn'))
     and not exists (select 1 from cases.search_state s where s.lender_id = c.lender_id and s.case_id = c.id)
   order by c.lender_id, c.id
   on conflict do nothing`,
  `create index if not exists search_state_of_status on cases.search_state (lender_id, status, case_id)
     where status is not null`,
  `create index if not exists search_state_of_dpd on cases.search_state (lender_id, dpd_band, case_id)
     where dpd_band is not null`,
];
