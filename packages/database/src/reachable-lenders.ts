import type { EntityManager } from "@mikro-orm/postgresql";
import { databaseOf, type OpenDatabase } from "./open-database.ts";
import { isUnavailable } from "./sql-state.ts";
import { type Statement, statement } from "./statement.ts";
import { query } from "./transaction.ts";

/** A read of the rows of all lenders, in two texts. */
export interface AllLendersStatement {
  readonly ofAll: Statement;
  /** Reads the rows of some lenders. Its last parameter is the array of their ids. */
  readonly ofSome: Statement;
}

/** How long an answer counts about which nodes answer. */
const ASK_NODES_EVERY_MS = 5_000;

/**
 * Makes both queries. `text` gets the condition on the lenders: `true` for all, `ofSome` for some. `ofSome` compares
 * `lender_id` with the array of ids, so a cluster asks only the nodes of these lenders.
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
 * Reads rows of all lenders, for work that is done lender by lender. While a node of a cluster is away, the rows of its
 * lenders are left out, and the answer has those of the others. So never use it where missing rows would be taken for
 * rows that do not exist. It needs `lenderIds` of the database's options; without it a node away fails the read.
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
  const database = databaseOf(em);
  const known = database.reachable && (await reachableNow(em, database, database.lenderIds!));
  const asked = database.reachable;
  try {
    return known ? await rowsOf<Row>(em, ofSome, values, known) : await query<Row>(em, ofAll, values);
  } catch (error) {
    if (database.distributed !== true || database.lenderIds === undefined || !isUnavailable(error)) throw error;
    // The answer of the nodes is older than the loss of a further node.
    if (known && database.reachable === asked) database.reachable = undefined;
    const reachable = await reachableNow(em, database, database.lenderIds);
    if (!reachable) throw error;
    return rowsOf<Row>(em, ofSome, values, reachable);
  }
}

/** Without any lender a cluster would ask every node. */
async function rowsOf<Row>(
  em: EntityManager,
  ofSome: Statement,
  values: readonly unknown[],
  lenderIds: readonly string[],
): Promise<Row[]> {
  return lenderIds.length === 0 ? [] : query<Row>(em, ofSome, [...values, lenderIds]);
}

/** What `queryReachable` knows while a node is away. */
export interface Reachable {
  /** The ids of the lenders whose nodes answer; undefined when all nodes do. */
  readonly lenderIds: Promise<readonly string[] | undefined>;
  readonly askedAtMs: number;
}

/** Asks the nodes at most every five seconds; one question is shared by all callers. */
async function reachableNow(
  em: EntityManager,
  database: OpenDatabase,
  lenderIds: Statement,
): Promise<readonly string[] | undefined> {
  const nowMs = performance.now();
  if (!database.reachable || nowMs - database.reachable.askedAtMs >= ASK_NODES_EVERY_MS) {
    database.reachable = { lenderIds: askNodes(em, lenderIds), askedAtMs: nowMs };
  }
  const asked = database.reachable;
  try {
    const reachable = await asked.lenderIds;
    if (!reachable && database.reachable === asked) database.reachable = undefined;
    return reachable;
  } catch (error) {
    if (database.reachable === asked) database.reachable = undefined;
    throw error;
  }
}

async function askNodes(em: EntityManager, lenderIds: Statement): Promise<string[] | undefined> {
  const nodes = await query<{ groupId: number; answers: boolean }>(em, nodesThatAnswer, []);
  if (nodes.every(({ answers }) => answers)) return undefined;
  const groups = nodes.filter(({ answers }) => answers).map(({ groupId }) => groupId);
  const lenders = await query<{ id: string }>(em, lenderIds, []);
  const rows = await query<{ id: string }>(em, lendersOnNodes, [lenders.map(({ id }) => id), groups]);
  return rows.map(({ id }) => id);
}

const nodesThatAnswer = statement(
  "database.nodes-that-answer",
  `select groupid as "groupId", citus_check_connection_to_node(nodename, nodeport) as answers
   from pg_dist_node where isactive and noderole = 'primary'`,
);

/** The tables of all lenders are distributed alike, so any of them says where a lender's rows are. */
const lendersOnNodes = statement(
  "database.lenders-on-nodes",
  `with placed as materialized (
     select lender.id, get_shard_id_for_distribution_column(
       (select logicalrelid from pg_dist_partition where partmethod = 'h' order by logicalrelid limit 1), lender.id) as shard
     from unnest($1::uuid[]) as lender (id)
   )
   select placed.id from placed join pg_dist_placement p on p.shardid = placed.shard
   where p.groupid = any ($2::integer[])`,
);
