import { statement } from "@collections/database";
import { EARTH_RADIUS_M } from "./near.ts";
import { OWN_CASE_COLUMNS } from "./own-case.ts";

const SEARCHED = `($10::text[] is null
  or right(lower(c.source_loan_number), length($11::text)) = lower($11::text)
  or not exists (select 1 from unnest($10::text[]) w where position(lower(w) in lower(c.borrower_name)) = 0))`;

/** As `bucketOf` says. */
const BUCKET = `coalesce(c.bucket, case when c.dpd = 0 then '0' when c.dpd <= 30 then '1-30' when c.dpd <= 60 then '31-60'
  when c.dpd <= 90 then '61-90' when c.dpd > 90 then '90+' end)`;

/** As `blockedReason` says of an assigned case, on a day where its borrower lives; $27 are lenders without field work. */
function workableOn(day: string): string {
  return `(c.closed_at is null and c.field_work <> 'blocked' and c.status <> 'new'
    and c.lender_id <> all ($27::uuid[]) and coalesce(c.do_not_contact_until <= ${day}, c.do_not_contact_until is null))`;
}

/** The day of a row's lender in one of two lists of days, which stand in the order of the lenders in $4. */
function dayIn(days: string, row = "c"): string {
  return `(${days}::date[])[array_position($4::uuid[], ${row}.lender_id)]`;
}

const SHOWN = "(c.closed_at is null or c.closed_at > $3::timestamptz)";

const DISTANCE = `2 * ${EARTH_RADIUS_M} * asin(least(1, sqrt(
  sin(radians(a.latitude - $14::float8) / 2) ^ 2
  + cos(radians($14::float8)) * cos(radians(a.latitude)) * sin(radians(a.longitude - $15::float8) / 2) ^ 2)))`;

/** Longitudes meet at 180 degrees. */
const IN_BOX = `abs(a.latitude - $14::float8) <= $16::float8 and least(abs(a.longitude - $15::float8), 360 - abs(a.longitude - $15::float8)) <= $17::float8`;

/** Reading a place out of JSON costs more than all else of a row: only where somebody asks for distances. */
const DISTANCE_IF_ASKED = `case when $14::float8 is not null and ${SHOWN} then (
  select case when ${IN_BOX} then ${DISTANCE} end from (
    select (c.addresses #>> '{0,latitude}')::float8 as latitude, (c.addresses #>> '{0,longitude}')::float8 as longitude
    offset 0) a) end`;

/**
 * A field partner's own current cases, in one of four orders. No index can be in these orders: a confirmation changes
 * what they sort by. So all of one's own are ranked by a few columns, and the page alone is read whole. Each `offset 0`
 * keeps what stands above it from being computed twice.
 */
export const selectOwnCases = statement(
  "cases.list-own",
  `with promised as (
     select p.case_id, p.due_on, ${dayIn("$12", "p")} as list_day
     from cases.promise p
     where p.lender_id = any ($4::uuid[]) and p.state = 'open' and ($19::boolean or $22::text = 'priority')
       and p.case_id = any (array(
         select id from cases.collection_case where assigned_field_partner_id = $1::uuid and is_current))
   ), own as (
     select c.lender_id, c.id, c.currency, c.outstanding_minor, c.dpd, c.closed_at is not null as is_ended,
       not ${SHOWN} as is_shrunk, ${workableOn(dayIn("$12"))} as is_workable, ${DISTANCE_IF_ASKED} as distance_m
     from cases.collection_case c
     where c.assigned_field_partner_id = $1::uuid and c.is_current
       and ($2::text[] is null or c.status = any ($2::text[]))
       and ($6::uuid[] is null or array_position($6::uuid[], c.lender_id) is not null)
       and ($7::boolean is null or $7::boolean = ${workableOn(dayIn("$5"))})
       and (($8::text[] is null and $9::text[] is null and $10::text[] is null and $13::text[] is null) or ${SHOWN})
       and ($8::text[] is null or ${BUCKET} = any ($8::text[]))
       and ($9::text[] is null or lower(btrim(c.addresses #>> '{0,city}')) = any (select lower(btrim(v)) from unnest($9::text[]) v))
       and ($13::text[] is null or replace(lower(c.addresses #>> '{0,postalCode}'), ' ', '')
         = any (select replace(lower(v), ' ', '') from unnest($13::text[]) v))
       and ${SEARCHED}
     offset 0
   ), ranked as (
     select o.lender_id, o.id, o.distance_m,
       case $22::text
         when 'priority' then case
           when o.is_ended then '5'
           when not o.is_workable then '4'
           when o.id in (select case_id from promised where due_on <= list_day) then '1'
           when o.id in (select case_id from promised) then '3'
           else '2' end
         when 'amount' then o.currency::text
         when 'near' then case when o.distance_m is null then '2' else '1' end
         else '' end collate "C" as list_group,
       case $22::text
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
     where $23::text is null
       or (list_group, list_rank) > ($23::text collate "C", $24::bigint)
       or (list_group = $23::text and list_rank = $24::bigint and id < $25::uuid)
     order by list_group, list_rank, id desc
     limit $26::bigint
   )
   select ${OWN_CASE_COLUMNS}, round(l.distance_m)::integer as "distanceM",
     l.list_group as "listGroup", l.list_rank as "listRank"
   from listed l
   cross join lateral (
     select * from cases.collection_case k
     where k.lender_id = l.lender_id and k.id >= l.id and k.id <= l.id order by k.id limit 1) c
   order by l.list_group, l.list_rank, l.id desc`,
);
