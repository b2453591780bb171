import { startPostgres } from "@collections/postgres";
import { randomBytes, randomUUID } from "node:crypto";
import { link, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Config } from "./config.ts";

/** Where a sandbox without settings keeps its database and its key: beside the code, ignored by version control. */
const DATA_DIR = fileURLToPath(new URL("../../../../.data", import.meta.url));
const MASTER_KEY_BYTES = 32;

/** The settings that every process needs: given, or made for a sandbox. */
export interface Essentials {
  databaseUrl: string;
  databaseDirectUrl: string;
  databaseMigrationUrl: string;
  masterKey: string;
  /** Stops using the embedded PostgreSQL, if there is one. */
  release(): Promise<void>;
}

/**
 * The database and the master key. Without settings, these are an embedded PostgreSQL and a development key under
 * `.data/`, which all processes of this checkout share.
 */
export async function essentials(config: Config, onLog?: (message: string) => void): Promise<Essentials> {
  const masterKey = config.masterKey ?? (await developmentMasterKey(DATA_DIR));
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

/** The key of a data directory. It is made once; other processes see no key or the whole key, never a part. */
export async function developmentMasterKey(dataDir: string): Promise<string> {
  const file = join(dataDir, "master-key");
  const key = await readFile(file, "utf8").catch(unless("ENOENT"));
  if (key !== undefined) return key.trim();
  await mkdir(dataDir, { recursive: true });
  const draft = `${file}.${randomUUID()}`;
  await writeFile(draft, randomBytes(MASTER_KEY_BYTES).toString("hex"), { mode: 0o600, flush: true });
  await link(draft, file).catch(unless("EEXIST"));
  await rm(draft);
  return (await readFile(file, "utf8")).trim();
}

/** An error handler that returns undefined for an error with this code and throws any other error. */
function unless(code: string): (error: NodeJS.ErrnoException) => undefined {
  return (error) => {
    if (error.code !== code) throw error;
  };
}
