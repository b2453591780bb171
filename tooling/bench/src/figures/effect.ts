import { Client } from "pg";

/** Rows that were ever inserted into and updated in a database, by table: `ledger.transfer +`, `cases.… ~`. */
export type RowsWritten = ReadonlyMap<string, number>;

/** Below that it is no part of the work: housekeeping that goes on beside it. */
const PART_OF_EVERY_PIECE = 0.5;
/** Several payments of one loan change its case once: updates are told apart from housekeeping, and not counted. */
const PART_OF_A_BATCH = 0.01;

/** Reads PostgreSQL's own count. What a connection wrote is in it once the connection is closed. */
export async function rowsWritten(databaseUrl: string): Promise<RowsWritten> {
  const client = new Client({ connectionString: databaseUrl });
  await client.connect();
  const { rows } = await client.query<{ name: string; inserted: string; updated: string }>(
    `select schemaname || '.' || relname as name, n_tup_ins as inserted, n_tup_upd as updated from pg_stat_user_tables`,
  );
  await client.end();
  return new Map(
    rows.flatMap(({ name, inserted, updated }) => [
      [`${name} +`, Number(inserted)] as const,
      [`${name} ~`, Number(updated)] as const,
    ]),
  );
}

/** Throws when one side of a comparison writes other rows than another, per piece of work. */
export function requireSameEffect<Side extends string>(
  before: Readonly<Record<Side, RowsWritten>>,
  after: Readonly<Record<Side, RowsWritten>>,
  completed: Readonly<Record<Side, number>>,
): void {
  const effects = (Object.keys(completed) as Side[]).map((side) => ({
    side,
    rows: perPiece(before[side], after[side], completed[side]),
  }));
  if (new Set(effects.map(({ rows }) => rows)).size === 1) return;
  throw new Error(
    `The sides do not do the same. Rows inserted (+) and updated (~) per piece of work:\n` +
      effects.map(({ side, rows }) => `  ${side}  ${rows}\n`).join("") +
      "Bring the others in line with what the service writes.",
  );
}

function perPiece(before: RowsWritten, after: RowsWritten, completed: number): string {
  return [...after]
    .map(([table, rows]) => ({ table, rows: (rows - (before.get(table) ?? 0)) / completed }))
    .flatMap(({ table, rows }) => {
      if (table.endsWith("~")) return rows >= PART_OF_A_BATCH ? [table] : [];
      return rows >= PART_OF_EVERY_PIECE ? [`${table}${rows.toFixed(1)}`] : [];
    })
    .toSorted((a, b) => a.localeCompare(b))
    .join(", ");
}
