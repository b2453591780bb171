import type { LenderStatement } from "./lender-statement.ts";
import { type Statement, statement } from "./statement.ts";

export const INSERTED_TYPES = [
  "uuid",
  "text",
  "bigint",
  "integer",
  "smallint",
  "boolean",
  "timestamptz",
  "date",
  "jsonb",
  "char(3)",
  "text[]",
] as const;

/** The type of an inserted column, spelled exactly as in its table. */
export type InsertedType = (typeof INSERTED_TYPES)[number];

/** The table and the columns of an INSERT. */
export interface LenderRows {
  readonly table: string;
  /** The columns after `lender_id` that differ from row to row. Their parameters are `$2`, `$3` and so on. */
  readonly columns: Readonly<Record<string, InsertedType>>;
  /** Columns that are equal in all rows, each with its value in SQL: a constant, or a parameter after those of `columns`. */
  readonly equal?: Readonly<Record<string, string>>;
  /** The SQL after the values: ON CONFLICT, RETURNING. */
  readonly ending?: string;
}

/**
 * Makes two SQL texts that insert any number of rows: `ofOne` for rows of one lender on a cluster, `ofMany` for rows of any
 * lenders on plain PostgreSQL. The first parameter is the lender, or an array of lenders. The next parameters are one
 * array for each column (an `arraysParameter` for a column of type `text[]`), followed by the parameters that `equal`
 * names. `null` in an array becomes NULL.
 *
 * In `ofOne` the values are set-returning functions in a single row of VALUES, so PostgreSQL makes a row of each element.
 * Citus routes the statement by `$1`, like any insert of a single row: it sends a single command to the lender's node, and a
 * unique violation keeps its SQLSTATE. INSERT … SELECT FROM unnest would become a COPY to all nodes. An `unnest` must not
 * be inside a cast or another function: Citus evaluates those before it sends the command, and fails on a set.
 *
 * `ofMany` selects from these functions. PostgreSQL then converts each array once, and its plan is as good for one row as
 * for many. A plan of `ofOne` would convert an array of `char(3)` once for each row.
 *
 * @example
 * const addInvoices = lenderInsert("billing.add-invoices", {
 *   table: "billing.invoice",
 *   columns: { id: "uuid", currency: "char(3)", total_minor: "bigint" },
 * });
 */
export function lenderInsert(name: string, rows: LenderRows): LenderStatement {
  return {
    ofOne: oneLenderInsert(name, rows),
    ofMany: statement(`${name}-of-many`, selectText(rows)),
  };
}

/**
 * Makes only the SQL text for rows of one lender, whose id is `$1`.
 *
 * @example
 * const addInvoices = oneLenderInsert("billing.add-own-invoices", { table: "billing.invoice", columns: { id: "uuid" } });
 * const [lenderId, ids] = [newId(), [newId(), newId()]];
 * send(tx, addInvoices, [lenderId, ids]);
 */
export function oneLenderInsert(name: string, rows: LenderRows): Statement {
  return statement(name, rowText(rows));
}

function rowText({ table, columns, equal = {}, ending = "" }: LenderRows): string {
  const names = ["lender_id", ...Object.keys(columns), ...Object.keys(equal)];
  const elements = Object.entries(columns).map(([column, type], index) =>
    elementsOf(`$${index + 2}`, { table, column, type }),
  );
  return `insert into ${table} (${names.join(", ")})
     values (${["$1::uuid", ...elements, ...Object.values(equal)].join(", ")})
     ${ending}`;
}

function selectText({ table, columns, equal = {}, ending = "" }: LenderRows): string {
  const names = ["lender_id", ...Object.keys(columns)];
  const elements = Object.entries(columns).map(([column, type], index) => {
    const parameter = `$${index + 2}`;
    return `${type === "text[]" ? setOfArrays(table, column, parameter) : `unnest(${parameter}::${type}[])`} as ${column}`;
  });
  return `insert into ${table} (${[...names, ...Object.keys(equal)].join(", ")})
     select ${[...names.map((name) => `v.${name}`), ...Object.values(equal)].join(", ")}
     from (select ${["unnest($1::uuid[]) as lender_id", ...elements].join(", ")}) v
     ${ending}`;
}

/** SQL that returns the elements of an array parameter as a set, without a cast or function around the set. */
function elementsOf(
  parameter: string,
  { table, column, type }: { readonly table: string; readonly column: string; readonly type: InsertedType },
): string {
  if (type === "text[]") return setOfArrays(table, column, parameter);
  const array = `${parameter}::${type}[]`;
  // The result of unnest() has no length for char(n), so PostgreSQL would add a cast around unnest(). A subscript keeps
  // the length.
  return type === "char(3)" ? `(${array})[generate_subscripts(${array}, 1)]` : `unnest(${array})`;
}

/** SQL that returns a set of arrays. They are sent as JSON, because unnest() would flatten an array of arrays. */
function setOfArrays(table: string, column: string, parameter: string): string {
  return `(jsonb_populate_recordset(null::${table}, ${parameter}::jsonb)).${column}`;
}

/**
 * Makes the parameter for a column of type `text[]`: JSON with one object for each row.
 *
 * @example
 * const tags = arraysParameter("tags", [["paid", "export"], null]); // [{"tags":["paid","export"]},{"tags":null}]
 */
export function arraysParameter(column: string, arrays: readonly (readonly string[] | null)[]): string {
  return JSON.stringify(arrays.map((array) => ({ [column]: array?.map((text) => text.toWellFormed()) ?? null })));
}
