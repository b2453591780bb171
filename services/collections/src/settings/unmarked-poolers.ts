import { isUnmarkedPooler } from "@collections/database";
import { InvalidConfigError } from "./config.ts";
import type { Essentials } from "./local-data.ts";

/**
 * Checks at the start that no address of the database leads to a pooler that is not marked with `pgbouncer=true`.
 * Behind an unmarked pooler, queries would have no time limits, and signals of other processes would not arrive.
 * @throws InvalidConfigError that names each setting that leads to such a pooler
 */
export async function refuseUnmarkedPoolers(given: Essentials): Promise<void> {
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
