import { Client } from "pg";
import type { Rows } from "../invariants/evidence.ts";
import { startMigration } from "../processes/service-process.ts";

/** The schemas that the invariants read. */
const SCHEMAS = ["cases", "earnings", "ledger", "lenders", "payment_links", "webhooks"];
const ROWS_AT_A_TIME = 2_000;

/**
 * Copies the rows of a cluster into a database on one server, where the invariants are checked. Their queries join rows
 * of several lenders, which a cluster rejects.
 */
export async function copyBooks(from: Rows, url: string): Promise<void> {
  const { code, stderr } = await startMigration({ DATABASE_URL: url, MASTER_KEY: "0123456789abcdef".repeat(4) }).done;
  if (code !== 0) throw new Error(`Migrating the copy failed with exit code ${code}: ${stderr}`);
  const to = new Client({ connectionString: url });
  await to.connect();
  try {
    // Disables triggers and foreign keys, because the tables are copied one after the other.
    await to.query("set session_replication_role = replica");
    const { rows: tables } = await to.query<{ name: string; columns: string }>(SELECT_TABLES, [SCHEMAS]);
    await to.query(`truncate ${tables.map(({ name }) => name).join(", ")} cascade`);
    for (const { name, columns } of tables) await copyTable(from, to, name, columns);
  } finally {
    await to.end();
  }
}

async function copyTable(from: Rows, to: Client, name: string, columns: string): Promise<void> {
  const { rows } = await from.query<{ row: string }>(`select to_jsonb(t)::text as row from ${name} t`);
  for (let first = 0; first < rows.length; first += ROWS_AT_A_TIME) {
    const some = rows.slice(first, first + ROWS_AT_A_TIME).map(({ row }) => row);
    await to.query(
      `insert into ${name} (${columns}) select ${columns} from jsonb_populate_recordset(null::${name}, $1)`,
      [`[${some.join(",")}]`],
    );
  }
}

const SELECT_TABLES = `
  select format('%I.%I', n.nspname, c.relname) as name, string_agg(quote_ident(a.attname), ', ') as columns
  from pg_class c join pg_namespace n on n.oid = c.relnamespace join pg_attribute a on a.attrelid = c.oid
  where n.nspname = any ($1) and c.relkind in ('r', 'p') and not c.relispartition
    and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
  group by 1 order by 1`;
