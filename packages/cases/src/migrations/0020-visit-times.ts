/** Returns the value of `visited_at` for a row of a case. */
function visitedAt(row: string): string {
  return `case when ${row}is_current then coalesce(
    (select max(v.start_received_at) from cases.visit v where v.lender_id = ${row}lender_id and v.case_id = ${row}id),
    '-infinity'
  ) end`;
}

function trigger(name: string, table: string, definition: string): string {
  return `if not exists (select 1 from pg_trigger where tgrelid = '${table}'::regclass and tgname = '${name}') then
       create trigger ${name} ${definition};
     end if;`;
}

const WITHOUT_STATE = "dpd is null and new.status not in ('on_hold', 'closed', 'withdrawn')";

/**
 * Adds to `cases.search_state` when the service received the start of a case's latest visit, with an index that finds
 * the cases without a visit since some time. From now on, every new case has a row. The value is -infinity before the
 * first visit, which is the default of the column, and null for a case of an earlier cycle.
 *
 * Triggers write the value, so that a process of an older version writes it, too: see 0018-search-states.ts.
 */
export const visitTimesMigration: readonly string[] = [
  "alter table cases.search_state add column if not exists visited_at timestamptz default '-infinity'",
  `create or replace function cases.record_visit_time() returns trigger
   language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
   begin
     update cases.search_state s set visited_at = new.start_received_at
     where s.lender_id = new.lender_id and s.case_id = new.case_id and s.visited_at < new.start_received_at;
     return null;
   end $$`,
  `create or replace function cases.record_case_without_state() returns trigger
   language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
   begin
     insert into cases.search_state (lender_id, case_id) values (new.lender_id, new.id) on conflict do nothing;
     return null;
   end $$`,
  `create or replace function cases.record_cycle() returns trigger
   language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
   begin
     update cases.search_state s set visited_at = ${visitedAt("new.")}
     where s.lender_id = new.lender_id and s.case_id = new.id;
     return null;
   end $$`,
  `do $$
   begin
     ${trigger(
       "record_visit_time",
       "cases.visit",
       "after insert on cases.visit for each row execute function cases.record_visit_time()",
     )}
     ${trigger(
       "record_case_without_state",
       "cases.collection_case",
       `after insert on cases.collection_case for each row when (new.is_current and new.${WITHOUT_STATE})
       execute function cases.record_case_without_state()`,
     )}
     ${trigger(
       "record_cycle",
       "cases.collection_case",
       `after update of is_current on cases.collection_case for each row when (old.is_current is distinct from new.is_current)
       execute function cases.record_cycle()`,
     )}
   end $$`,
  `insert into cases.search_state (lender_id, case_id)
   select c.lender_id, c.id from cases.collection_case c
   where c.is_current
     and not exists (select 1 from cases.search_state s where s.lender_id = c.lender_id and s.case_id = c.id)
   order by c.lender_id, c.id
   on conflict do nothing`,
  `update cases.search_state s set visited_at = v.at
   from (
     select lender_id, case_id, max(start_received_at) as at from cases.visit group by lender_id, case_id
   ) v
   where s.lender_id = v.lender_id and s.case_id = v.case_id and s.visited_at < v.at`,
  `update cases.search_state s set visited_at = null
   from cases.collection_case c
   where c.lender_id = s.lender_id and c.id = s.case_id and not c.is_current and s.visited_at is not null`,
  `create index if not exists search_state_of_visit on cases.search_state (lender_id, visited_at, case_id)
     where visited_at is not null`,
];
