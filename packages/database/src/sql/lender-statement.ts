import { type Statement, statement } from "./statement.ts";

/**
 * What asks for rows by their keys, in two texts. That for the keys of one lender says `lender_id = $n`, by which a
 * cluster finds the one node that has them; that for keys of several is as quick on one PostgreSQL, and no other.
 */
export interface LenderStatement {
  readonly ofOne: Statement;
  readonly ofMany: Statement;
}

/**
 * Makes both texts of one: `text` is handed the condition that says whose rows are meant. Of one lender it is a value, one
 * parameter more, the last; of several it is that of each key.
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
 * The text that fits the keys, with its values: the lenders of the keys first, one each.
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
