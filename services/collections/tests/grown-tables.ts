import type { Client } from "pg";

const COPIES = 2_500;
const LENDERS = 30;
/** Of one loan, link or message: a copy has its own. */
const NAMES = new Set(["source_loan_number", "loan", "reference", "link_id", "provider_message_id"]);

/**
 * Makes a small database a large one: each row of a table that lenders own is copied 2,500 times, over 30 more lenders,
 * and the planner is told. Every id is changed alike wherever it stands, so that rows still belong together, and
 * keeps the time in it, so that they stay in their partitions.
 */
export async function growTables(client: Client): Promise<void> {
  await client.query("set session_replication_role = replica");
  for (const { name, columns, checks } of await lenderTables(client)) {
    for (const check of checks ?? []) await client.query(`alter table ${name} drop constraint if exists ${check}`);
    const values = columns.map(copiedColumn).join(", ");
    await client.query(
      `insert into ${name} (${columns.map((column) => column.name).join(", ")})
       select ${values} from ${name} t cross join generate_series(1, ${COPIES}) n on conflict do nothing`,
    );
    await client.query(`analyze ${name}`);
  }
  await client.query("set session_replication_role = origin");
}

interface LenderTable {
  readonly name: string;
  readonly columns: readonly Column[];
  /** Some tell an id from its parts, which a copy's does not have. */
  readonly checks: readonly string[] | null;
}

interface Column {
  readonly name: string;
  readonly type: string;
}

function copiedColumn({ name, type }: Column): string {
  if (NAMES.has(name)) return `t.${name} || '-' || n`;
  if (type !== "uuid") return `t.${name}`;
  const mixed = `md5(t.${name}::text || ${name === "lender_id" ? `n % ${LENDERS}` : "n"})`;
  return `overlay(t.${name}::text placing
    substr(${mixed}, 1, 3) || '-a' || substr(${mixed}, 4, 3) || '-' || substr(${mixed}, 7, 12) from 16)::uuid`;
}

async function lenderTables(client: Client): Promise<LenderTable[]> {
  const { rows } = await client.query<LenderTable>(
    `select c.oid::regclass::text as name,
       json_agg(json_build_object('name', a.attname, 'type', format_type(a.atttypid, null))) as columns,
       (select json_agg(conname) from pg_constraint k where k.conrelid = c.oid and k.contype = 'c') as checks
     from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
     where c.relkind in ('r', 'p') and not c.relispartition and a.attgenerated = ''
       and exists (select from pg_attribute l where l.attrelid = c.oid and l.attname = 'lender_id')
     group by c.oid order by 1`,
  );
  return rows;
}
