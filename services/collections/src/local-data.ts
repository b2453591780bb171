import { startPostgres } from "@collections/postgres";
import { randomBytes } from "node:crypto";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Config } from "./config.ts";

/** Where a sandbox without settings keeps what it needs: beside the code, never in version control. */
const DATA_DIR = fileURLToPath(new URL("../../../.data", import.meta.url));
const MASTER_KEY_BYTES = 32;

/** The settings that a process cannot do without, given or made. */
export interface Essentials {
  databaseUrl: string;
  databaseDirectUrl: string;
  databaseMigrationUrl: string;
  masterKey: string;
  /** Leaves the embedded PostgreSQL, where there is one. */
  release(): Promise<void>;
}

/**
 * The database and the master key: those of the settings, else an embedded PostgreSQL and a development key under
 * `.data/`, which every process of this checkout shares.
 */
export async function essentials(config: Config, onLog?: (message: string) => void): Promise<Essentials> {
  const masterKey = config.masterKey ?? (await developmentMasterKey());
  if (config.databaseUrl !== undefined) {
    const { databaseUrl, databaseDirectUrl = databaseUrl, databaseMigrationUrl = databaseUrl } = config;
    return { databaseUrl, databaseDirectUrl, databaseMigrationUrl, masterKey, release: () => Promise.resolve() };
  }
  const postgres = await startPostgres({ dataDir: join(DATA_DIR, "postgres"), ...(onLog && { onLog }) });
  const { url } = postgres;
  return {
    databaseUrl: url,
    databaseDirectUrl: url,
    databaseMigrationUrl: url,
    masterKey,
    release: () => postgres.stop(),
  };
}

/** Made once; whoever comes second reads what the first has written. */
async function developmentMasterKey(): Promise<string> {
  const file = join(DATA_DIR, "master-key");
  await mkdir(DATA_DIR, { recursive: true });
  try {
    await writeFile(file, randomBytes(MASTER_KEY_BYTES).toString("hex"), { flag: "wx", mode: 0o600, flush: true });
  } catch (error) {
    if ((error as { code?: string }).code !== "EEXIST") throw error;
  }
  return (await readFile(file, "utf8")).trim();
}
