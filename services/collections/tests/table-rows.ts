import type { App } from "../src/app.ts";

/** The rows of every table, as text in some fixed order, by the table's name. */
export type Rows = Readonly<Record<string, readonly string[]>>;

/** Of the job queue only its jobs: it keeps its own clock in other tables. */
const TABLES = `
  select format('%I.%I', n.nspname, c.relname) as name
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where c.relkind in ('r', 'p') and not c.relispartition and n.nspname !~ '^(pg_|information_schema$)'
    and (n.nspname <> 'pgboss' or c.relname = 'job')
  order by 1`;

/**
 * All that the service has stored. Requests themselves leave nothing here: in tests no limit counts them, and when a key
 * was used is written by the process that `serve.ts` starts.
 */
export async function allRows({ database: { pool } }: Pick<App, "database">): Promise<Rows> {
  const { rows: tables } = await pool.query<{ name: string }>(TABLES);
  const each = tables.map(({ name }) => `select '${name}' as name, to_jsonb(t)::text as row from ${name} t`);
  const { rows } = await pool.query<{ name: string; row: string }>(`${each.join(" union all ")} order by 1, 2`);
  const byName = Map.groupBy(rows, ({ name }) => name);
  return Object.fromEntries([...byName].map(([name, some]) => [name, some.map(({ row }) => row)]));
}

/** One lender's rows, without what its registration wrote and without ids, times, digests and ports: equal for lenders
 * to whom the same has happened.
 */
export function rowsOf(lender: { readonly id: string; readonly code: string }, rows: Rows): Rows {
  const entries = Object.entries(rows).map(([name, some]) => {
    const own = some.filter((row) => row.includes(lender.id));
    return [name, own.map((row) => anonymous(row.replaceAll(lender.code, "LENDER"))).toSorted()] as const;
  });
  return Object.fromEntries(entries.filter(([name, own]) => own.length > 0 && !name.startsWith("lenders.")));
}

function anonymous(row: string): string {
  return row
    .replaceAll(/\\\\x[0-9a-f]{64}/g, "DIGEST")
    .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, "ID")
    .replaceAll(/[0-9a-f]{32}|\blk_[0-9a-f]+/g, "ID")
    .replaceAll(/127\.0\.0\.1:\d+/g, "HOST")
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:\d\d)/g, "TIME");
}
