import { type InsertedType, lenderInsert, type LenderStatement } from "@collections/database";

/** A table whose rows are written once, each with the digest of its content. */
export interface AppendOnlyTable<Row> {
  /** Inserts any number of rows: give it to `insertFor` with `values`. A trigger adds the digests. */
  readonly insert: LenderStatement;
  /** The parameters of `insert`: one array per column. */
  values(rows: readonly Row[]): [lenderIds: string[], ...columns: unknown[][]];
  /** The columns of `alias` under their property names: what a query selects to get rows of type Row. */
  selected(alias: string): string;
  /** The digest of the content of `alias`, as the trigger computes it. */
  digestOf(alias: string): string;
}

/**
 * Describes `ledger.<name>` by its columns, in the order in which `ledger.<name>_digest` takes them. The trigger and the
 * verification call that one SQL function.
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
