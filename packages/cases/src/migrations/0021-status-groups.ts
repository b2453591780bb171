const INDEXED = "('on_hold', 'closed', 'withdrawn')";

/** Returns `status` and `dpd_band` for a row of a case, as in 0018-search-states.ts. */
function stateOf(row: string): string {
  return `case when ${row}is_current and ${row}status in ${INDEXED} then ${row}status end,
       case when ${row}is_current then (${row}dpd + 29) / 30 end`;
}

/** Returns `status_group` for a row of a case. */
function groupOf(row: string): string {
  return `case when ${row}is_current then case when ${row}status in ${INDEXED} then ${row}status else 'open' end
       || case when ${row}assigned_field_partner_id is null then '_unassigned' else '' end end`;
}

/**
 * Adds to `cases.search_state` the group of a case: a status that no payment sets, or `open`, and whether no field partner has
 * the case. The group is null for a case of an earlier cycle. The new indexes also find the cases that match two filters, of which
 * each matches many cases: the group and the days past due, the group and the last visit, or the days past due and the
 * last visit. They replace the indexes of one filter.
 *
 * Triggers write the group, so that a process of an older version writes it, too: see 0018-search-states.ts.
 */
export const statusGroupsMigration: readonly string[] = [
  // Locks the cases before the table, as a confirmation does. If the status or the band has changed, the trigger
  // change_search_state writes the group, too.
  `do $$
   begin
     if not exists (select 1 from pg_trigger where tgrelid = 'cases.collection_case'::regclass and tgname = 'change_status_group') then
       create trigger change_status_group after update of status, assigned_field_partner_id, is_current on cases.collection_case
       for each row when ((${groupOf("old.")}) is distinct from (${groupOf("new.")})
         and (${stateOf("old.")}) is not distinct from (${stateOf("new.")}))
       execute function cases.record_search_state();
     end if;
   end $$`,
  "alter table cases.search_state add column if not exists status_group text",
  `create or replace function cases.record_search_state() returns trigger
   language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
   begin
     insert into cases.search_state (lender_id, case_id, status, dpd_band, status_group)
     values (new.lender_id, new.id, ${stateOf("new.")}, ${groupOf("new.")})
     on conflict (lender_id, case_id) do update
     set status = excluded.status, dpd_band = excluded.dpd_band, status_group = excluded.status_group;
     return null;
   end $$`,
  `create or replace function cases.record_case_without_state() returns trigger
   language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
   begin
     insert into cases.search_state (lender_id, case_id, status_group)
     values (new.lender_id, new.id, ${groupOf("new.")})
     on conflict do nothing;
     return null;
   end $$`,
  `update cases.search_state s set status_group = ${groupOf("c.")}
   from cases.collection_case c
   where c.lender_id = s.lender_id and c.id = s.case_id and c.is_current and s.status_group is null`,
  `update cases.search_state s set status_group = null
   from cases.collection_case c
   where c.lender_id = s.lender_id and c.id = s.case_id and not c.is_current and s.status_group is not null`,
  // The predicates differ, so that each query has one index that fits. Otherwise PostgreSQL chooses one of two in a plan that it
  // makes while the table is empty.
  `create index if not exists search_state_of_group on cases.search_state (lender_id, status_group, case_id)
     where status_group is not null and visited_at is not null`,
  `create index if not exists search_state_of_group_and_dpd on cases.search_state
     (lender_id, status_group, dpd_band, case_id) where status_group is not null`,
  `create index if not exists search_state_of_group_and_visit on cases.search_state
     (lender_id, status_group, visited_at, case_id) where visited_at is not null`,
  `create index if not exists search_state_of_dpd_and_visit on cases.search_state
     (lender_id, dpd_band, visited_at, case_id) where visited_at is not null`,
  "drop index if exists cases.search_state_of_status",
  "drop index if exists cases.search_state_of_dpd",
  "drop index if exists cases.search_state_of_visit",
];
