import { Client } from "pg";

/**
 * The number of rows written in a database since its creation. The key `ledger.transfer +` counts inserts into that
 * table, and `ledger.transfer ~` counts updates.
 */
export type RowsWritten = ReadonlyMap<string, number>;

/** A table with fewer inserts per piece of work than this counts as housekeeping. */
const PART_OF_EVERY_PIECE = 0.5;
/**
 * A table counts as updated if it has at least this many updates per piece of work. The number of updates is not
 * compared, because one update of a case may cover several payments.
 */
const PART_OF_A_BATCH = 0.01;

/** Reads PostgreSQL's statistics. They contain the writes of a connection only after the connection is closed. */
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

/** Throws if the sides of a comparison do not write the same rows per piece of work. */
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
    `The sides have different effects. Rows inserted (+) and updated (~) per piece of work:\n` +
      effects.map(({ side, rows }) => `  ${side}  ${rows}\n`).join("") +
      "Change the other sides so that they write what the service writes.",
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
