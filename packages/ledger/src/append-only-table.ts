import { statement, type Statement } from "@collections/database";

type SqlType = "uuid" | "text" | "bigint" | "integer" | "timestamptz" | "jsonb";

/** A table whose rows are written once, each with the digest of its content. */
export interface AppendOnlyTable<Row> {
  /** Inserts any number of rows; its parameters are one array per column. */
  readonly insert: Statement;
  /** The parameters of `insert`. */
  values(rows: readonly Row[]): unknown[];
  /** The columns of `alias` under their property names: what a query selects to get rows of type Row. */
  selected(alias: string): string;
  /** The digest of the content of `alias` as the insert computes it. */
  digestOf(alias: string): string;
}

/**
 * Describes `ledger.<name>` by its columns, in the order in which `ledger.<name>_digest` takes them. Insert and
 * verification call that one SQL function, so a column cannot be in one of them only.
 */
export function appendOnlyTable<Row extends object>(
  name: string,
  columns: Readonly<Record<keyof Row & string, SqlType>>,
): AppendOnlyTable<Row> {
  const properties = Object.keys(columns) as (keyof Row & string)[];
  const names = properties.map(snakeCase);
  const digestOf = (alias: string) =>
    `ledger.${name}_digest(${names.map((column) => `${alias}.${column}`).join(", ")})`;
  // A jsonb travels as text: an array of it would be read as one JSON array.
  const wireType = (property: keyof Row & string) => (columns[property] === "jsonb" ? "text" : columns[property]);
  const arrays = properties.map((property, index) => `$${index + 1}::${wireType(property)}[]`);
  const typed = properties.map((property, index) => `i.${names[index]}::${columns[property]} as ${names[index]}`);
  return {
    insert: statement(
      `ledger.insert-${name}`,
      `insert into ledger.${name} (${names.join(", ")}, digest)
       select r.*, ${digestOf("r")}
       from (select ${typed.join(", ")} from unnest(${arrays.join(", ")}) as i (${names.join(", ")})) r`,
    ),
    values: (rows) => properties.map((property) => rows.map((row) => parameter(row[property], columns[property]))),
    selected: (alias) => properties.map((property, index) => `${alias}.${names[index]} as "${property}"`).join(", "),
    digestOf,
  };
}

function parameter(value: unknown, type: SqlType): unknown {
  if (value === null) return null;
  if (type === "jsonb") return JSON.stringify(value);
  if (value instanceof Date) return value.toISOString();
  return typeof value === "bigint" ? value.toString() : value;
}

function snakeCase(property: string): string {
  return property.replaceAll(/[A-Z]/g, (capital) => `_${capital.toLowerCase()}`);
}
