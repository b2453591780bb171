import { Client } from "pg";

/**
 * The number of rows written in a database since its creation. The key `ledger.transfer +` counts inserts into that
 * table, and `ledger.transfer ~` counts updates.
 */
export type RowsWritten = ReadonlyMap<string, number>;

/**
 * The lowest number of inserts per confirmed payment at which a table belongs to the comparison. Rarer inserts are
 * housekeeping and are ignored.
 */
const PART_OF_EVERY_PIECE = 0.5;
/**
 * The lowest number of updates per confirmed payment at which a table counts as updated. The number of updates is not
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

/**
 * Throws if the compared programs do not write the same rows per confirmed payment, because then the comparison would
 * be unfair.
 */
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
    `The compared programs do not write the same rows. Rows inserted (+) and tables updated (~) per confirmed payment:\n` +
      effects.map(({ side, rows }) => `  ${side}  ${rows}\n`).join("") +
      "Change the other programs so that they write what the service writes.",
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
