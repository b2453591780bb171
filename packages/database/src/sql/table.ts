import { arraysParameter, INSERTED_TYPES, type InsertedType } from "./lender-insert.ts";

/** The value that a column accepts: the type of the row's property, but arrays may be readonly. */
export type ColumnValue<Value> = Value extends readonly (infer Element)[] ? readonly Element[] : Value;

/** The values that some properties of a row accept. */
export type ColumnValues<Row, Property extends keyof Row> = {
  readonly [Key in Property]: ColumnValue<Row[Key]>;
};

/** A table by its name with its schema: `billing.invoice`. */
export interface NamedTable {
  readonly name: string;
}

/**
 * Methods that generate the parts of SQL statements with column names. The methods take the names of the row's properties,
 * and throw an error for a property that has no column. Parameters are numbered from `firstParameter`.
 */
export interface Table<Row extends object> extends NamedTable {
  /** The table with its schema: `billing.invoice`. */
  readonly name: string;
  /** Every property that has a column, in the order of the definition. */
  readonly properties: readonly (keyof Row & string)[];
  /** The column of a property: `due_on`. */
  column(property: keyof Row & string): string;
  /** The column's type as PostgreSQL names it: `timestamptz`, `char(3)`. */
  type(property: keyof Row & string): string;
  /** Whether the column may be NULL. */
  isNullable(property: keyof Row & string): boolean;
  /** Returns the column list of an INSERT or a GROUP BY: `id, due_on`, or `i.id, i.due_on` with an alias. */
  columnList(properties: readonly (keyof Row & string)[], alias?: string): string;
  /**
   * Returns the list of a SELECT whose rows have these properties: `i.id as "id", i.due_on as "dueOn"`. With a
   * `prefix`, such as `invoice.`, the names begin with it, so that one SELECT returns rows of several tables. `joinedRows`
   * reads such rows.
   */
  selectList(alias: string, properties?: readonly (keyof Row & string)[], prefix?: string): string;
  /** Returns the parameters of one row: `$1, $2`. `values` returns the values to send for these parameters. */
  parameterList(properties: readonly (keyof Row & string)[], firstParameter?: number): string;
  /**
   * Returns the SET list of an UPDATE of one row: `paid = $3, paid_at = $4`. Send the result of `values` for the
   * parameters.
   */
  assignParameters(properties: readonly (keyof Row & string)[], firstParameter: number): string;
  /** Returns the SET list of an UPDATE from other rows: `paid = excluded.paid, paid_at = excluded.paid_at`. */
  assignFrom(alias: string, properties: readonly (keyof Row & string)[]): string;
  /**
   * Returns SQL that makes rows of one array for each column: `unnest($1::uuid[], $2::date[]) as k (id, due_on)`. Send
   * the result of `arrays` for the parameters. Throws for a column that is an array itself, because unnest() would
   * flatten it.
   */
  unnest(alias: string, properties: readonly (keyof Row & string)[], firstParameter?: number): string;
  /** Returns the `columns` for `lenderInsert`, which adds `lender_id` itself. Send the result of `arrays` for them. */
  insertedTypes(properties: readonly (keyof Row & string)[]): Readonly<Record<string, InsertedType>>;
  /** Returns the parameters for one row, one for each property. JSON becomes text. */
  values<Property extends keyof Row & string>(
    row: ColumnValues<Row, Property>,
    properties: readonly Property[],
  ): unknown[];
  /** Returns the parameters for many rows, one array for each property. */
  arrays<Property extends keyof Row & string>(
    rows: readonly ColumnValues<Row, Property>[],
    properties: readonly Property[],
  ): unknown[];
}

/** A column of a table, and the property of the row that has its value. */
export interface TableColumn {
  readonly property: string;
  /** The name of the column. */
  readonly name: string;
  /** The type as PostgreSQL names it. */
  readonly type: string;
  readonly isNullable: boolean;
}

/**
 * The type of each column by the property of its row, as in a CREATE TABLE: `uuid`, `char(3)`, and `date null` for a column
 * that may be NULL.
 */
export type ColumnTypes<Row extends object> = {
  readonly [Property in keyof Row & string]: null extends Row[Property] ? `${string} null` : string;
};

const NULLABLE = / null$/;

/**
 * Defines a table: `name` is its name with its schema, and `types` has the type of each column. The name of a column is that
 * of its property in snake case. Returns methods that generate the parts of SQL statements with column names, so that only
 * the definition names the columns. Call it once for each table, when the module loads. The definition creates nothing:
 * the migrations of the package do.
 *
 * @example
 * interface ReceiptRow {
 *   id: string;
 *   paidAt: Date | null;
 * }
 * const table = defineTable<ReceiptRow>("billing.receipt", { id: "uuid", paidAt: "timestamptz null" });
 * const CHANGED = ["paidAt"] as const;
 * const lock = statement(
 *   "billing.lock-receipt",
 *   `select ${table.selectList("r")} from ${table.name} r where r.id = $1 for no key update`,
 * );
 * const save = statement(
 *   "billing.save-receipt",
 *   `update ${table.name} set ${table.assignParameters(CHANGED, 2)} where id = $1`,
 * );
 * const [receipt] = await query<ReceiptRow>(tx, lock, [invoiceId]);
 * if (receipt) send(tx, save, [receipt.id, ...table.values({ ...receipt, paidAt: dueAt }, CHANGED)]);
 */
