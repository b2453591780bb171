import { type Statement, statement } from "./statement.ts";

/**
 * A query for rows by their keys, in two SQL texts. `ofOne` is for keys of one lender: its condition `lender_id = $n`
 * lets a cluster send it to the node of that lender. `ofMany` is for keys of several lenders, and is used on plain
 * PostgreSQL only.
 */
export interface LenderStatement {
  readonly ofOne: Statement;
  readonly ofMany: Statement;
}

/**
 * Makes the two variants of a query: `ofOne` for the rows of one lender, and `ofMany` for keys of several lenders. They
 * differ only in the condition on `lender_id`: `text` gets the condition and returns the SQL. In `ofOne` the condition
 * compares `lender_id` with an additional last parameter, in `ofMany` with the lender of each key.
 *
 * @example
 * const settleInvoices = lenderStatement(
 *   "billing.settle-invoices",
 *   { ofOne: "i.lender_id = $3", ofMany: "i.lender_id = k.lender_id" },
 *   (isTheLenders) => `update billing.invoice i set paid = true
 *     from unnest($1::uuid[], $2::uuid[]) as k (lender_id, id)
 *     where ${isTheLenders} and i.id = k.id`,
 * );
 */
export function lenderStatement(
  name: string,
  isTheLenders: { readonly ofOne: string; readonly ofMany: string },
  text: (isTheLenders: string) => string,
): LenderStatement {
  return {
    ofOne: statement(name, text(isTheLenders.ofOne)),
    ofMany: statement(`${name}-of-many`, text(isTheLenders.ofMany)),
  };
}

/**
 * Returns the statement `ofOne` or `ofMany` and its values, depending on how many different lenders `lenderIds`
 * contains. `lenderIds` has one element for each key.
 *
 * @example
 * send(tx, ...forLenders(settleInvoices, [invoices.map(({ lenderId }) => lenderId), invoices.map(({ id }) => id)]));
 */
export function forLenders(
  { ofOne, ofMany }: LenderStatement,
  values: readonly [lenderIds: readonly string[], ...others: unknown[]],
): [statement: Statement, values: unknown[]] {
  const [lenderId, another] = new Set(values[0]);
  return another === undefined ? [ofOne, [...values, lenderId]] : [ofMany, [...values]];
}
