import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import type { Client } from "pg";
import { openClient } from "./open-client.ts";
import { operator } from "./service.ts";

/** An existing PostgreSQL server or Citus cluster. A benchmark leaves nothing on it. */
export interface GivenServer {
  /**
   * A description, such as "PostgreSQL 18.1" or "Citus 13.2 on PostgreSQL 15.14: 1 coordinator, 2 workers, 32 shards".
   */
  readonly topology: string;
  /** The ids of the server's processes if they run on this machine; else empty. */
  readonly pids: readonly number[];
  /** The measurements that are not possible on this server, one sentence each. */
  readonly leftOut: readonly string[];
  /** Creates a database with a unique name, migrates it and, on a cluster, distributes it. Returns its URL. */
  createDatabase(): Promise<string>;
  checkpoint(): Promise<void>;
  analyze(databaseUrl: string): Promise<void>;
  /** Drops the databases that were created, and no others. */
  close(): Promise<void>;
}

interface Node {
  readonly host: string;
  readonly port: number;
  readonly client: Client;
}

const CHECKPOINT_REFUSED = "42501";

/**
 * Connects to a server, or to a cluster through its coordinator. Every node must accept the URL's user and password.
 */
export async function openGivenServer(url: string): Promise<GivenServer> {
  const admin = await openClient(url);
  const { rows } = await admin.query<{ version: string; citus: string | null }>(
    `select split_part(current_setting('server_version'), ' ', 1) as version,
       (select extversion from pg_extension where extname = 'citus') as citus`,
  );
  const { version, citus } = rows[0]!;
  const workers = citus === null ? [] : await workersOf(admin, url);
  const coordinator = { host: new URL(url).hostname, port: Number(new URL(url).port || 5432), client: admin };
  const nodes: readonly Node[] = [coordinator, ...workers];
  const pids = (await Promise.all(nodes.map(pidOf))).filter((pid) => pid !== undefined);
  const leftOut = new Set<string>();
  if (pids.length < nodes.length) {
    leftOut.add(
      "The processor time of the database: its processes are not on this machine, or the URL's role may not read files.",
    );
  }
  const made: string[] = [];

  async function onEach(act: (node: Node) => Promise<unknown>): Promise<void> {
    await Promise.all(nodes.map(act));
  }

  return {
    topology: topologyOf(version, citus, workers.length, await shardCount(admin)),
    pids,
    get leftOut() {
      return [...leftOut];
    },
    async createDatabase() {
      const name = `bench_${randomBytes(6).toString("hex")}`;
      made.push(name);
      await onEach(({ client }) => client.query(`create database ${name}`));
      const databaseUrl = at(url, { database: name });
      if (citus === null) {
        await operator(databaseUrl, "migrate");
        return databaseUrl;
      }
      for (const { host, port } of nodes) await run(at(url, { database: name, host, port }), "create extension citus");
      const added = workers.map(({ host, port }) => `select citus_add_node('${host}', ${port})`);
      const itself = `select citus_set_coordinator_host('${coordinator.host}', ${coordinator.port})`;
      for (const text of [itself, ...added]) await run(databaseUrl, text);
      await operator(databaseUrl, "migrate", "--distribute");
      return databaseUrl;
    },
    async checkpoint() {
      await onEach(({ client }) =>
        client.query("checkpoint").catch((error: { code?: string }) => {
          if (error.code !== CHECKPOINT_REFUSED) throw error;
          leftOut.add("A CHECKPOINT before each row of the report: the URL's role may not run CHECKPOINT.");
        }),
      );
    },
    analyze: (databaseUrl) => run(databaseUrl, "vacuum analyze"),
    async close() {
      // Drop the databases of one node after the other, because the coordinator's background worker holds connections
      // to the worker nodes.
      for (const { client } of nodes) {
        for (const name of made) await client.query(`drop database if exists ${name} with (force)`);
      }
      await onEach(({ client }) => client.end());
    },
  };
}

async function workersOf(coordinator: Client, url: string): Promise<Node[]> {
  const { rows } = await coordinator.query<{ host: string; port: number }>(
    `select nodename as host, nodeport as port from pg_dist_node
     where groupid > 0 and noderole = 'primary' and isactive order by groupid`,
  );
  return Promise.all(
    rows.map(async ({ host, port }) => ({ host, port, client: await openClient(at(url, { host, port })) })),
  );
}

async function shardCount(client: Client): Promise<number> {
  const { rows } = await client.query<{ shards: string | null }>(
    "select current_setting('citus.shard_count', true) as shards",
  );
  return Number(rows[0]!.shards ?? 0);
}

function topologyOf(version: string, citus: string | null, workers: number, shards: number): string {
  if (citus === null) return `PostgreSQL ${version}`;
  return `Citus ${citus} on PostgreSQL ${version}: 1 coordinator, ${workers} workers, ${shards} shards`;
}

/** The id of the server's process, if the server runs on this machine and we may read its file postmaster.pid. */
async function pidOf({ client }: Node): Promise<number | undefined> {
  try {
    const { rows } = await client.query<{ file: string }>("select pg_read_file('postmaster.pid') as file");
    const [pid] = rows[0]!.file.split("\n");
    return readFileSync(`/proc/${pid}/cmdline`, "latin1").includes("postgres") ? Number(pid) : undefined;
  } catch {
    return undefined;
  }
}

function at(url: string, place: { database?: string; host?: string; port?: number }): string {
  const other = new URL(url);
  if (place.database !== undefined) other.pathname = `/${place.database}`;
  if (place.host !== undefined) other.hostname = place.host;
  if (place.port !== undefined) other.port = String(place.port);
  return other.href;
}

async function run(databaseUrl: string, text: string): Promise<void> {
  const client = await openClient(databaseUrl);
  try {
    await client.query(text);
  } finally {
    await client.end();
  }
}
