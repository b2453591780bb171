import { type InsertedType, lenderInsert, type LenderStatement } from "@collections/database";

/** The SQL of an append-only table. Each row has a digest of its content. */
export interface AppendOnlyTable<Row> {
  /** Inserts any number of rows. Pass it to `insertFor` together with `values`. A trigger adds the digests. */
  readonly insert: LenderStatement;
  /** Returns the parameters of `insert`: one array per column. */
  values(rows: readonly Row[]): [lenderIds: string[], ...columns: unknown[][]];
  /** Returns the select list of `alias`: each column under its property name, so that the query returns rows of type Row. */
  selected(alias: string): string;
  /** Returns the SQL expression for the digest of the row `alias`. The trigger computes the same digest. */
  digestOf(alias: string): string;
}

/**
 * Builds the SQL of `ledger.<name>` from its columns. Their order is the order of the parameters of the SQL function
 * `ledger.<name>_digest`. Both the trigger and the verification call that function.
 */
export function appendOnlyTable<Row extends { readonly lenderId: string }>(
  name: string,
  columns: Readonly<Record<Exclude<keyof Row & string, "lenderId">, InsertedType>>,
): AppendOnlyTable<Row> {
  const others = Object.keys(columns) as Exclude<keyof Row & string, "lenderId">[];
  const properties = ["lenderId" as const, ...others];
  const types = Object.fromEntries(others.map((property) => [snakeCase(property), columns[property]]));
  return {
    insert: lenderInsert(`ledger.insert-${name}`, { table: `ledger.${name}`, columns: types }),
    values: (rows) => [
      rows.map(({ lenderId }) => lenderId),
      ...others.map((property) => rows.map((row) => parameter(row[property], columns[property]))),
    ],
    selected: (alias) => properties.map((property) => `${alias}.${snakeCase(property)} as "${property}"`).join(", "),
    digestOf: (alias) =>
      `ledger.${name}_digest(${properties.map((property) => `${alias}.${snakeCase(property)}`).join(", ")})`,
  };
}

function parameter(value: unknown, type: InsertedType): unknown {
  if (value === null) return null;
  if (type === "jsonb") return JSON.stringify(value);
  if (value instanceof Date) return value.toISOString();
  return typeof value === "bigint" ? value.toString() : value;
}

function snakeCase(property: string): string {
  return property.replaceAll(/[A-Z]/g, (capital) => `_${capital.toLowerCase()}`);
}