export function defineTable<Row extends object>(name: string, types: ColumnTypes<Row>): Table<Row> {
  const columns = Object.entries<string>(types).map(([property, type]) => ({
    property,
    name: property.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
    type: type.replace(NULLABLE, ""),
    isNullable: NULLABLE.test(type),
  }));
  return tableWith<Row>(name, columns);
}

/**
 * Makes the table of these columns. `tableOf` of `@collections/entities` calls it with those of an entity.
 *
 * @example
 * const columns = [{ property: "id", name: "id", type: "uuid", isNullable: false }];
 * console.log(tableWith<{ id: string }>("billing.invoice", columns).columnList(["id"]));
 */
export function tableWith<Row extends object>(name: string, tableColumns: readonly TableColumn[]): Table<Row> {
  const columns = new Map(tableColumns.map((column) => [column.property, withParameters(column)]));

  function of(property: string): Column {
    const column = columns.get(property);
    if (column) return column;
    const known = [...columns.keys()].join(", ");
    throw new Error(`The table ${name} has no column for "${property}". It has columns for: ${known}.`);
  }
  const list = (properties: readonly string[], text: (column: Column, index: number) => string): string =>
    properties.map((property, index) => text(of(property), index)).join(", ");

  return {
    name,
    properties: [...columns.keys()] as (keyof Row & string)[],
    column: (property) => of(property).name,
    type: (property) => of(property).type,
    isNullable: (property) => of(property).isNullable,
    columnList: (properties, alias) =>
      list(properties, (column) => (alias === undefined ? column.name : `${alias}.${column.name}`)),
    selectList: (alias, properties = [...columns.keys()] as (keyof Row & string)[], prefix = "") =>
      list(properties, (column) => `${alias}.${column.name} as "${prefix}${column.property}"`),
    parameterList: (properties, firstParameter = 1) =>
      list(properties, (_column, index) => `$${firstParameter + index}`),
    assignParameters: (properties, firstParameter) =>
      list(properties, (column, index) => `${column.name} = $${firstParameter + index}`),
    assignFrom: (alias, properties) => list(properties, (column) => `${column.name} = ${alias}.${column.name}`),
    unnest(alias, properties, firstParameter = 1) {
      const arrays = list(properties, (column, index) => `$${firstParameter + index}::${unnestedType(name, column)}[]`);
      return `unnest(${arrays}) as ${alias} (${list(properties, (column) => column.name)})`;
    },
    insertedTypes: (properties) =>
      Object.fromEntries(properties.map((property) => [of(property).name, insertedType(name, of(property))])),
    values: (row, properties) => properties.map((property) => of(property).parameter(row[property])),
    arrays: (rows, properties) =>
      properties.map((property) => of(property).arrayParameter(rows.map((row) => row[property]))),
  };
}

interface Column extends TableColumn {
  /** The parameter for the value of one row. */
  readonly parameter: (value: unknown) => unknown;
  /** The parameter for the values of several rows. */
  readonly arrayParameter: (values: readonly unknown[]) => unknown;
}

function withParameters(column: TableColumn): Column {
  const { name, type } = column;
  return {
    ...column,
    parameter: type === "jsonb" ? asJson : (value) => value,
    arrayParameter: arrayParameterOf(name, type),
  };
}

function arrayParameterOf(name: string, type: string): Column["arrayParameter"] {
  if (type === "jsonb") return (values) => values.map(asJson);
  if (type.endsWith("[]")) return (values) => arraysParameter(name, values as readonly (readonly string[] | null)[]);
  // Only columns of dates and times can have a Date as a value. The values of all other columns are sent unchanged,
  // without copying the array.
  if (!/^(?:date|timestamp)/.test(type)) return (values) => values;
  return (values) => values.map((value) => (value instanceof Date ? value.toISOString() : value));
}

function asJson(value: unknown): unknown {
  return value === null || value === undefined ? null : JSON.stringify(value);
}

function unnestedType(table: string, { name, type }: Column): string {
  if (type.endsWith("[]")) {
    throw new Error(
      `unnest() would flatten ${table}.${name}, which has the type ${type}. Insert it with lenderInsert.`,
    );
  }
  return type;
}

function insertedType(table: string, { name, type }: Column): InsertedType {
  const known = INSERTED_TYPES.find((inserted) => inserted === type);
  if (known !== undefined) return known;
  throw new Error(
    `lenderInsert cannot insert ${table}.${name}: it knows ${INSERTED_TYPES.join(", ")}, but not ${type}.`,
  );
}
