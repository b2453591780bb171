import { statement } from "@collections/database";
import { EARTH_RADIUS_M } from "./near.ts";
import { OWN_CASE_COLUMNS } from "./own-case.ts";

const SEARCHED = `($10::text[] is null
  or right(lower(c.source_loan_number), length($11::text)) = lower($11::text)
  or not exists (select 1 from unnest($10::text[]) w where position(lower(w) in lower(c.borrower_name)) = 0))`;

/** As `bucketOf` says. */
const BUCKET = `coalesce(c.bucket, case when c.dpd = 0 then '0' when c.dpd <= 30 then '1-30' when c.dpd <= 60 then '31-60'
  when c.dpd <= 90 then '61-90' when c.dpd > 90 then '90+' end)`;

/** As `blockedReason` says of a case that is assigned, on a day where its borrower lives. */
function workableOn(day: string): string {
  return `(c.closed_at is null and c.field_work <> 'blocked' and c.status <> 'new'
    and coalesce(c.do_not_contact_until <= ${day}, c.do_not_contact_until is null))`;
}

/** The day of the case's lender in one of two lists of days, which stand in the order of the lenders in $4. */
function dayIn(days: string): string {
  return `(${days}::date[])[array_position($4::uuid[], c.lender_id)]`;
}

const DISTANCE = `2 * ${EARTH_RADIUS_M} * asin(least(1, sqrt(
  sin(radians(a.latitude - $14::float8) / 2) ^ 2
  + cos(radians($14::float8)) * cos(radians(a.latitude)) * sin(radians(a.longitude - $15::float8) / 2) ^ 2)))`;

/** Longitudes meet at 180 degrees. */
const IN_BOX = `abs(a.latitude - $14::float8) <= $16::float8 and least(abs(a.longitude - $15::float8), 360 - abs(a.longitude - $15::float8)) <= $17::float8`;

/**
 * A field partner's own current cases, in one of four orders. Everything starts from the index on the field partner:
 * lateral limits keep the planner from joining promises of everybody, and no lender's index can be of use.
 */
export const selectOwnCases = statement(
  "cases.list-own",
  `with own as (
     select c.*, c.closed_at is not null and c.closed_at <= $3::timestamptz as is_shrunk,
       case when $14::float8 is null then null when ${IN_BOX} then ${DISTANCE} end as distance_m
     from cases.collection_case c
     cross join lateral (select (c.addresses #>> '{0,latitude}')::float8 as latitude,
       (c.addresses #>> '{0,longitude}')::float8 as longitude,
       c.closed_at is null or c.closed_at > $3::timestamptz as is_shown offset 0) b
     cross join lateral (select case when b.is_shown then b.latitude end as latitude,
       case when b.is_shown then b.longitude end as longitude offset 0) a
     where c.assigned_field_partner_id = $1::uuid and c.is_current
       and ($2::text[] is null or c.status = any ($2::text[]))
       and ($6::uuid[] is null or array_position($6::uuid[], c.lender_id) is not null)
       and ($7::boolean is null or $7::boolean = ${workableOn(dayIn("$5"))})
       and (($8::text[] is null and $9::text[] is null and $10::text[] is null and $13::text[] is null) or b.is_shown)
       and ($8::text[] is null or ${BUCKET} = any ($8::text[]))
       and ($9::text[] is null or lower(btrim(c.addresses #>> '{0,city}')) = any (select lower(btrim(v)) from unnest($9::text[]) v))
       and ($13::text[] is null or replace(lower(c.addresses #>> '{0,postalCode}'), ' ', '')
         = any (select replace(lower(v), ' ', '') from unnest($13::text[]) v))
       and ${SEARCHED}
   ), promised as (
     select c.*, p.due_on, ${dayIn("$12")} as list_day
     from own c
     left join lateral (
       select due_on from cases.promise p
       where p.lender_id = c.lender_id and p.case_id = c.id and p.state = 'open' and not c.is_shrunk limit 1
     ) p on true
     where ($18::float8 is null or c.distance_m <= $18::float8)
       and (not $19::boolean or p.due_on between coalesce($20::date, '-infinity') and coalesce($21::date, 'infinity'))
   ), ranked as (
     select c.*,
       case $22::text
         when 'priority' then case
           when c.closed_at is not null then '5'
           when not ${workableOn("c.list_day")} then '4'
           when c.due_on <= c.list_day then '1'
           when c.due_on is null then '2'
           else '3' end
         when 'amount' then c.currency::text
         when 'near' then case when c.distance_m is null then '2' else '1' end
         else '' end collate "C" as list_group,
       case $22::text
         when 'amount' then case when c.is_shrunk then 0 else -c.outstanding_minor end
         when 'near' then coalesce(round(c.distance_m)::bigint, 0)
         else case when c.is_shrunk then 1 else coalesce(-c.dpd, 1)::bigint end end as list_rank
     from promised c
   )
   select ${OWN_CASE_COLUMNS}, round(c.distance_m)::integer as "distanceM",
     c.list_group as "listGroup", c.list_rank as "listRank"
   from ranked c
   where $23::text is null
     or (c.list_group, c.list_rank) > ($23::text collate "C", $24::bigint)
     or (c.list_group = $23::text and c.list_rank = $24::bigint and c.id < $25::uuid)
   order by c.list_group, c.list_rank, c.id desc
   limit $26::bigint`,
);
