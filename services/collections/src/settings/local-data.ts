import { randomBytes, randomUUID } from "node:crypto";
import { link, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Config, InvalidConfigError } from "./config.ts";
import { RELEASE } from "./release.ts";

/**
 * The folder where a sandbox without settings stores its database and its master key. Version control ignores this
 * folder. The path is only valid in a checkout, so `essentials` refuses to use it in a release.
 */
const DATA_DIR = fileURLToPath(new URL("../../../../.data", import.meta.url));
const MASTER_KEY_BYTES = 32;

/** The settings that every process needs. They are given by the operator, or made for a sandbox. */
export interface Essentials {
  databaseUrl: string;
  databaseDirectUrl: string;
  databaseMigrationUrl: string;
  masterKey: string;
  /** Stops using the embedded PostgreSQL, if there is one. */
  release(): Promise<void>;
}

/**
 * Returns the database and the master key. Without settings, these are an embedded PostgreSQL and a development key
 * under `.data/`, which all processes of this working copy share.
 *
 * @throws InvalidConfigError in a release without these settings, because it has neither the PostgreSQL nor `.data/`
 */
export async function essentials(config: Config, onLog?: (message: string) => void): Promise<Essentials> {
  if (RELEASE) refuseMissing(config);
  const masterKey = config.masterKey ?? (await developmentMasterKey(DATA_DIR));
  if (config.databaseUrl !== undefined) {
    const { databaseUrl, databaseDirectUrl = databaseUrl, databaseMigrationUrl = databaseUrl } = config;
    return { databaseUrl, databaseDirectUrl, databaseMigrationUrl, masterKey, release: () => Promise.resolve() };
  }
  // Imported only here, because a release does not contain this package, and other processes start sooner without it.
  const { startPostgres } = await import("@collections/postgres");
  const postgres = await startPostgres({ dataDir: join(DATA_DIR, "postgres"), ...(onLog && { onLog }) });
  // The embedded server has no TLS, whatever PGSSLMODE is.
  const url = `${postgres.url}?sslmode=disable`;
  return {
    databaseUrl: url,
    databaseDirectUrl: url,
    databaseMigrationUrl: url,
    masterKey,
    release: () => postgres.stop(),
  };
}

function refuseMissing({ databaseUrl, masterKey }: Config): void {
  const problems: string[] = [];
  if (databaseUrl === undefined)
    problems.push("DATABASE_URL is required: a release has no embedded PostgreSQL. Set postgres://…");
  if (masterKey === undefined)
    problems.push("MASTER_KEY is required: a release stores no development key. Make one: openssl rand -hex 32");
  if (problems.length > 0) throw new InvalidConfigError(problems);
}

/**
 * Returns the development master key of a data directory. The first call creates the key. Concurrent processes never
 * read an incomplete key.
 */
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

/** Returns an error handler that returns undefined for an error with this code, and throws any other error. */
function unless(code: string): (error: NodeJS.ErrnoException) => undefined {
  return (error) => {
    if (error.code !== code) throw error;
  };
}
