import { Client, escapeIdentifier } from "pg";

/** The properties of a node that decide whether it can run the tests. */
export interface NodeFacts {
  role: string;
  isSuperuser: boolean;
  /** The version of Citus that `create extension citus` would install; null if its files are missing. */
  citus: string | null;
  isPreloaded: boolean;
  maxPreparedTransactions: number;
}

/** The cluster cannot run the tests. `faults` has one sentence for each reason. */
export class ClusterError extends Error {
  override readonly name = "ClusterError";

  constructor(faults: readonly string[], options?: ErrorOptions) {
    super(`The tests cannot run on this cluster:\n${faults.map((fault) => `  ${fault}`).join("\n")}`, options);
  }
}

const EXAMPLE =
  "CITUS_URLS=postgres://postgres@coordinator:5432/postgres,postgres://postgres@worker:5432/postgres (the coordinator first)";

/**
 * Pure. Reads CITUS_URLS: the URLs of all nodes, separated by commas, the coordinator first.
 * @throws ClusterError
 */
export function clusterUrls(env: Readonly<Record<string, string | undefined>>): string[] {
  const given = (env["CITUS_URLS"] ?? "").split(",").flatMap((part) => part.trim() || []);
  if (given.length === 0) throw new ClusterError([`CITUS_URLS is not set. Example: ${EXAMPLE}`]);
  const faults = given
    .filter((url) => !isPostgresUrl(url))
    .map((url) => `"${url}" in CITUS_URLS is not a postgres:// URL.`);
  const nodes = given.filter(isPostgresUrl).map(nodeName);
  const repeated = new Set(nodes.filter((node, index) => nodes.indexOf(node) !== index));
  faults.push(...[...repeated].map((node) => `CITUS_URLS names ${node} twice.`));
  if (given.length === 1) faults.push(`CITUS_URLS names one node; expected a coordinator and its workers: ${EXAMPLE}`);
  if (faults.length > 0) throw new ClusterError(faults);
  return given;
}

/** Pure. The reasons why a node cannot run the tests, one sentence each. */
export function nodeFaults(node: string, facts: NodeFacts): string[] {
  const faults: string[] = [];
  if (!facts.isSuperuser) {
    faults.push(`${node}: the role ${facts.role} is not a superuser. Use a superuser in CITUS_URLS.`);
  }
  if (facts.citus === null) faults.push(`${node}: the extension citus is not installed on this server.`);
  // Only a superuser may read this setting.
  else if (facts.isSuperuser && !facts.isPreloaded) {
    faults.push(`${node}: shared_preload_libraries lacks citus. Set shared_preload_libraries = 'citus' and restart.`);
  }
  if (facts.maxPreparedTransactions === 0) {
    faults.push(`${node}: max_prepared_transactions is 0. Set it to at least max_connections and restart.`);
  }
  return faults;
}

/**
 * Creates an empty database with this name on all nodes, with the extension citus, and adds the workers to it.
 * @throws ClusterError
 */
export async function createClusterDatabase(urls: readonly string[], name: string): Promise<void> {
  await throwOnFaults(urls.map(faultsOfNode));
  await Promise.all(
    urls.map(async (url) => {
      await onNode(url, (client) => client.query(`create database ${escapeIdentifier(name)} template template0`));
      await onNode(withDatabase(url, name), (client) => client.query("create extension citus"));
    }),
  );
  const [coordinator, ...workers] = urls.map((url) => withDatabase(url, name));
  await onNode(coordinator!, async (client) => {
    await client.query("select citus_set_coordinator_host($1, $2)", hostAndPort(coordinator!));
    await throwOnFaults(workers.map((worker) => addWorker(client, worker)));
    await throwOnFaults([unconnectedNodes(client)]);
  });
  await Promise.all(urls.map((url) => sealDatabase(url, name)));
}

/**
 * Ends Citus' sessions in this database of a node and forbids new connections. A database can be copied and renamed
 * only while no session is connected, and Citus' maintenance daemon would reconnect.
 */
export async function sealDatabase(url: string, name: string): Promise<void> {
  await onNode(url, async (client) => {
    await client.query(`alter database ${escapeIdentifier(name)} allow_connections false`);
    await client.query(
      `select pg_terminate_backend(pid, 10000) from pg_stat_activity
       where datname = $1 and (backend_type <> 'client backend' or starts_with(application_name, 'citus_internal'))`,
      [name],
    );
  });
}

/**
 * Returns the name of an empty database that has the extension citus. All test databases of a run on a cluster are
 * copied from it, directly or indirectly.
 */
export function clusterTemplate(databasePrefix: string): string {
  return `${databasePrefix}_cluster`;
}

/** Host and port, for messages: the URL may contain a password. */
function nodeName(url: string): string {
  return hostAndPort(url).join(":");
}

/** The URL of another database on the same node. */
export function withDatabase(url: string, database: string): string {
  const other = new URL(url);
  other.pathname = `/${database}`;
  return other.href;
}

/** Runs `work` with a connection to this node. */
export async function onNode<T>(url: string, work: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: 10_000 });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

async function throwOnFaults(checks: readonly Promise<readonly string[]>[]): Promise<void> {
  const faults = (await Promise.all(checks)).flat();
  if (faults.length > 0) throw new ClusterError(faults);
}

async function faultsOfNode(url: string): Promise<string[]> {
  try {
    const { rows } = await onNode(url, (client) => client.query<NodeFacts>(NODE_FACTS));
    return nodeFaults(nodeName(url), rows[0]!);
  } catch (error) {
    return [`${nodeName(url)}: cannot connect (${messageOf(error)}). Check CITUS_URLS.`];
  }
}

/**
 * Reads `pg_settings`, because this view only omits a setting that the role may not read. `current_setting` would fail
 * instead.
 */
const NODE_FACTS = `select current_user as role, current_setting('is_superuser')::bool as "isSuperuser",
  (select default_version from pg_available_extensions where name = 'citus') as citus,
  coalesce((select setting from pg_settings where name = 'shared_preload_libraries'), '') ~ '\\mcitus\\M' as "isPreloaded",
  current_setting('max_prepared_transactions')::int as "maxPreparedTransactions"`;

async function addWorker(coordinator: Client, worker: string): Promise<string[]> {
  try {
    await coordinator.query("select citus_add_node($1, $2)", hostAndPort(worker));
    return [];
  } catch (error) {
    return [`The coordinator cannot add the worker ${nodeName(worker)}: ${messageOf(error)}. ${REACHABLE}`];
  }
}

async function unconnectedNodes(coordinator: Client): Promise<string[]> {
  const { rows } = await coordinator.query<{ from: string; to: string }>(
    `select format('%s:%s', from_nodename, from_nodeport) as from, format('%s:%s', to_nodename, to_nodeport) as to
     from citus_check_cluster_node_health() where result is not true`,
  );
  return rows.map(({ from, to }) => `${from} cannot connect to ${to}. ${REACHABLE}`);
}

const REACHABLE = "The nodes must reach each other by the hosts and ports of CITUS_URLS, without a password.";

function hostAndPort(url: string): [string, number] {
  const { hostname, port } = new URL(url);
  return [hostname, Number(port || 5432)];
}

function isPostgresUrl(url: string): boolean {
  return URL.canParse(url) && ["postgres:", "postgresql:"].includes(new URL(url).protocol);
}

function messageOf(error: unknown): string {
  // A host with several addresses fails with an AggregateError, which has no message of its own.
  if (error instanceof AggregateError) return error.errors.map(messageOf).join("; ");
  return error instanceof Error ? error.message : String(error);
}
