import { escapeIdentifier, escapeLiteral } from "pg";
import { settingsOf } from "../connection/client-config.ts";
import type { ReadRows } from "../package-schema.ts";

/** The oldest major version of Citus on which the service has been run. */
const OLDEST_CITUS = 13;

/** The role of the service, if it differs from the role that migrates. */
export interface ClusterUse {
  /** The address that the service connects with. Its role has to exist on every node. */
  runtimeUrl?: string;
}

/**
 * Lists what prevents a Citus cluster from distributing tables, one sentence for each fault: a wrong version of Citus,
 * no workers, nodes that do not answer, no two-phase commit, or a missing role of the service. Returns an empty list if
 * Citus is not installed. Changes nothing. `read` must run every query in the same session.
 */
export async function clusterFaults(read: ReadRows, { runtimeUrl }: ClusterUse = {}): Promise<string[]> {
  const version = await citusVersion(read);
  if (version === undefined) return [];
  if (Number.parseInt(version, 10) < OLDEST_CITUS) {
    return [`Citus ${version} is installed, but ${OLDEST_CITUS} or newer is needed: update it on every node`];
  }
  const nodes = await read<Node>(NODES);
  const missing = faultsOfNodes(nodes);
  if (missing.length > 0) return missing;
  const [place] = await read<{ isCoordinator: boolean }>(`select citus_is_coordinator() as "isCoordinator"`);
  if (!place!.isCoordinator) return ["This address leads to a worker: give the address of the coordinator"];

  const role = runtimeUrl === undefined ? "" : (settingsOf(runtimeUrl).user ?? "");
  const answers = await read<Answer>(onAllNodes(nodeFacts(role)));
  const faults = answers.flatMap((answer) => faultsOfAnswer(nodes, answer, version, role));
  return faults.length > 0 ? faults : await refusedRole(read, nodes, role);
}

/**
 * Returns the version of Citus in this database, or undefined if the extension is not installed.
 *
 * @internal
 */
export async function citusVersion(read: ReadRows): Promise<string | undefined> {
  const [extension] = await read<{ version: string }>(
    "select extversion as version from pg_extension where extname = 'citus'",
  );
  return extension?.version;
}

interface Node {
  readonly id: number;
  /** "host:port". */
  readonly name: string;
  readonly isCoordinator: boolean;
  readonly isActive: boolean;
  readonly hasShards: boolean;
}

/** A node's answer to a command. `result` is the text of the error if the command failed or could not be sent. */
interface Answer {
  readonly id: number;
  readonly success: boolean;
  readonly result: string;
}

/** The facts that each node reports about itself. */
interface NodeFacts {
  readonly preparedTransactions: number;
  readonly citus: string | null;
  /** Whether the role of the service may log in; null if the role does not exist. */
  readonly roleMayLogIn: boolean | null;
}

const NODES = `select nodeid as id, format('%s:%s', nodename, nodeport) as name, groupid = 0 as "isCoordinator",
    isactive as "isActive", shouldhaveshards as "hasShards"
  from pg_dist_node where noderole = 'primary' order by nodeid`;

function faultsOfNodes(nodes: readonly Node[]): string[] {
  const faults = nodes
    .filter(({ isActive }) => !isActive)
    .map(({ name }) => `The node ${name} is not active: start it, and call citus_activate_node with its host and port`);
  if (!nodes.some(({ isCoordinator }) => isCoordinator)) {
    faults.push("The coordinator is not in pg_dist_node: call citus_set_coordinator_host with its host and port");
  }
  if (!nodes.some(({ hasShards }) => hasShards)) {
    faults.push("The cluster has no worker that takes shards: add workers with citus_add_node(host, port)");
  }
  return faults;
}

/** Returns SQL that sends a command to all nodes. For an unreachable node the answer contains the connection error. */
function onAllNodes(command: string): string {
  return `select nodeid as id, success, result
    from run_command_on_all_nodes(${escapeLiteral(command)}, give_warning_for_connection_errors := true)`;
}

function nodeFacts(role: string): string {
  return `select json_build_object(
    'preparedTransactions', current_setting('max_prepared_transactions')::int,
    'citus', (select extversion from pg_extension where extname = 'citus'),
    'roleMayLogIn', (select rolcanlogin from pg_roles where rolname = ${escapeLiteral(role)}))`;
}

function faultsOfAnswer(nodes: readonly Node[], answer: Answer, citus: string, role: string): string[] {
  const node = nameOf(nodes, answer);
  if (!answer.success)
    return [`The node ${node} does not answer: ${answer.result.trim()}. Start it, and run this again`];
  const facts = JSON.parse(answer.result) as NodeFacts;
  const faults: string[] = [];
  if (facts.preparedTransactions === 0) {
    faults.push(
      `The node ${node} has max_prepared_transactions = 0, so it cannot commit in two phases: set it to at least max_connections, and restart the node`,
    );
  }
  if (facts.citus !== citus) {
    const found = facts.citus === null ? "no Citus" : `Citus ${facts.citus}`;
    faults.push(`The node ${node} has ${found}, but the coordinator has Citus ${citus}: update Citus on the node`);
  }
  if (role !== "" && facts.roleMayLogIn !== true) {
    const lacks = facts.roleMayLogIn === null ? "does not exist" : "may not log in";
    faults.push(
      `The role ${role} ${lacks} on the node ${node}: create it there as on the coordinator (CREATE ROLE … LOGIN), and run this again`,
    );
  }
  return faults;
}

/**
 * Checks that the workers accept connections of the service's role, because the coordinator connects to a worker as the
 * role that sent the query. Only a member of the service's role can check this. If the connected role is not a member,
 * the check is skipped, and a missing permission is found when the service starts.
 */
async function refusedRole(read: ReadRows, nodes: readonly Node[], role: string): Promise<string[]> {
  if (role === "") return [];
  const [member] = await read<{ may: boolean }>(`select pg_has_role(${escapeLiteral(role)}, 'member') as may`);
  if (!member!.may) return [];
  await read("begin");
  try {
    await read(`set local role ${escapeIdentifier(role)}`);
    const answers = await read<Answer>(onAllNodes("select 1"));
    return answers
      .filter(({ success }) => !success)
      .map((answer) => {
        const node = nameOf(nodes, answer);
        return `The node ${node} refuses the coordinator's connection as ${role}: ${answer.result.trim()}. Allow it in pg_hba.conf, give the coordinator the password, and run this again`;
      });
  } finally {
    await read("rollback");
  }
}

function nameOf(nodes: readonly Node[], { id }: Answer): string {
  return nodes.find((node) => node.id === id)?.name ?? String(id);
}
