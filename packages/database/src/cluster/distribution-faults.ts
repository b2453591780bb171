import type { ClientBase } from "pg";
import type { PackageSchema } from "../package-schema.ts";

/**
 * Lists what prevents a distribution of the tables by `lender_id`, one sentence for each fault. Every table with a
 * `lender_id` is distributed, and every other table has to be named in its schema's `undistributed`. Citus enforces a
 * unique key only if it contains the lender, so `lender_id` has to come first in each key. Reads only the catalog.
 *
 * @example
 * const client = await database.pool.connect();
 * const faults = await distributionFaults(client, [billingSchema]).finally(() => client.release());
 * for (const fault of faults) console.error(fault);
 */
export async function distributionFaults(client: ClientBase, schemas: readonly PackageSchema[]): Promise<string[]> {
  const declared = schemas.flatMap(({ undistributed }) => undistributed ?? []);
  const { rows } = await client.query<{ fault: string }>(FAULTS, [
    schemas.map(({ name }) => name),
    declared.map(({ table }) => table),
    declared.map(({ as }) => as),
  ]);
  return rows.map(({ fault }) => fault);
}

/** Partitions are left out: each has the columns and constraints of its table. */
const TABLES = `
  declared as (select * from unnest($2::text[], $3::text[]) as declared (name, placement)),
  relation as (
    select c.oid, format('%s.%s', n.nspname, c.relname) as name,
      (select attnum from pg_attribute where attrelid = c.oid and attname = 'lender_id' and not attisdropped) as lender
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where c.relkind in ('r', 'p') and not c.relispartition and n.nspname = any ($1::text[])),
  owned as (
    select r.*, case when d.placement is not null then d.placement when r.lender is not null then 'lender' end as placement
    from relation r left join declared d using (name)),
  foreign_key as (
    select k.*, child.name as child, child.placement as child_placement, child.lender as child_lender,
      parent.name as parent, parent.placement as parent_placement, parent.lender as parent_lender
    from pg_constraint k join owned child on child.oid = k.conrelid left join owned parent on parent.oid = k.confrelid
    where k.contype = 'f'),
  reached (first, last) as (
    select child, parent from foreign_key where conrelid <> confrelid
    union select r.first, k.parent from reached r join foreign_key k on k.child = r.last where k.conrelid <> k.confrelid)`;

const NAMING = [
  `select name || ' has no lender_id: name it in undistributed, with the reason' from owned where placement is null`,
  `select d.name || ' is named in undistributed, but there is no such table' from declared d left join owned o using (name)
   where o.oid is null`,
];

const KEYS = [
  `select name || ' has no primary key' from owned o
   where placement = 'lender' and not exists (select from pg_index where indrelid = o.oid and indisprimary)`,
  `select format('%s: the unique index %s does not begin with lender_id', o.name, i.indexrelid::regclass)
   from pg_index i join owned o on o.oid = i.indrelid
   where o.placement = 'lender' and i.indisunique and i.indkey[0] <> o.lender`,
  `select format('%s: %s is an exclusion constraint, which cannot be enforced over several nodes', o.name, k.conname)
   from pg_constraint k join owned o on o.oid = k.conrelid where k.contype = 'x'`,
];

const FOREIGN_KEYS = [
  `select format('%s: the foreign key %s does not begin with lender_id in both tables', child, conname) from foreign_key
   where child_placement = 'lender' and parent_placement = 'lender'
     and (conkey[1] <> child_lender or confkey[1] <> parent_lender)`,
  `select format('%s: the foreign key %s refers to %s, whose rows are placed elsewhere', child, conname,
     coalesce(parent, confrelid::regclass::text))
   from foreign_key
   where (child_placement, coalesce(parent_placement, '')) not in
     (('lender', 'lender'), ('lender', 'reference'), ('reference', 'reference'), ('local', 'local'))`,
  `select first || ' is in a cycle of foreign keys, so no table of the cycle can be distributed first' from reached
   where first = last`,
  `select format('%s: the foreign key %s has SET NULL or SET DEFAULT, which is not possible on a cluster', child, conname)
   from foreign_key
   where confdeltype in ('n', 'd') or confupdtype in ('n', 'd')`,
];

const THE_REST = [
  `select format('%s: the constraint %s is deferrable, which is not possible on a cluster', o.name, k.conname)
   from pg_constraint k join owned o on o.oid = k.conrelid
   where k.condeferrable`,
  `select format('%s.%s takes its values from a sequence, which counts on one node only', o.name, a.attname) from pg_attribute a join owned o on o.oid = a.attrelid
   left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
   where a.attidentity <> '' or pg_get_expr(d.adbin, d.adrelid) like '%nextval(%'`,
  `select distinct format('%s.%s: its default %s() is volatile', o.name, a.attname, f.name)
   from pg_attrdef d join owned o on o.oid = d.adrelid
   join pg_attribute a on a.attrelid = d.adrelid and a.attnum = d.adnum
   cross join regexp_matches(pg_get_expr(d.adbin, d.adrelid), '([a-z_0-9]+)\\(', 'g') as called (names)
   cross join lateral (select called.names[1] as name) f
   where f.name <> 'nextval' and exists (select from pg_proc p where p.proname = f.name and p.provolatile = 'v')`,
  `select format('%s: the rule %s rewrites statements', o.name, r.rulename)
   from pg_rewrite r join owned o on o.oid = r.ev_class`,
];

const FAULTS = `with recursive ${TABLES}
  select fault from (${[...NAMING, ...KEYS, ...FOREIGN_KEYS, ...THE_REST].join(" union all ")}) as found (fault)
  order by fault`;
