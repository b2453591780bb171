const FIRST_UPPER = `webhooks.first_id(
  (date_trunc('week', now() at time zone 'UTC') + interval '14 days') at time zone 'UTC')`;

/**
 * Divides events and attempts into weekly partitions by their id, which begins with its time. The existing table
 * becomes the first partition, so no rows are copied. Functions create and drop the other partitions, because the role
 * that calls them may not change tables itself.
 */
export const migration0003: readonly string[] = [
  `create function webhooks.first_id(moment timestamptz) returns uuid language sql stable strict parallel safe
   return rpad(lpad(to_hex(floor(greatest(extract(epoch from moment), 0) * 1000)::bigint), 12, '0'), 32, '0')::uuid`,
  `create function webhooks.id_time(id uuid) returns timestamptz language sql immutable strict parallel safe
   return to_timestamp(('x' || left(replace(id::text, '-', ''), 12))::bit(48)::bigint / 1000.0)`,

  ...partitioned("event", [
    `alter index webhooks.event_of_loan rename to event_first_of_loan`,
    `create index event_of_loan on webhooks.event (source_loan_number, lender_id, sequence)`,
  ]),
  ...partitioned("attempt", [
    `alter index webhooks.attempt_of_delivery rename to attempt_first_of_delivery`,
    `create index attempt_of_delivery on webhooks.attempt (delivery_id, id)`,
  ]),

  // Rows with ids below kept_from are deleted once they are settled. Partitions below dropped_to have been dropped.
  `create table webhooks.retention (
     relation text primary key check (relation in ('event', 'attempt')),
     kept_from uuid not null,
     dropped_to uuid not null
   )`,
  `insert into webhooks.retention (relation, kept_from, dropped_to)
   select relation, webhooks.first_id('epoch'), webhooks.first_id('epoch') from unnest(array['event', 'attempt']) relation`,
  // The last number among a loan's deleted events. The loan's remaining events continue from it.
  `create table webhooks.let_go (
     lender_id uuid not null,
     loan text not null,
     sequence bigint not null check (sequence > 0),
     primary key (lender_id, loan)
   )`,

  `create function webhooks.partitions_of(parent text) returns table (name text, lower uuid, upper uuid)
   language sql stable set search_path = pg_catalog, pg_temp as $$
     select name, substring(bounds from $re$FROM [(]'([0-9a-f-]+)'[)]$re$)::uuid,
       substring(bounds from $re$TO [(]'([0-9a-f-]+)'[)]$re$)::uuid
     from (
       select c.relname::text as name, pg_get_expr(c.relpartbound, c.oid) as bounds
       from pg_inherits i join pg_class c on c.oid = i.inhrelid
       where i.inhparent = format('webhooks.%I', parent)::regclass
     ) partitions
     where bounds <> 'DEFAULT'
   $$`,

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
       select p.upper into strict below from webhooks.partitions_of(parent) p order by p.upper desc limit 1;
       while below < webhooks.first_id(date_trunc('week', now()) + make_interval(weeks => weeks_ahead + 1)) loop
         above := webhooks.first_id(webhooks.id_time(below) + interval '7 days');
         partition := parent || to_char(webhooks.id_time(below), '_YYYYMMDD');
         execute format('create table webhooks.%I (like webhooks.%I including all)', partition, parent);
         execute format('select exists (select from webhooks.%I where id >= %L and id < %L)',
           parent || '_default', below, above) into has_rows;
         if has_rows then
           execute format('lock table webhooks.%I in access exclusive mode', parent);
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

  // Uses the database's clock. Events are kept at least as long as the contract requires: 31 hours of retries, then 30
  // days.
  definerFunction(
    `webhooks.advance_retention(parent text, keep_days integer) returns uuid`,
    `declare
       since uuid;
       till uuid;
     begin
       if keep_days < 32 then
         raise exception 'Events and attempts are kept for 32 days at least, not %.', keep_days using errcode = '22023';
       end if;
       select kept_from into strict since from webhooks.retention where relation = parent for update;
       select p.upper into till from webhooks.partitions_of(parent) p
       where p.upper <= webhooks.first_id(now() - make_interval(days => keep_days)) and p.upper > since
       order by p.upper desc limit 1;
       if till is null then
         return since;
       end if;
       if parent = 'event' then
         insert into webhooks.let_go as known (lender_id, loan, sequence)
         select lender_id, source_loan_number, max(sequence) from webhooks.event where id >= since and id < till
         group by lender_id, source_loan_number
         on conflict (lender_id, loan) do update set sequence = greatest(known.sequence, excluded.sequence);
       end if;
       update webhooks.retention set kept_from = till where relation = parent;
       return till;
     end`,
  ),

  // One partition replaces all partitions below kept_from. It contains the events that still have a delivery, for
  // example a delivery that waits for its endpoint. They are copied first, so that the parent is locked only for a
  // moment.
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
       select kept_from, dropped_to into strict till, done from webhooks.retention where relation = parent;
       if done >= till then
         return 0;
       end if;
       partition := parent || to_char(webhooks.id_time(till), '_"before"_YYYYMMDD');
       execute format('create table webhooks.%I (like webhooks.%I including all)', partition, parent);
       execute format('alter table webhooks.%I add check (id < %L)', partition, till);
       if parent = 'event' then
         execute format('insert into webhooks.%I select e.*
           from webhooks.endpoint p
           cross join lateral (
             select id from webhooks.delivery where lender_id = p.lender_id and id < %2$L offset 0
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
  `revoke all on function webhooks.make_partitions, webhooks.advance_retention, webhooks.drop_partitions from public`,
];

/**
 * Replaces a table with a partitioned one. The existing table is attached unchanged as the first partition, because it
 * has the indexes and constraints of the parent.
 */
function partitioned(table: string, indexes: readonly string[]): string[] {
  return [
    `alter table webhooks.${table} rename to ${table}_first`,
    `alter index webhooks.${table}_pkey rename to ${table}_first_pkey`,
    `create table webhooks.${table} (like webhooks.${table}_first including defaults including constraints,
       primary key (lender_id, id)) partition by range (id)`,
    ...indexes,
    `do $$ begin
       execute format('alter table webhooks.${table} attach partition webhooks.${table}_first for values from (minvalue) to (%L)',
         ${FIRST_UPPER});
     end $$`,
    `create table webhooks.${table}_default partition of webhooks.${table} default`,
    // Grants the rights on the old table for the new one, because processes of the previous version still run.
    `do $$ declare held record; begin
       for held in
         select a.grantee::regrole as role, string_agg(a.privilege_type, ', ') as rights
         from pg_class c cross join aclexplode(c.relacl) a
         where c.oid = 'webhooks.${table}_first'::regclass and a.grantee not in (0, c.relowner)
         group by a.grantee
       loop
         execute format('grant %s on webhooks.${table} to %s', held.rights, held.role);
       end loop;
     end $$`,
  ];
}

/**
 * Declares a function that runs with the rights of the role that migrates. The settings of a caller must not change
 * what such a function does, so the function has settings of its own. It waits at most half a second for a lock.
 */
function definerFunction(signature: string, body: string): string {
  return `create function ${signature} language plpgsql security definer
    set search_path = pg_catalog, pg_temp set timezone = 'UTC' set lock_timeout = '500ms' as $$ ${body} $$`;
}
