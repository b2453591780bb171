import { statement } from "@collections/database";
import { EARTH_RADIUS_M } from "./near.ts";
import { OWN_CASE_COLUMNS } from "./own-case.ts";

const SEARCHED = `($10::text[] is null
  or right(lower(c.source_loan_number), length($11::text)) = lower($11::text)
  or not exists (select 1 from unnest($10::text[]) w where position(cases.folded_name(w) in cases.folded_name(c.borrower_name)) = 0))`;

/** The SQL expression for the bucket of a case, by the rules of `bucketOf`. */
const BUCKET = `coalesce(c.bucket, case when c.dpd = 0 then '0' when c.dpd <= 30 then '1-30' when c.dpd <= 60 then '31-60'
  when c.dpd <= 90 then '61-90' when c.dpd > 90 then '90+' end)`;

/**
 * Returns an SQL condition: whether an assigned case is workable on `day`, a day in the borrower's time zone. The
 * condition follows the rules of `blockedReason`. $22 contains the lenders whose cases are blocked.
 */
function workableOn(day: string): string {
  return `(c.closed_at is null and c.field_work <> 'blocked' and c.status <> 'new'
    and c.lender_id <> all ($22::uuid[]) and coalesce(c.do_not_contact_until <= ${day}, c.do_not_contact_until is null))`;
}

/**
 * Returns an SQL expression that selects the day of a row's lender from `days`, which has one day for each lender, in
 * the order of $4.
 */
function dayIn(days: string, row = "c"): string {
  return `(${days}::date[])[array_position($4::uuid[], ${row}.lender_id)]`;
}

const SHOWN = "(c.closed_at is null or c.closed_at > $3::timestamptz)";

/**
 * Returns an SQL expression for the distance from the point $14, $15 to a place, in metres. It is null for a place
 * outside the box of $16, $17. Longitudes wrap around at 180 degrees.
 */
function distanceOf(place: string): string {
  const [latitude, longitude] = [`${place}.latitude`, `${place}.longitude`];
  return `case when abs(${latitude} - $14::float8) <= $16::float8
      and least(abs(${longitude} - $15::float8), 360 - abs(${longitude} - $15::float8)) <= $17::float8
    then 2 * ${EARTH_RADIUS_M} * asin(least(1, sqrt(
      sin(radians(${latitude} - $14::float8) / 2) ^ 2
      + cos(radians($14::float8)) * cos(radians(${latitude})) * sin(radians(${longitude} - $15::float8) / 2) ^ 2))) end`;
}

const PLACE_ASKED = `$14::float8 is not null and ${SHOWN}`;
const LATITUDE = "(c.addresses #>> '{0,latitude}')::float8";
const LONGITUDE = "(c.addresses #>> '{0,longitude}')::float8";

/**
 * Reading the place of a case from JSON takes longer than reading all its other columns. So the place is read only if
 * distances are requested.
 */
const DISTANCE_IF_ASKED = `case when ${PLACE_ASKED} then (
  select ${distanceOf("a")} from (select ${LATITUDE} as latitude, ${LONGITUDE} as longitude offset 0) a) end`;

/**
 * The condition for the field partner's current cases that match the search and the filter. Promises and the radius are
 * checked later in the query.
 */
const IS_OWN_AND_WANTED = `c.assigned_field_partner_id = $1::uuid and c.is_current
       and ($2::text[] is null or c.status = any ($2::text[]))
       and ($6::uuid[] is null or array_position($6::uuid[], c.lender_id) is not null)
       and ($7::boolean is null or $7::boolean = ${workableOn(dayIn("$5"))})
       and (($8::text[] is null and $9::text[] is null and $10::text[] is null and $13::text[] is null) or ${SHOWN})
       and ($8::text[] is null or ${BUCKET} = any ($8::text[]))
       and ($9::text[] is null or lower(btrim(c.addresses #>> '{0,city}')) = any (select lower(btrim(v)) from unnest($9::text[]) v))
       and ($13::text[] is null or replace(lower(c.addresses #>> '{0,postalCode}'), ' ', '')
         = any (select replace(lower(v), ' ', '') from unnest($13::text[]) v))
       and ${SEARCHED}`;

const IS_AFTER_CURSOR = `$24::text is null
       or (list_group, list_rank) > ($24::text collate "C", $25::bigint)
       or (list_group = $24::text and list_rank = $25::bigint and id < $26::uuid)`;

/**
 * Lists a field partner's current cases in one of four orders. No index can have these orders, because confirmations
 * change the sort columns. So the query ranks all of the field partner's cases by a few columns, and reads only the
 * rows of the page in full. Each `offset 0` keeps the planner from computing the expressions of its subquery twice.
 */
