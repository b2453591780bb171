/**
 * On a cluster, only SET LOCAL reaches the worker nodes. PostgreSQL without Citus accepts the name of Citus's setting
 * too.
 */
const LIMIT_LOCK_WAITS = `set local citus.propagate_set_commands = 'local';
       set local lock_timeout = '500ms';`;

/**
 * Replaces the functions that create and drop partitions. The new ones work on one PostgreSQL, and on a Citus cluster
 * that has the tables of events and attempts on several nodes. They run on the coordinator.
 */
export const migration0008: readonly string[] = [
  // When a table is attached to a distributed table, Citus distributes it, but leaves its existing rows hidden on the
  // coordinator's disk. So a partition is distributed before it gets rows.
  `create function webhooks.distribute_like(partition text, parent text) returns void
   language plpgsql set search_path = pg_catalog, pg_temp as $$
   declare
     is_distributed boolean;
   begin
     if to_regclass('pg_catalog.pg_dist_partition') is null then
       return;
     end if;
     execute 'select exists (select 1 from pg_catalog.pg_dist_partition where logicalrelid = $1)'
       into is_distributed using format('webhooks.%I', parent)::regclass;
     if is_distributed then
       execute 'select create_distributed_table($1, $2, colocate_with => $3)'
         using format('webhooks.%I', partition)::regclass, 'lender_id', format('webhooks.%I', parent);
     end if;
   end $$`,

  // A partition is created as a separate table and then attached, which does not block readers and writers of the
  // parent. Rows that were written before their partition existed are moved from the default partition, which locks the
  // parent.
  definerFunction(
    `webhooks.make_partitions(parent text, weeks_ahead integer) returns integer`,
    `declare
       below uuid;
       above uuid;
       partition text;
       has_rows boolean;
       made integer := 0;
     begin
       if weeks_ahead not between 1 and 52 then
         raise exception 'Partitions are made 1 to 52 weeks ahead, not %.', weeks_ahead using errcode = '22023';
       end if;
       if not pg_try_advisory_xact_lock(hashtextextended('webhooks.partitions_of.' || parent, 0)) then
         return 0;
       end if;
       ${LIMIT_LOCK_WAITS}
       select p.upper into strict below from webhooks.partitions_of(parent) p order by p.upper desc limit 1;
       while below < webhooks.first_id(date_trunc('week', now()) + make_interval(weeks => weeks_ahead + 1)) loop
         above := webhooks.first_id(webhooks.id_time(below) + interval '7 days');
         partition := parent || to_char(webhooks.id_time(below), '_YYYYMMDD');
         execute format('create table webhooks.%I (like webhooks.%I including all)', partition, parent);
         execute format('select exists (select 1 from webhooks.%I where id >= %L and id < %L)',
           parent || '_default', below, above) into has_rows;
         if has_rows then
           execute format('lock table webhooks.%I in access exclusive mode', parent);
           perform webhooks.distribute_like(partition, parent);
           execute format('with moved as (delete from webhooks.%I where id >= %L and id < %L returning *)
             insert into webhooks.%I select * from moved', parent || '_default', below, above, partition);
         end if;
         execute format('alter table webhooks.%I attach partition webhooks.%I for values from (%L) to (%L)',
           parent, partition, below, above);
         below := above;
         made := made + 1;
       end loop;
       return made;
     end`,
  ),

  // One partition replaces all partitions below kept_from. It contains the events that still have a delivery, for
  // example a delivery that waits for its endpoint. They are copied first, so that the parent is locked only for a
  // moment. The ORDER BY keeps the sub-select from being merged, so that each lender's deliveries are read by their
  // primary key.
  definerFunction(
    `webhooks.drop_partitions(parent text) returns integer`,
    `declare
       till uuid;
       done uuid;
       old text;
       partition text;
       dropped integer := 0;
     begin
       if not pg_try_advisory_xact_lock(hashtextextended('webhooks.partitions_of.' || parent, 0)) then
         return 0;
       end if;
       ${LIMIT_LOCK_WAITS}
       select kept_from, dropped_to into strict till, done from webhooks.retention where relation = parent;
       if done >= till then
         return 0;
       end if;
       partition := parent || to_char(webhooks.id_time(till), '_"before"_YYYYMMDD');
       execute format('create table webhooks.%I (like webhooks.%I including all)', partition, parent);
       execute format('alter table webhooks.%I add check (id < %L)', partition, till);
       perform webhooks.distribute_like(partition, parent);
       if parent = 'event' then
         execute format('insert into webhooks.%I select e.*
           from webhooks.endpoint p
           cross join lateral (
             select lender_id, id from webhooks.delivery where lender_id = p.lender_id and id < %2$L order by id
           ) d
           join webhooks.event e on e.lender_id = p.lender_id and e.id = d.id and e.id < %2$L', partition, till);
       end if;
       execute format('lock table webhooks.%I in access exclusive mode', parent);
       for old in select p.name from webhooks.partitions_of(parent) p where p.upper <= till loop
         execute format('alter table webhooks.%I detach partition webhooks.%I', parent, old);
         execute format('drop table webhooks.%I', old);
         dropped := dropped + 1;
       end loop;
       execute format('alter table webhooks.%I attach partition webhooks.%I for values from (minvalue) to (%L)',
         parent, partition, till);
       update webhooks.retention set dropped_to = till where relation = parent;
       return dropped;
     end`,
  ),
];

/**
 * Declares a function that runs with the rights of the role that migrates. The settings of a caller must not change
 * what such a function does, so the function has settings of its own. It waits at most half a second for a lock.
 */
function definerFunction(signature: string, body: string): string {
  return `create or replace function ${signature} language plpgsql security definer
    set search_path = pg_catalog, pg_temp set timezone = 'UTC' set lock_timeout = '500ms' as $$ ${body} $$`;
}
