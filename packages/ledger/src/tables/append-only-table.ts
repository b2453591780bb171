import { type ColumnValues, lenderInsert, type LenderStatement, type Table } from "@collections/database";
import { schemaOf, statementName } from "./statement-name.ts";

/** A row of an append-only table. A trigger adds the digest. */
interface DigestedRow {
  lenderId: string;
  digest: unknown;
}

/** The columns that an INSERT names: all except the digest. */
type Written<Row> = Exclude<keyof Row & string, "digest">;

/** A table whose rows contain a digest of their content. */
export interface DigestedTable {
  /** The table with its schema: `general_ledger.transfer`. */
  readonly name: string;
  /**
   * Returns the SQL expression for the digest of a row of the table with this alias. The trigger uses the same digest.
   */
  digestOf(alias: string): string;
}

/** The SQL of an append-only table. `Row` has all columns except the digest. */
export interface AppendOnlyTable<Row> extends DigestedTable {
  /** Inserts any number of rows. Pass it to `insertFor` together with `values`. A trigger adds the digests. */
  readonly insert: LenderStatement;
  /** Returns the parameters of `insert`: one array per column. */
  values(rows: readonly Row[]): [lenderIds: string[], ...columns: unknown[]];
  /**
   * Returns the select list for the table with this alias. Each column is selected under its property name, so that the
   * query returns rows of type Row. With a `prefix` the names begin with it, for `joinedRows`.
   */
  selected(alias: string, prefix?: string): string;
}

/**
 * Builds the SQL of an append-only table from its definition. The order of its columns is the order of the parameters
 * of the SQL function `<table>_digest`. Both the trigger and the verification call that function. The columns in `filled`
 * are filled by PostgreSQL, such as by a default: no INSERT names them, and they are no part of the digest.
 *
 * @example
 * const shipments = appendOnlyTable(shipmentColumns);
 * send(tx, ...insertFor(tx, shipments.insert, shipments.values([shipment])));
 */
export function appendOnlyTable<Row extends DigestedRow, Filled extends Written<Row> = never>(
  table: Table<Row>,
  { filled = [] }: { readonly filled?: readonly Filled[] } = {},
): AppendOnlyTable<ColumnValues<Row, Exclude<Written<Row>, Filled>> & { readonly lenderId: string }> {
  const notInserted = new Set<string>(["digest", ...filled]);
  const properties = table.properties.filter(
    (property): property is Exclude<Written<Row>, Filled> => !notInserted.has(property),
  );
  const schema = schemaOf(table);
  const tableName = table.name.slice(schema.length).replace(".", "");
  const others = properties.filter((property) => property !== "lenderId");
  return {
    name: table.name,
    insert: lenderInsert(statementName(schema, `insert-${tableName}`), {
      table: table.name,
      columns: table.insertedTypes(others),
    }),
    values: (rows) => [rows.map(({ lenderId }) => lenderId), ...table.arrays(rows, others)],
    selected: (alias, prefix) => table.selectList(alias, properties, prefix),
    digestOf: (alias) => `${table.name}_digest(${table.columnList(properties, alias)})`,
  };
}
