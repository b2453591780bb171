import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, chownSync, existsSync, mkdirSync, openSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { Client, Pool } from "pg";
import { until } from "../deadline.ts";
import { freePort } from "../processes/free-port.ts";

/**
 * The environment variable that names the folder of PostgreSQL's programs. The extension citus must be installed for
 * that PostgreSQL.
 */
const BIN_SETTING = "CITUS_BIN";
const NODES = 3;
const READY_WITHIN_MS = 120_000;
const NOBODY = 65534;
const DATABASE = "collections";

/** The settings that operators must make on every cluster, and the settings that this machine needs. */
const SETTINGS = `
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
shared_preload_libraries = 'citus'
max_prepared_transactions = 200
max_connections = 300
wal_level = logical
citus.shard_count = 8
citus.node_connection_timeout = '5s'
citus.recover_2pc_interval = '5s'
citus.node_conninfo = 'sslmode=disable keepalives_idle=5 keepalives_interval=2 keepalives_count=3 tcp_user_timeout=10000'
`;

/** The reason why this machine cannot run a cluster, or undefined. */
export function clusterUnavailable(): string | undefined {
  if (process.platform !== "linux") return "finding a node's processes needs /proc, which only Linux has";
  const bin = process.env[BIN_SETTING];
  if (bin === undefined) {
    return `${BIN_SETTING} is not set. Set it to the folder with initdb and postgres of an installation that has Citus, such as /usr/lib/postgresql/17/bin`;
  }
  const missing = ["initdb", "postgres", "pg_config"].find((program) => !existsSync(join(bin, program)));
  if (missing !== undefined) return `${BIN_SETTING} is ${bin}, which has no ${missing}`;
  const folder = spawnSync(join(bin, "pg_config"), ["--sharedir"], { encoding: "utf8" }).stdout.trim();
  const control = join(folder, "extension", "citus.control");
  return existsSync(control) ? undefined : `the extension citus is not installed: there is no ${control}`;
}

/** One server of the cluster. Node 0 is the coordinator. */
class Node {
  readonly port: number;
  readonly #bin: string;
  readonly #dataDir: string;
  readonly #owner: { uid?: number; gid?: number };
  #process: ChildProcess | undefined;
  #stopped: number[] = [];

  constructor(bin: string, dataDir: string, port: number) {
    this.#bin = bin;
    this.#dataDir = dataDir;
    this.port = port;
    // PostgreSQL does not run as root.
    this.#owner = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {};
  }

