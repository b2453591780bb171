import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { escapeIdentifier, DatabaseError } from "pg";
import { inject } from "vitest";
import { afterFile } from "./after-file.ts";
import { clusterTemplate, onNode, sealDatabase, withDatabase } from "./cluster.ts";
import { dropDatabase } from "./drop-database.ts";

const IN_USE = "55006";
const DISTRIBUTE = fileURLToPath(
  new URL("../../../services/collections/tests/fixtures/distribute-template.ts", import.meta.url),
);

export interface TestDatabase {
  /** The URL of the database; in the mode "pooled" through the pooler. */
  url: string;
  /** Drops the database now, including open connections to it. */
  drop: () => Promise<void>;
}

/**
 * Creates a database for this test file, which is dropped after the file's tests. It is a copy of a template that is
 * made once per run: `migrate` brings an empty database to the state called `name`, and must close its connections.
 *
 * In the mode "citus" the database is on all nodes of the cluster, and the tables of our packages are distributed.
 */
export async function testDatabase(name: string, migrate: (url: string) => Promise<void>): Promise<TestDatabase> {
  const template = `${inject("databasePrefix")}_template_${name}`;
  await ensureTemplate(template, migrate);
  return copyOf(template, allNodes());
}

/** Like `testDatabase`, but empty. In the mode "citus" it is only on the coordinator, without the extension. */
export async function emptyDatabase(): Promise<TestDatabase> {
  return copyOf("template0", [inject("adminUrl")]);
}

/** Creates, on a cluster, an empty database on all nodes, with the extension and without distributed tables. */
export async function emptyClusterDatabase(): Promise<TestDatabase> {
  return copyOf(clusterTemplate(inject("databasePrefix")), allNodes());
}

/**
 * Returns the URL without the pooler, for connections that need their own session; the same URL if there is no pooler.
 */
export function directUrl(url: string): string {
  const direct = new URL(url);
  if (!direct.searchParams.has("pgbouncer")) return url;
  direct.host = new URL(inject("adminUrl")).host;
  direct.searchParams.delete("pgbouncer");
  return direct.href;
}

/**
 * Makes the template database if it does not exist. If several callers ask for it at once, a lock makes the later
 * callers wait. The database gets its final name only when it is complete.
 */
async function ensureTemplate(template: string, migrate: (url: string) => Promise<void>): Promise<void> {
  await onNode(inject("adminUrl"), async (admin) => {
    await admin.query("select pg_advisory_lock(hashtextextended($1, 0))", [template]);
    const { rowCount } = await admin.query("select from pg_database where datname = $1", [template]);
    if (!rowCount) await makeTemplate(template, migrate);
  });
}

async function makeTemplate(template: string, migrate: (url: string) => Promise<void>): Promise<void> {
  const draft = `${template}_draft`;
  const url = withDatabase(inject("adminUrl"), draft);
  await createDatabase(draft, isOnCluster() ? clusterTemplate(inject("databasePrefix")) : "template0", allNodes());
  try {
    await migrateByAnother(url);
    await migrate(url);
    if (isOnCluster()) await distribute(url);
    await renameDatabase(draft, template);
  } catch (error) {
    await dropFrom(allNodes(), draft);
    throw error instanceof DatabaseError && error.code === IN_USE
      ? new Error(`migrate(url) for ${template} left a connection open: close it before returning`, { cause: error })
      : error;
  }
}

/**
 * Distributes the tables of our packages in this database. It runs as a process: only the service knows all packages,
 * and importing them here would register their queries in every test file.
 */
async function distribute(url: string): Promise<void> {
  await promisify(execFile)(process.execPath, ["--disable-warning=ExperimentalWarning", DISTRIBUTE, url]);
}

/**
 * Lets another version migrate a template database first, if TEST_DATABASES_MIGRATED_BY names a folder with the source
 * code of that version. So the tests of an older version run on a newer schema; see rolling.ts.
 */
async function migrateByAnother(url: string): Promise<void> {
  const checkout = process.env["TEST_DATABASES_MIGRATED_BY"];
  if (checkout === undefined) return;
  const env = { PATH: process.env["PATH"], DATABASE_URL: url, MASTER_KEY: "a".repeat(64) };
  await promisify(execFile)(process.execPath, [join(checkout, "services/collections/src/main.ts"), "migrate"], { env });
}

async function copyOf(template: string, nodes: readonly string[]): Promise<TestDatabase> {
  const database = `${inject("databasePrefix")}_${randomBytes(6).toString("hex")}`;
  await createDatabase(database, template, nodes);
  const drop = (): Promise<void> => dropFrom(nodes, database);
  afterFile(drop);
  return { url: withDatabase(inject("pooledUrl") ?? inject("adminUrl"), database), drop };
}

/**
 * Creates a database as a copy of a template. Copying the files takes about 20 ms and writes no write-ahead log.
 * Copying needs a checkpoint, which costs nothing because the test server runs without fsync. On a cluster, all nodes
 * copy their template, and the copies together are a distributed database: Citus keeps its catalog in the database, and
 * finds the databases of the workers by the same name.
 */
async function createDatabase(name: string, template: string, nodes: readonly string[]): Promise<void> {
  const [quotedName, quotedTemplate] = [escapeIdentifier(name), escapeIdentifier(template)];
  await onEach(nodes, `create database ${quotedName} template ${quotedTemplate} strategy file_copy`);
}

async function renameDatabase(name: string, newName: string): Promise<void> {
  if (isOnCluster()) await Promise.all(allNodes().map((node) => sealDatabase(node, name)));
  await onEach(allNodes(), `alter database ${escapeIdentifier(name)} rename to ${escapeIdentifier(newName)}`);
}

/**
 * Drops the database on the coordinator first, because a background process of that database connects to the databases
 * on the workers.
 */
async function dropFrom(nodes: readonly string[], name: string): Promise<void> {
  for (const node of nodes) await dropDatabase(node, name);
}

async function onEach(nodes: readonly string[], text: string): Promise<void> {
  await Promise.all(nodes.map((node) => onNode(node, (admin) => admin.query(text))));
}

/** Returns the nodes that have a copy of each test database. Tests connect to the first node. */
function allNodes(): string[] {
  return [inject("adminUrl"), ...inject("workerUrls")];
}

function isOnCluster(): boolean {
  return inject("workerUrls").length > 0;
}
