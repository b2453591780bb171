import type { MigrateCall, ReadRows } from "@collections/database";

/**
 * The database has a ledger of another chart, and none in the schema of this one. If the name of the schema was changed,
 * `migrate` would make a new and empty ledger. Nothing was migrated.
 *
 * @example
 * await migrate({ url, schemas: [invoicing.schema] }).catch((error: unknown) => {
 *   if (error instanceof LedgerElsewhereError) console.error(error.schema, error.existing.join(", "), error.message);
 *   throw error;
 * });
 */
export class LedgerElsewhereError extends Error {
  override readonly name = "LedgerElsewhereError";
  readonly code = "LEDGER_ELSEWHERE";
  /** The schema of the chart that was passed to `migrate`. */
  readonly schema: string;
  /** The schemas of the other ledgers in the database. */
  readonly existing: readonly string[];

  constructor(schema: string, existing: readonly string[]) {
    const [first] = existing;
    super(
      `The database has no ledger in the schema ${schema}, but it has one in ${existing.join(" and ")}. If it is the ledger of this chart, keep its name: defineChart({ …, schema: "${first}" }). If ${schema} is one more ledger, pass the schemas of both charts to migrate, or say so: defineChart({ …, schema: "${schema}", another: true }).`,
    );
    this.schema = schema;
    this.existing = existing;
  }
}

/**
 * Refuses to make a new ledger in a database that has a ledger of a chart that was not passed to the same call of
 * `migrate`. Two charts of one host are passed together, so a single new name is probably a changed one.
 * @throws LedgerElsewhereError
 */
export async function checkOtherCharts(read: ReadRows, schema: string, call: MigrateCall): Promise<void> {
  const charts = await read<{ schema: string }>(SCHEMAS_OF_CHARTS);
  const names = charts.map((chart) => chart.schema);
  if (names.includes(schema)) return;
  const existing = names.filter((name) => !call.schemas.includes(name));
  if (existing.length > 0) throw new LedgerElsewhereError(schema, existing);
}

/** Only tables of charts have this constraint. The catalog lists it for roles without rights on the schema, too. */
const SCHEMAS_OF_CHARTS = `select n.nspname as schema from pg_constraint k
  join pg_class c on c.oid = k.conrelid join pg_namespace n on n.oid = c.relnamespace
  where k.conname = 'account_in_chart' and c.relname = 'account' order by n.nspname`;
