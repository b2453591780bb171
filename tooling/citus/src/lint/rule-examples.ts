import type { RuleName } from "./rules.ts";

/** A statement that breaks a rule, and an equivalent one that is accepted. */
export interface RuleExample {
  readonly rule: RuleName;
  readonly broken: string;
  readonly accepted: string;
  /**
   * What the cluster does with the broken statement: refuses it, sends it by COPY, or locks rows on more than one node.
   */
  readonly onCluster: "refuses" | "copies" | "locks-all-nodes";
}

/** Examples for every rule. `rules.test.ts` checks them with the linter, `rules.cluster.test.ts` on a cluster. */
export const ruleExamples: readonly RuleExample[] = [
  {
    rule: "mutable-in-case",
    broken: "update webhooks.endpoint set probed_at = coalesce(probed_at, now()) where lender_id = $1",
    accepted: `with clock as materialized (select now() as now)
      update webhooks.endpoint e set probed_at = coalesce(e.probed_at, clock.now) from clock where e.lender_id = $1`,
    onCluster: "refuses",
  },
  {
    rule: "mutable-in-case",
    broken: `update webhooks.endpoint set probed_at = case when url = $2 then probed_at + interval '1 hour' end
      where lender_id = $1`,
    accepted: `update webhooks.endpoint set probed_at = case when url = $2 then $3 else probed_at end where lender_id = $1`,
    onCluster: "refuses",
  },
  {
    rule: "stable-of-column",
    broken: "update webhooks.endpoint set url = $2 where lender_id = $1 and probed_at + interval '1 hour' < now()",
    accepted: "update webhooks.endpoint set url = $2 where lender_id = $1 and probed_at < now() - interval '1 hour'",
    onCluster: "refuses",
  },
  {
    rule: "stable-of-column",
    broken: "update webhooks.endpoint set probe_error = jsonb_build_object('url', url)::text where lender_id = $1",
    accepted:
      "update webhooks.endpoint set probe_error = jsonb_build_object('url', $2::text)::text where lender_id = $1",
    onCluster: "refuses",
  },
  {
    rule: "simple-case-in-change",
    broken: "update webhooks.endpoint set url = case state when 'active' then $2 else $3 end where lender_id = $1",
    accepted: "update webhooks.endpoint set url = case when state = 'active' then $2 else $3 end where lender_id = $1",
    onCluster: "refuses",
  },
  {
    rule: "volatile-in-change",
    broken: "update webhooks.endpoint set probed_at = clock_timestamp() where lender_id = $1",
    accepted: "update webhooks.endpoint set probed_at = now() where lender_id = $1",
    onCluster: "refuses",
  },
  {
    rule: "mutable-in-returning",
    broken: "update webhooks.endpoint set url = $2 where lender_id = $1 returning probed_at::text",
    accepted: `with changed as (update webhooks.endpoint set url = $2 where lender_id = $1 returning probed_at)
      select probed_at::text from changed`,
    onCluster: "refuses",
  },
  {
    rule: "mutable-in-conflict",
    broken: `insert into webhooks.endpoint (lender_id, id, url) values ($1, $2, $3)
      on conflict (lender_id) do update set updated_at = now()`,
    accepted: `insert into webhooks.endpoint (lender_id, id, url, updated_at) values ($1, $2, $3, now())
      on conflict (lender_id) do update set updated_at = excluded.updated_at`,
    onCluster: "refuses",
  },
  {
    rule: "mutable-in-conflict",
    broken: `insert into webhooks.endpoint (lender_id, id, url, probed_at) values ($1, $2, $3, $4)
      on conflict (lender_id) do update set url = $3 where endpoint.probed_at < excluded.probed_at - interval '1 day'`,
    accepted: `insert into webhooks.endpoint (lender_id, id, url, probed_at) values ($1, $2, $3, $4)
      on conflict (lender_id) do update set url = $3 where endpoint.probed_at < excluded.probed_at`,
    onCluster: "refuses",
  },
  {
    rule: "subselect-in-values",
    broken: `insert into webhooks.endpoint (lender_id, id, url)
      values ($1, $2, (select url from webhooks.endpoint where lender_id = $1))`,
    accepted: `insert into webhooks.endpoint (lender_id, id, url)
      select e.lender_id, $2, e.url from webhooks.endpoint e where e.lender_id = $1`,
    onCluster: "refuses",
  },
  {
    rule: "insert-by-copy",
    broken: `insert into webhooks.let_go (lender_id, loan, sequence)
      select * from unnest($1::uuid[], $2::text[], $3::bigint[])`,
    accepted: `insert into webhooks.let_go (lender_id, loan, sequence)
      values ($1, unnest($2::text[]), unnest($3::bigint[]))`,
    onCluster: "copies",
  },
  {
    rule: "insert-by-copy",
    broken: `insert into webhooks.let_go (lender_id, loan, sequence) select $1::uuid, * from unnest($2::text[], $3::bigint[])`,
    accepted: `insert into webhooks.let_go (lender_id, loan, sequence)
      select e.lender_id, i.* from webhooks.endpoint e cross join unnest($2::text[], $3::bigint[]) i
      where e.lender_id = $1`,
    onCluster: "copies",
  },
  {
    rule: "recursive-of-many-lenders",
    broken: `with recursive later as (
        select id, lender_id from webhooks.event where lender_id = $1
        union all select v.id, v.lender_id from later join webhooks.event v on v.lender_id = later.lender_id and v.id > later.id)
      select id from later`,
    accepted: `with recursive later as (
        select id from webhooks.event where lender_id = $1
        union all select v.id from later join webhooks.event v on v.lender_id = $1 and v.id > later.id)
      select id from later`,
    onCluster: "refuses",
  },
  {
    rule: "lock-of-many-lenders",
    broken: "select id from webhooks.event where id = $1 for update skip locked",
    accepted: "select id from webhooks.event where lender_id = $1 and id = $2 for update skip locked",
    onCluster: "refuses",
  },
  {
    rule: "lock-of-reference",
    broken: "select id from lenders.lender where id = $1 for update",
    accepted: "select pg_advisory_xact_lock(hashtextextended($1::text, 0))",
    onCluster: "locks-all-nodes",
  },
  {
    rule: "join-without-lender",
    broken: "select e.id from webhooks.endpoint e join webhooks.event v on v.id = e.id where e.lender_id = $1",
    accepted: `select e.id from webhooks.endpoint e join webhooks.event v on v.lender_id = e.lender_id and v.id = e.id
      where e.lender_id = $1`,
    onCluster: "refuses",
  },
  {
    rule: "join-without-lender",
    broken: "select id from webhooks.endpoint e where exists (select 1 from webhooks.event v where v.id = e.id)",
    accepted: `select id from webhooks.endpoint e
      where exists (select 1 from webhooks.event v where v.lender_id = e.lender_id and v.id = e.id)`,
    onCluster: "refuses",
  },
  {
    rule: "lateral-of-all-rows",
    broken: `select v.id from unnest($1::uuid[]) as k (lender_id)
      cross join lateral (select id from webhooks.event where lender_id = k.lender_id order by id limit 1) v`,
    accepted: `select v.id from unnest($1::uuid[]) as k (lender_id)
      join (select lender_id, id, row_number() over (partition by lender_id order by id) as place from webhooks.event) v
        on v.lender_id = k.lender_id and v.place = 1`,
    onCluster: "refuses",
  },
  {
    rule: "lateral-of-all-rows",
    broken: `select v.id, e.url from unnest($2::uuid[]) as k (id)
      cross join lateral (select lender_id, id from webhooks.event where lender_id = $1 and id = k.id limit 1) v
      join webhooks.endpoint e on e.lender_id = v.lender_id`,
    accepted: `select v.id, e.url from unnest($2::uuid[]) as k (id)
      cross join lateral (select id from webhooks.event where lender_id = $1 and id = k.id limit 1) v
      join webhooks.endpoint e on e.lender_id = $1`,
    onCluster: "refuses",
  },
  {
    rule: "lateral-of-all-rows",
    broken: `select v.id from unnest($1::uuid[]) as k (lender_id) cross join lateral (
        select id, row_number() over (order by id) as place from webhooks.event where lender_id = k.lender_id) v
      where v.place = 1`,
    accepted: `select v.id from unnest($1::uuid[]) as k (lender_id) cross join lateral (
        select id, row_number() over (partition by lender_id order by id) as place
        from webhooks.event where lender_id = k.lender_id) v
      where v.place = 1`,
    onCluster: "refuses",
  },
  {
    rule: "lateral-left-join",
    broken: `select v.id from unnest($1::uuid[]) as k (lender_id)
      left join lateral (select id from webhooks.event where lender_id = k.lender_id) v on true`,
    accepted: `select v.id from unnest($1::uuid[]) as k (lender_id)
      left join webhooks.event v on v.lender_id = k.lender_id`,
    onCluster: "refuses",
  },
  {
    rule: "correlated-beside-reference",
    broken: "select id from lenders.lender l where exists (select 1 from webhooks.event v where v.lender_id = l.id)",
    accepted: "select id from lenders.lender l where l.id = any (array(select v.lender_id from webhooks.event v))",
    onCluster: "refuses",
  },
  {
    rule: "correlated-with-local",
    broken: `select e.id from webhooks.endpoint e
      where exists (select 1 from field_partners.session s where s.id = e.id)`,
    accepted: `with session as materialized (select id from field_partners.session)
      select e.id from webhooks.endpoint e join session s on s.id = e.id`,
    onCluster: "refuses",
  },
  {
    rule: "empty-select-list",
    broken: "select id from webhooks.endpoint where exists (select from field_partners.session)",
    accepted: "select id from webhooks.endpoint where exists (select 1 from field_partners.session)",
    onCluster: "refuses",
  },
];
