import type { Client } from "pg";

const COPIES = 2_500;
const LENDERS = 30;
/** Of one loan, link, message or person: a copy has its own. */
const NAMES = new Set([
  "source_loan_number",
  "loan",
  "reference",
  "link_id",
  "provider_message_id",
  "phone",
  "subject",
]);

/** How large a table becomes. */
export interface Growth {
  /** Copies of each row of a table ("schema.table"), by the number of rows that it has. */
  readonly copies: (rows: number, table: string) => number;
  /** Lenders whom the copies belong to; undefined leaves each copy to the lender of its row. */
  readonly lenders: number | undefined;
  /** Whether the planner is told. */
  readonly analyze: boolean;
}

/**
 * Makes a small database a large one: each row of a table that lenders or field partners own is copied, 2,500 times
 * over 30 more lenders unless told otherwise. Every id is changed alike wherever it stands, so that rows still belong
 * together, and keeps the time in it, so that they stay in their partitions.
 */
export async function growTables(
  client: Client,
  { copies, lenders, analyze }: Growth = { copies: () => COPIES, lenders: LENDERS, analyze: true },
): Promise<void> {
  await dropChecks(client);
  await client.query("set session_replication_role = replica");
  for (const { name, columns } of await ownedTables(client)) {
    const values = columns.map((column) => copiedColumn(column, lenders)).join(", ");
    const { rows } = await client.query<{ count: number }>(`select count(*)::integer as count from ${name}`);
    await client.query(
      `insert into ${name} (${columns.map((column) => column.name).join(", ")})
       select ${values} from ${name} t cross join generate_series(1, ${copies(rows[0]!.count, name)}) n on conflict do nothing`,
    );
    if (analyze) await client.query(`analyze ${name}`);
  }
  await client.query("set session_replication_role = origin");
}

/** Drops what copies do not keep to. PostgreSQL then plans anew whatever was prepared before. */
export async function dropChecks(client: Client): Promise<void> {
  for (const { name, checks } of await ownedTables(client)) {
    for (const check of checks ?? []) await client.query(`alter table ${name} drop constraint if exists ${check}`);
  }
}

interface OwnedTable {
  readonly name: string;
  readonly columns: readonly Column[];
  /** Some tell an id from its parts, which a copy's does not have. */
  readonly checks: readonly string[] | null;
}

interface Column {
  readonly name: string;
  readonly type: string;
}

function copiedColumn({ name, type }: Column, lenders: number | undefined): string {
  if (NAMES.has(name)) return `t.${name} || '-' || n`;
  if (type === "bytea" && name.endsWith("_hash")) return `t.${name} || int4send(n)`;
  if (type !== "uuid" || (name === "lender_id" && lenders === undefined)) return `t.${name}`;
  const mixed = `md5(t.${name}::text || ${name === "lender_id" ? `n % ${lenders}` : "n"})`;
  return `overlay(t.${name}::text placing
    substr(${mixed}, 1, 3) || '-a' || substr(${mixed}, 4, 3) || '-' || substr(${mixed}, 7, 12) from 16)::uuid`;
}

/** The tables of lenders, field partners and limits: all but those with one row for each lender. */
async function ownedTables(client: Client): Promise<OwnedTable[]> {
  const { rows } = await client.query<OwnedTable>(
    `select c.oid::regclass::text as name,
       json_agg(json_build_object('name', a.attname, 'type', format_type(a.atttypid, null))) as columns,
       (select json_agg(conname) from pg_constraint k where k.conrelid = c.oid and k.contype = 'c') as checks
     from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
     where c.relkind in ('r', 'p') and not c.relispartition and a.attgenerated = ''
       and (c.relnamespace::regnamespace::text = 'field_partners' or c.relname = 'permit_window'
         or exists (select from pg_attribute l where l.attrelid = c.oid and l.attname = 'lender_id'))
     group by c.oid order by 1`,
  );
  return rows;
}
