import type { EntityManager } from "../transaction/entity-manager.ts";
import { isDistributed } from "../transaction/is-distributed.ts";
import { statement } from "../sql/statement.ts";
import { query } from "../transaction/transaction.ts";

/** A transaction over several nodes that a node has prepared, but neither committed nor rolled back. */
export interface PreparedTransaction {
  /** "host:port". */
  readonly node: string;
  readonly gid: string;
  readonly preparedAt: Date;
}

/** The state of the nodes of a cluster. */
export interface ClusterHealth {
  /** "host:port" of each node that does not answer the coordinator. */
  readonly away: readonly string[];
  /**
   * Transactions that were prepared more than a minute ago. Each keeps its locks, and other transactions cannot see its
   * changes.
   */
  readonly prepared: readonly PreparedTransaction[];
}

/**
 * Reads the state of a cluster's nodes. Returns undefined on plain PostgreSQL. Nodes that do not answer the coordinator
 * are listed in `away`. For a silent node the call waits until `citus.node_connection_timeout` has passed.
 *
 * @example
 * const health = await clusterHealth(em);
 * for (const node of health?.away ?? []) console.error(`${node} is away`);
 */
export async function clusterHealth(em: EntityManager): Promise<ClusterHealth | undefined> {
  if (!(await isDistributed(em))) return undefined;
  const nodes = await query<{ node: string; answers: boolean }>(em, nodesOfCluster, []);
  const away = nodes.filter(({ answers }) => !answers).map(({ node }) => node);
  const answers = await query<{ node: string; prepared: string }>(em, preparedOnNodes, [PREPARED_LONG_AGO]);
  const prepared = answers.flatMap(({ node, prepared }) => {
    const found = JSON.parse(prepared) as { gid: string; preparedAt: string }[];
    return found.map(({ gid, preparedAt }) => ({ node, gid, preparedAt: new Date(preparedAt) }));
  });
  return { away, prepared };
}

const nodesOfCluster = statement(
  "database.nodes-of-cluster",
  `select format('%s:%s', nodename, nodeport) as node, citus_check_connection_to_node(nodename, nodeport) as answers
   from pg_dist_node where isactive and noderole = 'primary' order by nodeid`,
);

/** The query that Citus sends to each node: the transactions that were prepared more than a minute ago. */
const PREPARED_LONG_AGO = `select coalesce(json_agg(json_build_object('gid', gid, 'preparedAt', prepared) order by prepared), '[]')
  from pg_prepared_xacts where database = current_database() and prepared < now() - interval '1 minute'`;

const preparedOnNodes = statement(
  "database.prepared-on-nodes",
  `select format('%s:%s', n.nodename, n.nodeport) as node, answer.result as prepared
   from run_command_on_all_nodes($1, give_warning_for_connection_errors => true) answer
   join pg_dist_node n on n.nodeid = answer.nodeid where answer.success`,
);
