import { startPostgres } from "@collections/postgres";
import { mkdirSync, mkdtempSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Client } from "pg";

/**
 * A folder for PostgreSQL's data on the disk that also has the source code. In a file system in memory, commits would
 * cost nothing.
 */
export const DATA_DIR = fileURLToPath(new URL("../../../../.data/bench", import.meta.url));

/** A PostgreSQL started for the benchmark, with durable commits. */
export interface BenchServer {
  readonly version: string;
  readonly pid: number;
  /** Creates a database, as a copy of `template` if given, and returns its URL. */
  createDatabase(name: string, template?: string): Promise<string>;
  dropDatabase(name: string): Promise<void>;
  /** Writes everything to the disk now, so that no checkpoint happens during a measurement. */
  checkpoint(): Promise<void>;
  /** Updates the planner's statistics of a database, as in a service that has run for a while. */
  analyze(url: string): Promise<void>;
  stop(): Promise<void>;
}

const SETTINGS = {
  max_connections: "200",
  checkpoint_timeout: "1h",
  max_wal_size: "16GB",
  // Records the time of each event's commit.
  track_commit_timestamp: "on",
};

export async function startBenchServer(): Promise<BenchServer> {
  mkdirSync(DATA_DIR, { recursive: true });
  const dataDir = mkdtempSync(join(DATA_DIR, "postgres-"));
  const postgres = await startPostgres({ dataDir, durable: true, temporary: true, settings: SETTINGS });
  const admin = new Client({ connectionString: postgres.url });
  await admin.connect();
  const { rows } = await admin.query<{ version: string }>("select current_setting('server_version') as version");
  return {
    version: rows[0]!.version,
    pid: postgres.pid,
    async createDatabase(name, template = "template0") {
      await admin.query(`create database ${name} template ${template}`);
      const url = new URL(postgres.url);
      url.pathname = `/${name}`;
      return url.href;
    },
    async dropDatabase(name) {
      await admin.query(`drop database ${name} with (force)`);
    },
    async checkpoint() {
      await admin.query("checkpoint");
    },
    async analyze(url) {
      const client = new Client({ connectionString: url });
      await client.connect();
      await client.query("vacuum analyze");
      await client.end();
    },
    async stop() {
      await admin.end();
      await postgres.stop();
    },
  };
}
