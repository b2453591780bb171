import { isUnmarkedPooler, migrate, type MigrateOptions, SessionNeededError } from "@collections/database";
import { InvalidConfigError } from "./config.ts";
import type { Essentials } from "./local-data.ts";

/**
 * Migrates the database, after it has checked that no address of the database leads to a pooler that is not marked with
 * `pgbouncer=true`. Behind an unmarked pooler, queries would have no time limits, and signals of other processes would
 * not arrive.
 * @throws InvalidConfigError that names each setting that leads to such a pooler, and the errors of `migrate`
 */
export async function migrateMarked(given: Essentials, options: Omit<MigrateOptions, "url" | "runtimeUrl">) {
  const { databaseMigrationUrl: url, databaseUrl: runtimeUrl } = given;
  const isOnlyAddress = given.databaseDirectUrl === url && runtimeUrl === url;
  if (!isOnlyAddress) await refuseUnmarkedPoolers(given);
  try {
    return await migrate({ url, runtimeUrl, ...options });
  } catch (error) {
    // The migration has checked its own address. A second connection that only checks would take as long as a query.
    if (isOnlyAddress && error instanceof SessionNeededError) throw new InvalidConfigError([whatToDo("DATABASE_URL")]);
    throw error;
  }
}

/** @throws InvalidConfigError that names each setting that leads to an unmarked pooler */
async function refuseUnmarkedPoolers(given: Essentials): Promise<void> {
  const settings = new Map([
    [given.databaseMigrationUrl, "DATABASE_MIGRATION_URL"],
    [given.databaseDirectUrl, "DATABASE_DIRECT_URL"],
    [given.databaseUrl, "DATABASE_URL"],
  ]);
  const tried = await Promise.all(
    [...settings].map(async ([url, name]) => ((await isUnmarkedPooler(url)) ? [whatToDo(name)] : [])),
  );
  const problems = tried.flat();
  if (problems.length > 0) throw new InvalidConfigError(problems);
}

function whatToDo(name: string): string {
  return name === "DATABASE_URL"
    ? `${name} leads to a pooler: add pgbouncer=true to its query, and set DATABASE_DIRECT_URL to an address that bypasses the pooler`
    : `${name} leads to a pooler: give it an address that bypasses the pooler`;
}