  init(): void {
    mkdirSync(this.#dataDir, { recursive: true });
    const { uid, gid } = this.#owner;
    if (uid !== undefined && gid !== undefined) chownSync(this.#dataDir, uid, gid);
    const args = ["-D", this.#dataDir, "-U", "postgres", "--auth=trust", "--no-locale", "-E", "UTF8"];
    const { status, stderr } = spawnSync(join(this.#bin, "initdb"), args, { encoding: "utf8", ...this.#owner });
    if (status !== 0) throw new Error(`initdb failed with exit code ${status}: ${stderr}`);
    appendFileSync(join(this.#dataDir, "postgresql.conf"), `${SETTINGS}port = ${this.port}\n`);
  }

  url(database: string): string {
    return `postgres://postgres@127.0.0.1:${this.port}/${database}`;
  }

  async start(): Promise<void> {
    const log = openSync(`${this.#dataDir}.log`, "a");
    const child = spawn(join(this.#bin, "postgres"), ["-D", this.#dataDir], {
      stdio: ["ignore", log, log],
      ...this.#owner,
    });
    this.#process = child;
    running.add(this);
    child.once("exit", () => running.delete(this));
    await until(`the node at port ${this.port} is ready`, READY_WITHIN_MS, () => this.#isReady(child), 50);
  }

  /** Kills the server and its children with SIGKILL. Only what was on the disk remains. */
  async kill(): Promise<void> {
    const child = this.#process;
    if (child?.pid === undefined || hasEnded(child)) return;
    const ended = once(child, "exit");
    const children = childrenOf(child.pid);
    child.kill("SIGKILL");
    for (const pid of children) signalIfThere(pid, "SIGKILL");
    this.#stopped = [];
    await ended;
  }

  /** Shuts the server down immediately. It does not notify its clients. */
  async shutDown(): Promise<void> {
    const child = this.#process;
    if (child === undefined || hasEnded(child)) return;
    const ended = once(child, "exit");
    this.quit();
    await ended;
  }

  /** Sends SIGQUIT. Resumes the processes first, because a stopped process does not react. */
  quit(): void {
    this.resume();
    this.#process?.kill("SIGQUIT");
  }

  /** Suspends all processes of the server. The kernel still accepts connections, but no answer comes. */
  suspend(): void {
    const child = this.#process;
    if (child?.pid === undefined || hasEnded(child)) throw new Error(`The node at port ${this.port} is not running.`);
    child.kill("SIGSTOP");
    // The server process is stopped already, so it cannot start another child after this list is made.
    this.#stopped = childrenOf(child.pid);
    for (const pid of this.#stopped) signalIfThere(pid, "SIGSTOP");
  }

  /** Resumes the processes that `suspend` stopped. */
  resume(): void {
    for (const pid of this.#stopped.splice(0)) signalIfThere(pid, "SIGCONT");
    this.#process?.kill("SIGCONT");
  }

  async #isReady(child: ChildProcess): Promise<boolean> {
    if (hasEnded(child)) throw new Error(`The node at port ${this.port} ended unexpectedly: see ${this.#dataDir}.log.`);
    const client = new Client({ connectionString: this.url("postgres"), connectionTimeoutMillis: 2_000 });
    client.on("error", () => {});
    try {
      await client.connect();
      return true;
    } catch {
      return false;
    } finally {
      await client.end().catch(() => {});
    }
  }
}

/** The nodes are stopped whenever this process ends, except by SIGKILL. */
const running = new Set<Node>();
process.once("exit", () => {
  for (const node of running) node.quit();
});

/** A cluster for one run: a coordinator and two worker nodes, with durable commits. Node 0 is the coordinator. */
export class OwnCluster {
  readonly #nodes: readonly Node[];
  readonly #folder: string;
  #pool: Pool | undefined;

  private constructor(nodes: readonly Node[], folder: string) {
    this.#nodes = nodes;
    this.#folder = folder;
  }

  /** Creates and starts the cluster in a folder, with an empty database in which Citus knows all nodes. */
  static async start(folder: string): Promise<OwnCluster> {
    const bin = process.env[BIN_SETTING]!;
    const nodes: Node[] = [];
    for (let number = 0; number < NODES; number += 1) {
      nodes.push(new Node(bin, join(folder, `node-${number}`), await freePort()));
    }
    const cluster = new OwnCluster(nodes, folder);
    try {
      for (const node of nodes) node.init();
      await Promise.all(nodes.map((node) => node.start()));
      for (const node of nodes) {
        await run(node.url("postgres"), [`create database ${DATABASE}`]);
        await run(node.url(DATABASE), ["create extension citus"]);
      }
      const [coordinator, ...workers] = nodes;
      await run(coordinator!.url(DATABASE), [
        `select citus_set_coordinator_host('127.0.0.1', ${coordinator!.port})`,
        ...workers.map(({ port }) => `select citus_add_node('127.0.0.1', ${port})`),
      ]);
      return cluster;
    } catch (error) {
      await cluster.stop();
      throw error;
    }
  }

  /** The URL of the database at the coordinator. */
  get url(): string {
    return this.#nodes[0]!.url(DATABASE);
  }

  /** The connections that the faults and the checks use for their own queries. */
  get pool(): Pool {
    this.#pool ??= new Pool({ connectionString: this.url, max: 3, connectionTimeoutMillis: 20_000 }).on(
      "error",
      () => {},
    );
    return this.#pool;
  }

  /** Creates an empty database without Citus on the coordinator's server; returns its URL. */
  async plainDatabase(name: string): Promise<string> {
    await run(this.#nodes[0]!.url("postgres"), [`create database ${name}`]);
    return this.#nodes[0]!.url(name);
  }

  /** Opens connections to one node; 0 is the coordinator. The caller ends the pool. */
  nodePool(node: number): Pool {
    return new Pool({ connectionString: this.#nodes[node]!.url(DATABASE), max: 1 }).on("error", () => {});
  }

  /** Kills a node with SIGKILL; 0 is the coordinator. */
  async kill(node: number): Promise<void> {
    await this.#nodes[node]!.kill();
  }

  /** Shuts a node down immediately. */
  async shutDown(node: number): Promise<void> {
    await this.#nodes[node]!.shutDown();
  }

  /** Suspends a node's processes (SIGSTOP): its port still accepts connections and queries, but no answer comes. */
  suspend(node: number): void {
    this.#nodes[node]!.suspend();
  }

  /** Resumes a suspended node. */
  resume(node: number): void {
    this.#nodes[node]!.resume();
  }

  /** Starts a node again; resolves when it accepts connections. */
  async startAgain(node: number): Promise<void> {
    await this.#nodes[node]!.start();
  }

  /** Makes each COMMIT at the worker nodes take this many microseconds longer, at most 100,000. */
  async delayCommits(delayUs: number): Promise<void> {
    const texts = [`commit_delay = ${delayUs}`, "commit_siblings = 0"].map((setting) => `alter system set ${setting}`);
    for (const node of this.#nodes.slice(1)) await run(node.url(DATABASE), [...texts, "select pg_reload_conf()"]);
  }

  /** Returns, for each lender, the number of the node that has the lender's rows. */
  async nodesOf(lenderIds: readonly string[]): Promise<number[]> {
    const { rows } = await this.pool.query<{ port: number }>(
      `select n.nodeport as port from unnest($1::uuid[]) with ordinality as l (id, place)
       join pg_dist_placement p on p.shardid = get_shard_id_for_distribution_column('lenders.api_key', l.id)
       join pg_dist_node n on n.groupid = p.groupid and n.noderole = 'primary' order by l.place`,
      [lenderIds],
    );
    return rows.map(({ port }) => this.#nodes.findIndex((node) => node.port === port));
  }

  async stop(): Promise<void> {
    await this.#pool?.end();
    this.#pool = undefined;
    await Promise.all(this.#nodes.map((node) => node.shutDown()));
    for (const number of this.#nodes.keys()) {
      rmSync(join(this.#folder, `node-${number}`), { recursive: true, force: true });
    }
  }
}

async function run(url: string, texts: readonly string[]): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    for (const text of texts) await client.query(text);
  } finally {
    await client.end();
  }
}

function hasEnded({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null;
}

function childrenOf(pid: number): number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ").filter(Boolean).map(Number);
}

function signalIfThere(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}
