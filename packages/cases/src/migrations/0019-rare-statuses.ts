/** The SQL list of the statuses that payments set. */
const SET_BY_PAYMENTS = "('assigned', 'in_progress', 'collected')";

function isIndexed(row: string): string {
  return `${row}is_current and ${row}status in ${SET_BY_PAYMENTS}`;
}

/** Distributes a table on a cluster whose cases are distributed. */
function distributed(table: string): string {
  return `do $$
   declare
     is_cluster boolean := false;
   begin
     if exists (select 1 from pg_extension where extname = 'citus') then
       execute 'select exists (select 1 from pg_dist_partition where logicalrelid = ''cases.collection_case''::regclass)
         and not exists (select 1 from pg_dist_partition where logicalrelid = ''${table}''::regclass)'
         into is_cluster;
     end if;
     if is_cluster then
       perform create_distributed_table('${table}', 'lender_id', colocate_with => 'cases.collection_case');
     end if;
   end $$`;
}

function trigger(name: string, event: string, condition: string): string {
  return `do $$
   begin
     if not exists (select 1 from pg_trigger where tgrelid = 'cases.collection_case'::regclass and tgname = '${name}') then
       create trigger ${name} after ${event} on cases.collection_case
       for each row when (${condition}) execute function cases.record_rare_case();
     end if;
   end $$`;
}

/**
 * Adds an index of the cases with a rare status, for the statuses that payments set. `rare_status` lists the rare
 * statuses of each lender, and `rare_case` the cases that have them. A confirmation writes to `rare_case` only if the
 * status before or after the payment is rare. Both tables begin empty: see keep-rare-statuses.ts.
 *
 * Triggers write the cases, so that processes of older versions write them, too. For SECURITY DEFINER and the cluster,
 * see 0018-search-states.ts.
 */
export const rareStatusesMigration: readonly string[] = [
  `create table if not exists cases.rare_status (
     lender_id uuid not null,
     status text not null check (status in ${SET_BY_PAYMENTS}),
     since timestamptz not null,
     complete boolean not null,
     primary key (lender_id, status)
   )`,
  `create table if not exists cases.rare_case (
     lender_id uuid not null,
     status text not null check (status in ${SET_BY_PAYMENTS}),
     case_id uuid not null,
     primary key (lender_id, status, case_id)
   )`,
  distributed("cases.rare_status"),
  distributed("cases.rare_case"),
  `create or replace function cases.record_rare_case() returns trigger
   language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
   begin
     if not exists (
       select 1 from cases.rare_status s where s.lender_id = new.lender_id and s.status in (old.status, new.status)
     ) then
       return null;
     end if;
     if ${isIndexed("old.")} then
       delete from cases.rare_case r
       where r.lender_id = old.lender_id and r.status = old.status and r.case_id = old.id;
     end if;
     if ${isIndexed("new.")} and exists (
       select 1 from cases.rare_status s where s.lender_id = new.lender_id and s.status = new.status
     ) then
       insert into cases.rare_case (lender_id, status, case_id) values (new.lender_id, new.status, new.id)
       on conflict do nothing;
     end if;
     return null;
   end $$`,
  trigger("record_rare_case", "insert", isIndexed("new.")),
  trigger(
    "change_rare_case",
    "update of status, is_current",
    `(old.status, old.is_current) is distinct from (new.status, new.is_current)
       and (${isIndexed("old.")} or ${isIndexed("new.")})`,
  ),
];
