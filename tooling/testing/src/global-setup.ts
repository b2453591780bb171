import { randomBytes } from "node:crypto";
import { startPooler, startPostgres, temporaryDataDir } from "@collections/postgres";
import type { TestProject } from "vitest/node";
import { clusterTemplate, clusterUrls, createClusterDatabase, onNode } from "./cluster.ts";
import { dropDatabase } from "./drop-database.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** The URL of a role that may create databases. */
    adminUrl: string;
    /** In the mode "citus": the URLs of the worker nodes; `adminUrl` is then the coordinator's URL. Otherwise empty. */
    workerUrls: string[];
    /** The prefix of the names of this run's databases. */
    databasePrefix: string;
    /** The URL of the same server through a transaction pooler, in the mode "pooled". */
    pooledUrl: string | undefined;
  }
}

/**
 * Provides the PostgreSQL for the whole run: the server of DATABASE_URL if it is set, else an embedded server in a
 * temporary folder. In the mode "pooled" a pgbouncer runs in front of the server. In the mode "citus" the run uses the
 * cluster of CITUS_URLS.
 */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const databasePrefix = `collections_test_${randomBytes(4).toString("hex")}`;
  const mode = project.vite.config.mode;
  const server = mode === "citus" ? await clusterForTests(databasePrefix) : await serverForTests();
  project.provide("adminUrl", server.url);
  project.provide("workerUrls", server.workerUrls ?? []);
  project.provide("databasePrefix", databasePrefix);
  const pooler = mode === "pooled" ? await startPooler(server.url) : undefined;
  project.provide("pooledUrl", pooler?.url);
  return async () => {
    await pooler?.stop();
    await server.stop(databasePrefix);
  };
}

interface TestServer {
  url: string;
  workerUrls?: string[];
  /** Removes everything that this run has created. */
  stop(databasePrefix: string): Promise<void>;
}

async function clusterForTests(databasePrefix: string): Promise<TestServer> {
  const urls = clusterUrls(process.env);
  const stop = async (): Promise<void> => {
    await Promise.all(urls.map((url) => dropDatabases(url, databasePrefix)));
  };
  try {
    await createClusterDatabase(urls, clusterTemplate(databasePrefix));
  } catch (error) {
    await stop().catch(() => {});
    throw error;
  }
  const [url, ...workerUrls] = urls;
  return { url: url!, workerUrls, stop };
}

async function serverForTests(): Promise<TestServer> {
  const ownUrl = process.env["DATABASE_URL"];
  if (ownUrl) return { url: ownUrl, stop: (databasePrefix) => dropDatabases(ownUrl, databasePrefix) };

  const { url, stop } = await startPostgres({
    dataDir: temporaryDataDir("collections-test-"),
    temporary: true,
    durable: false,
    settings: { max_connections: "300", max_wal_size: "256MB" },
  });
  return { url, stop };
}

async function dropDatabases(adminUrl: string, databasePrefix: string): Promise<void> {
  const names = await onNode(adminUrl, async (client) => {
    const { rows } = await client.query<{ datname: string }>(
      "select datname from pg_database where starts_with(datname, $1)",
      [databasePrefix],
    );
    return rows.map(({ datname }) => datname);
  });
  for (const name of names) await dropDatabase(adminUrl, name);
}
