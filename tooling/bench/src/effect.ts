import { Client } from "pg";

/** Rows that were ever inserted into and updated in a database, by table: `ledger.transfer +`, `cases.… ~`. */
export type RowsWritten = ReadonlyMap<string, number>;

/** The same for both sides of a comparison. */
export interface BothSides<Value> {
  readonly service: Value;
  readonly statement: Value;
}

/** Below that it is no part of a confirmation: housekeeping that goes on beside it. */
const PART_OF_EVERY_CONFIRMATION = 0.5;

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

/** Throws when a confirmation of the service writes other rows than the one statement that is its limit. */
export function requireSameEffect(
  before: BothSides<RowsWritten>,
  after: BothSides<RowsWritten>,
  confirmations: BothSides<number>,
): void {
  const service = perConfirmation(before.service, after.service, confirmations.service);
  const statement = perConfirmation(before.statement, after.statement, confirmations.statement);
  if (service === statement) return;
  throw new Error(
    `The two sides do not do the same. Rows inserted (+) and updated (~) per confirmation:\n  the service  ${service}\n` +
      `  one statement  ${statement}\nBring one-statement.ts in line with what the service writes.`,
  );
}

function perConfirmation(before: RowsWritten, after: RowsWritten, confirmations: number): string {
  return [...after]
    .map(([table, rows]) => ({ table, rows: (rows - (before.get(table) ?? 0)) / confirmations }))
    .filter(({ rows }) => rows >= PART_OF_EVERY_CONFIRMATION)
    .map(({ table, rows }) => `${table}${rows.toFixed(1)}`)
    .toSorted((a, b) => a.localeCompare(b))
    .join(", ");
}
