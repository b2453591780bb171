import type { EntityManager } from "./entity-manager.ts";
import { databaseOf } from "./open-database.ts";
import { isUnavailable, NodeAwayError } from "../sql/sql-state.ts";
import { type Statement, statement } from "../sql/statement.ts";
import { query } from "./transaction.ts";

/** A query for rows of all lenders, in two SQL texts. */
export interface AllLendersStatement {
  readonly ofAll: Statement;
  /** Reads the rows of some lenders. Its last parameter is the array of their ids. */
  readonly ofSome: Statement;
}

/**
 * Makes both queries. `text` is called for each query with its condition on the lenders, and returns the SQL text. The
 * condition is `true` for all lenders, and `ofSome` for some lenders. `ofSome` compares `lender_id` with the array of
 * ids, so that a cluster sends the query only to the nodes of these lenders.
 *
 * @example
 * const dueInvoices = allLendersStatement(
 *   "billing.due-invoices",
 *   { ofSome: "i.lender_id = any ($2::uuid[])" },
 *   (areTheLenders) => `select i.lender_id as "lenderId", i.id from billing.invoice i
 *     where ${areTheLenders} and not i.paid limit $1`,
 * );
 */
export function allLendersStatement(
  name: string,
  areTheLenders: { readonly ofSome: string },
  text: (areTheLenders: string) => string,
): AllLendersStatement {
  return {
    ofAll: statement(name, text("true")),
    ofSome: statement(`${name}-of-some`, text(areTheLenders.ofSome)),
  };
}

/**
 * Reads rows of all lenders, for work that is done separately for each lender. While a node of a cluster is down, the
 * answer contains only the rows of the lenders on other nodes. So do not use it where the caller would conclude that
 * missing rows do not exist. It needs the option `lenderIds` of `createDatabase`. Without that option the read fails
 * while a node is down.
 *
 * @example
 * for (const { lenderId, id } of await queryReachable<{ lenderId: string; id: string }>(em, dueInvoices, [100])) {
 *   await transaction(database.em(), async (tx) => send(tx, payInvoice, [lenderId, id]));
 * }
 */
export async function queryReachable<Row>(
  em: EntityManager,
  { ofAll, ofSome }: AllLendersStatement,
  values: readonly unknown[],
): Promise<Row[]> {
  const { nodes, distributed } = databaseOf(em);
  const known = nodes?.away;
  try {
    return known ? await rowsOf<Row>(em, ofSome, values, known.reachable) : await query<Row>(em, ofAll, values);
  } catch (error) {
    if (distributed !== true || !nodes || !isUnavailable(error)) throw error;
    // A node may have gone down after the last check, so check the nodes again.
    const away = await nodes.ask();
    if (!away) throw error;
    return rowsOf<Row>(em, ofSome, values, away.reachable);
  }
}

/**
 * Throws while a node of a cluster is known to be down; does nothing on plain PostgreSQL. Call it before a read of rows
 * of all lenders whose answer must be complete, because such a read would wait for a silent node until its time limit.
 * @throws NodeAwayError
 *
 * @example
 * failWhileNodeAway(em);
 * const invoices = await query<{ id: string }>(em, openInvoices, []);
 */
export function failWhileNodeAway(em: EntityManager): void {
  if (databaseOf(em).nodes?.away) throw new NodeAwayError();
}

/**
 * Reads the rows of these lenders. If there are none, sends no query, because a cluster would send it to every node.
 */
async function rowsOf<Row>(
  em: EntityManager,
  ofSome: Statement,
  values: readonly unknown[],
  lenderIds: readonly string[],
): Promise<Row[]> {
  return lenderIds.length === 0 ? [] : query<Row>(em, ofSome, [...values, lenderIds]);
}