export const selectOwnCases = statement(
  "cases.list-own",
  `with promised as (
     select p.case_id, p.due_on, ${dayIn("$12", "p")} as list_day
     from cases.promise p
     where p.lender_id = any ($4::uuid[]) and p.state = 'open' and ($19::boolean or $23::text = 'priority')
       and p.case_id = any (array(
         select id from cases.collection_case where assigned_field_partner_id = $1::uuid and is_current))
   ), own as (
     select c.lender_id, c.id, c.currency, c.outstanding_minor, c.dpd, c.closed_at is not null as is_ended,
       not ${SHOWN} as is_shrunk, ${workableOn(dayIn("$12"))} as is_workable, ${DISTANCE_IF_ASKED} as distance_m
     from cases.collection_case c
     where ${IS_OWN_AND_WANTED}
     offset 0
   ), ranked as (
     select o.lender_id, o.id, o.distance_m,
       case $23::text
         when 'priority' then case
           when o.is_ended then '5'
           when not o.is_workable then '4'
           when o.id in (select case_id from promised where due_on <= list_day) then '1'
           when o.id in (select case_id from promised) then '3'
           else '2' end
         when 'amount' then o.currency::text
         when 'near' then case when o.distance_m is null then '2' else '1' end
         else '' end collate "C" as list_group,
       case $23::text
         when 'amount' then case when o.is_shrunk then 0 else -o.outstanding_minor end
         when 'near' then coalesce(round(o.distance_m)::bigint, 0)
         else case when o.is_shrunk then 1 else coalesce(-o.dpd, 1)::bigint end end as list_rank
     from own o
     where ($18::float8 is null or o.distance_m <= $18::float8)
       and (not $19::boolean or not o.is_shrunk and o.id in (select case_id from promised
         where due_on between coalesce($20::date, '-infinity') and coalesce($21::date, 'infinity')))
     offset 0
   ), listed as (
     select * from ranked
     where ${IS_AFTER_CURSOR}
     order by list_group, list_rank, id desc
     limit $27::bigint
   )
   select ${OWN_CASE_COLUMNS}, round(l.distance_m)::integer as "distanceM",
     l.list_group as "listGroup", l.list_rank as "listRank"
   from listed l
   cross join lateral (
     select * from cases.collection_case k
     where k.lender_id = l.lender_id and k.id >= l.id and k.id <= l.id order by k.id limit 1) c
   order by l.list_group, l.list_rank, l.id desc`,
);

/**
 * Returns the same list as `selectOwnCases`, on a cluster. Each node executes this SELECT for the lenders that it
 * stores, and the coordinator merges the first rows of all nodes. Citus would reject `selectOwnCases`, because it
 * cannot push down a LIMIT in a subquery. A single PostgreSQL takes twice as long for this query, because it ranks
 * whole rows.
 *
 * The range and the ORDER BY make the lookup of a promise use the index, also on a node without statistics. The lookup
 * is always made, even if no promise is needed: Citus rejects the join if a parameter decides whether it is made.
 */
export const selectOwnCasesOnCluster = statement(
  "cases.list-own-on-cluster",
  `select ${OWN_CASE_COLUMNS}, round(c.distance_m)::integer as "distanceM",
     c.list_group as "listGroup", c.list_rank as "listRank"
   from (
     select c.*,
       case $23::text
         when 'priority' then case
           when c.closed_at is not null then '5'
           when not c.is_workable then '4'
           when c.promised_on <= c.list_day then '1'
           when c.promised_on is not null then '3'
           else '2' end
         when 'amount' then c.currency::text
         when 'near' then case when c.distance_m is null then '2' else '1' end
         else '' end collate "C" as list_group,
       case $23::text
         when 'amount' then case when ${SHOWN} then -c.outstanding_minor else 0 end
         when 'near' then coalesce(round(c.distance_m)::bigint, 0)
         else case when ${SHOWN} then coalesce(-c.dpd, 1)::bigint else 1 end end as list_rank
     from (
       select c.*, p.due_on as promised_on, ${distanceOf("c")} as distance_m
       from (
         select c.*, ${dayIn("$12")} as list_day, ${workableOn(dayIn("$12"))} as is_workable,
           case when ${PLACE_ASKED} then ${LATITUDE} end as latitude,
           case when ${PLACE_ASKED} then ${LONGITUDE} end as longitude
         from cases.collection_case c
         where c.lender_id = any ($4::uuid[]) and ${IS_OWN_AND_WANTED}
       ) c
       left join lateral (
         select o.due_on from cases.promise o
         where o.lender_id = any ($4::uuid[]) and o.lender_id = c.lender_id and o.case_id >= c.id and o.case_id <= c.id
           and o.state = 'open'
         order by o.case_id
       ) p on true
     ) c
     where ($18::float8 is null or c.distance_m <= $18::float8)
       and (not $19::boolean or (${SHOWN} and c.promised_on between coalesce($20::date, '-infinity')
         and coalesce($21::date, 'infinity')))
   ) c
   where ${IS_AFTER_CURSOR}
   order by c.list_group, c.list_rank, c.id desc
   limit $27::bigint`,
);

/**
 * Counts the cases of the same list by lender, bucket, city, status, and whether they are workable and promised. The
 * number of rows is the number of different combinations. Runs on a cluster too, because it groups by the lender.
 */
export const countOwnCases = statement(
  "cases.count-own",
  `select o.lender_id as "lenderId", o.bucket, o.city, o.status, o.is_workable as "isWorkable",
     o.is_promised as "isPromised", count(*)::integer as count
   from (
     select c.lender_id, c.status, ${workableOn(dayIn("$12"))} as is_workable,
       case when ${SHOWN} then ${BUCKET} end as bucket,
       case when ${SHOWN} then btrim(c.addresses #>> '{0,city}') end as city,
       p.due_on is not null and ${SHOWN} as is_promised, p.due_on, ${distanceOf("c")} as distance_m, ${SHOWN} as is_shown
     from (
       select c.*, case when ${PLACE_ASKED} then ${LATITUDE} end as latitude,
         case when ${PLACE_ASKED} then ${LONGITUDE} end as longitude
       from cases.collection_case c
       where c.lender_id = any ($4::uuid[]) and ${IS_OWN_AND_WANTED}
     ) c
     left join cases.promise p on p.lender_id = c.lender_id and p.case_id = c.id and p.state = 'open'
       and p.lender_id = any ($4::uuid[])
   ) o
   where ($18::float8 is null or o.distance_m <= $18::float8)
     and (not $19::boolean or (o.is_shown and o.due_on between coalesce($20::date, '-infinity')
       and coalesce($21::date, 'infinity')))
   group by o.lender_id, o.bucket, o.city, o.status, o.is_workable, o.is_promised`,
);
