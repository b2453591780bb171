import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { promisify } from "node:util";
import { Client, escapeIdentifier } from "pg";
import { ROOT } from "../registry/root.ts";

/** A database on all nodes of a cluster, with the product's tables distributed and empty. */
export interface ScratchDatabase {
  readonly url: string;
  drop(): Promise<void>;
}

/** The URL does not lead to the coordinator of a usable cluster; the message says why, and what to do. */
export class UnusableClusterError extends Error {
  override readonly name = "UnusableClusterError";
}

/** The exit code of a process that a signal has ended early. */
const INTERRUPTED = 2;

interface Node {
  readonly host: string;
  readonly port: number;
  readonly isCoordinator: boolean;
}

/**
 * Creates a database on all nodes of the cluster that `url` belongs to, migrates it and distributes its tables. The
 * other databases of the cluster are not changed. Only the coordinator is connected to, so its URL is enough. An
 * interrupted process drops the database before it ends.
 */
export async function makeScratchDatabase(url: string): Promise<ScratchDatabase> {
  const name = `citus_audit_${randomBytes(6).toString("hex")}`;
  const scratchUrl = inDatabase(url, name);
  const nodes = await nodesOf(url);
  const drop = () => onEachNode(url, `drop database if exists ${escapeIdentifier(name)} with (force)`);
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.once(signal, () => void drop().finally(() => process.exit(INTERRUPTED)));
  }
  try {
    await onEachNode(url, `create database ${escapeIdentifier(name)} template template0`);
    await joinNodes(scratchUrl, nodes);
    await migrateAndDistribute(scratchUrl);
  } catch (error) {
    await drop();
    throw error;
  }
  return { url: scratchUrl, drop };
}

async function nodesOf(url: string): Promise<Node[]> {
  return await withClient(url, async (client) => {
    const { rows: extensions } = await client.query("select from pg_extension where extname = 'citus'");
    if (extensions.length === 0) {
      throw new UnusableClusterError(
        "The extension citus is not installed in this database. Give the URL of a database on a cluster's coordinator that has it.",
      );
    }
    const { rows } = await client.query<Node>(
      `select nodename as host, nodeport as port, groupid = 0 as "isCoordinator" from pg_dist_node
       where isactive and noderole = 'primary' order by nodeid`,
    );
    if (!rows.some(({ isCoordinator }) => !isCoordinator)) {
      throw new UnusableClusterError(
        "pg_dist_node of this database lists no worker node. Give the URL of a database on the coordinator of a cluster.",
      );
    }
    return rows;
  });
}

async function joinNodes(url: string, nodes: readonly Node[]): Promise<void> {
  const workers = nodes.filter(({ isCoordinator }) => !isCoordinator);
  const coordinator = nodes.find(({ isCoordinator }) => isCoordinator);
  await withClient(url, async (client) => {
    await client.query("create extension citus");
    const { rows } = await client.query<{ result: string; success: boolean }>(
      `select success, result from master_run_on_worker($1::text[], $2::int[],
         array_fill('create extension citus'::text, array[cardinality($1::text[])]), false)`,
      [workers.map(({ host }) => host), workers.map(({ port }) => port)],
    );
    refuseFailures(rows);
    if (coordinator)
      await client.query("select citus_set_coordinator_host($1, $2)", [coordinator.host, coordinator.port]);
    for (const { host, port } of workers) await client.query("select citus_add_node($1, $2)", [host, port]);
  });
}

/** Runs a command on the worker nodes and then on the coordinator. */
async function onEachNode(url: string, command: string): Promise<void> {
  await withClient(url, async (client) => {
    const { rows } = await client.query<{ result: string; success: boolean }>(
      "select success, result from run_command_on_workers($1)",
      [command],
    );
    refuseFailures(rows);
    await client.query(command);
  });
}

function refuseFailures(rows: readonly { readonly success: boolean; readonly result: string }[]): void {
  const failed = rows.find(({ success }) => !success);
  if (failed) throw new UnusableClusterError(`A worker node failed: ${failed.result}`);
}

async function migrateAndDistribute(url: string): Promise<void> {
  const command = join(ROOT, "services/collections/src/cli/main.ts");
  const args = ["--disable-warning=ExperimentalWarning", command, "migrate", "--distribute"];
  const env = { ...process.env, DATABASE_URL: url, MASTER_KEY: randomBytes(32).toString("hex") };
  await promisify(execFile)(process.execPath, args, { env }).catch((error: unknown) => {
    const { stderr = "" } = error as { stderr?: string };
    throw new UnusableClusterError(`migrate --distribute failed on the scratch database:\n${stderr}`, { cause: error });
  });
}

async function withClient<T>(url: string, work: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

function inDatabase(url: string, name: string): string {
  const changed = new URL(url);
  changed.pathname = `/${name}`;
  return changed.href;
}
