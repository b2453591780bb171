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
 * Makes two SQL texts that insert any number of rows: one for rows of one lender, one for rows of several lenders. The
 * first parameter is the lender, or an array of lenders. The next parameters are one array for each column (an
 * `arraysParameter` for a column of type `text[]`), followed by the parameters that `equal` names. `null` in an array
 * becomes NULL.
 *
 * The values are set-returning functions in a single row of VALUES, so PostgreSQL makes a row of each element. Citus
 * routes the statement by `$1`, like any insert of a single row: it is one command on the lender's node, and a unique
 * violation keeps its SQLSTATE. INSERT … SELECT FROM unnest would become a COPY to all nodes. An `unnest` must not be
 * inside a cast or another function: Citus evaluates those before it sends the command, and fails on a set.
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
    ofMany: statement(`${name}-of-many`, textOf(rows, "unnest($1::uuid[])")),
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
  return statement(name, textOf(rows, "$1::uuid"));
}

/**
 * Returns the statement `ofOne` or `ofMany` and its values, depending on how many different lenders `lenderIds`
 * contains. `lenderIds` and the array of each column have one element for each row. The values of `equal` columns
 * follow.
 *
 * @example
 * const addInvoices = lenderInsert("billing.add-invoices", { table: "billing.invoice", columns: { id: "uuid" } });
 * send(tx, ...insertFor(addInvoices, [invoices.map(({ lenderId }) => lenderId), invoices.map(({ id }) => id)]));
 */
export function insertFor(
  { ofOne, ofMany }: LenderStatement,
  [lenderIds, ...others]: readonly [lenderIds: readonly string[], ...others: unknown[]],
): [statement: Statement, values: unknown[]] {
  const [lenderId, another] = new Set(lenderIds);
  return another === undefined ? [ofOne, [lenderId, ...others]] : [ofMany, [lenderIds, ...others]];
}

function textOf({ table, columns, equal = {}, ending = "" }: LenderRows, lender: string): string {
  const names = ["lender_id", ...Object.keys(columns), ...Object.keys(equal)];
  const elements = Object.entries(columns).map(([column, type], index) =>
    elementsOf(`$${index + 2}`, { table, column, type }),
  );
  return `insert into ${table} (${names.join(", ")})
     values (${[lender, ...elements, ...Object.values(equal)].join(", ")})
     ${ending}`;
}

/** SQL that returns the elements of an array parameter as a set, without a cast or function around the set. */
function elementsOf(
  parameter: string,
  { table, column, type }: { readonly table: string; readonly column: string; readonly type: InsertedType },
): string {
  // Send arrays of arrays as JSON, because unnest() would flatten them.
  if (type === "text[]") return `(jsonb_populate_recordset(null::${table}, ${parameter}::jsonb)).${column}`;
  const array = `${parameter}::${type}[]`;
  // The result of unnest() has no length for char(n), so PostgreSQL would add a cast around unnest(). A subscript keeps
  // the length.
  return type === "char(3)" ? `(${array})[generate_subscripts(${array}, 1)]` : `unnest(${array})`;
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
