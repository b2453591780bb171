/**
 * Adds a table of how much of each limit was used in the last minute, one row for each subject and limit. It is
 * unlogged: writes skip the write-ahead log, and standbys do not have the rows. A crash of PostgreSQL loses the counts
 * of one minute.
 */
export const permitMigration: readonly string[] = [
  `create unlogged table lenders.permit_window (
     subject text not null,
     limit_name text not null,
     at_ms bigint[] not null,
     counts integer[] not null,
     taken_at timestamptz not null,
     primary key (subject, limit_name)
   ) with (fillfactor = 40)`,

  // All processes lock rows in the same order, so that they cannot deadlock. Uses are counted in slots of 1/120 of the
  // window. All uses of a slot count until the latest of them leaves the window, so no use is dropped too early.
  // Prefetched permits ("ahead") can be used for `ahead_ms`, and are recorded as uses at the end of that time. At most
  // one hundredth of the remaining permits is prefetched.
  `create function lenders.take_permits(
     subjects text[], limit_names text[], quotas integer[], needs integer[], wishes integer[],
     unused_ats bigint[], unused_counts integer[], window_ms integer, ahead_ms integer
   ) returns table (
     place bigint, granted integer, ahead integer, ahead_at_ms bigint, remaining integer, frees_in_ms integer
   ) language plpgsql as $$
   declare
     asked record;
     now_ms bigint;
     used integer;
     kept_at_ms bigint[];
     kept_counts integer[];
   begin
     for asked in
       select * from unnest(subjects, limit_names, quotas, needs, wishes, unused_ats, unused_counts)
         with ordinality as a (subject, limit_name, quota, need, wish, unused_at, unused, place)
       order by a.subject, a.limit_name
     loop
       loop
         select w.at_ms, w.counts into kept_at_ms, kept_counts from lenders.permit_window w
         where w.subject = asked.subject and w.limit_name = asked.limit_name for update;
         exit when found;
         insert into lenders.permit_window values (asked.subject, asked.limit_name, '{}', '{}', now())
         on conflict do nothing;
       end loop;
       now_ms := floor(extract(epoch from clock_timestamp()) * 1000);

       select greatest(coalesce(sum(u.uses), 0), 0) into used
       from unnest(kept_at_ms || asked.unused_at, kept_counts || -asked.unused) as u (at, uses)
       where u.at > now_ms - window_ms;
       granted := least(asked.need, greatest(asked.quota - used, 0));
       ahead := least(asked.wish, greatest(asked.quota - used - granted, 0) / 100);
       ahead_at_ms := now_ms + ahead_ms;
       remaining := greatest(asked.quota - used - granted - ahead, 0);

       select coalesce(array_agg(s.at order by s.at), '{}'), coalesce(array_agg(s.uses order by s.at), '{}')
       into kept_at_ms, kept_counts
       from (
         select max(u.at) as at, sum(u.uses)::integer as uses
         from unnest(
           kept_at_ms || array[asked.unused_at, now_ms, ahead_at_ms],
           kept_counts || array[-asked.unused, granted, ahead]
         ) as u (at, uses)
         where u.at > now_ms - window_ms
         group by u.at * 120 / window_ms
       ) s
       where s.uses > 0;
       update lenders.permit_window w set at_ms = kept_at_ms, counts = kept_counts, taken_at = now()
       where w.subject = asked.subject and w.limit_name = asked.limit_name;

       place := asked.place;
       frees_in_ms := coalesce(kept_at_ms[1] + window_ms - now_ms, 0);
       return next;
     end loop;
   end $$`,
];
