import type { Client } from "pg";
import { sampleValue } from "./sample-values.ts";

interface TableColumn {
  readonly name: string;
  readonly type: string;
  /**
   * A value that a CHECK constraint on the column allows: the first one in its list of allowed values. Null if there is
   * no such constraint.
   */
  readonly allowed: string | null;
}

/**
 * Writes a made-up row of one lender into each table of these schemas, so that the audited statements find rows.
 * Returns the names of the tables that stay empty, because their constraints do not accept the row.
 */
export async function writeSampleRows(client: Client, schemas: readonly string[]): Promise<string[]> {
  const { rows: tables } = await client.query<{ table: string; columns: TableColumn[] }>(COLUMNS, [schemas]);
  let left = tables;
  for (;;) {
    const failed: typeof tables = [];
    for (const table of left) if (!(await isWritten(client, table))) failed.push(table);
    // Try the failed tables again, because a foreign key may refer to a row that was written later than the attempt.
    if (failed.length === left.length || failed.length === 0) return failed.map(({ table }) => table).toSorted();
    left = failed;
  }
}

async function isWritten(
  client: Client,
  { table, columns }: { readonly table: string; readonly columns: readonly TableColumn[] },
): Promise<boolean> {
  const names = columns.map(({ name }) => name).join(", ");
  const places = columns.map((_, index) => `$${index + 1}`).join(", ");
  const values = columns.map(({ type, allowed }) => allowed ?? sampleValue(type));
  try {
    await client.query(`insert into ${table} (${names}) values (${places})`, values);
    return true;
  } catch {
    return false;
  }
}

const COLUMNS = `
  select format('%I.%I', n.nspname, c.relname) as table,
    json_agg(json_build_object(
      'name', quote_ident(a.attname),
      'type', format_type(a.atttypid, null),
      'allowed', (
        select (regexp_match(pg_get_constraintdef(k.oid), '''([^'']*)'''))[1] from pg_constraint k
        where k.conrelid = c.oid and k.contype = 'c' and k.conkey = array[a.attnum]
          and pg_get_constraintdef(k.oid) like '%ARRAY[%' limit 1)
    ) order by a.attnum) as columns
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
  join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
  where c.relkind in ('r', 'p') and not c.relispartition and n.nspname = any ($1)
    and a.attnotnull and not a.atthasdef and a.attidentity = ''
  group by 1 order by 1`;
