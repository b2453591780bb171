import { isUnmarkedPooler } from "@collections/database";
import { InvalidConfigError } from "./config.ts";
import type { Essentials } from "./local-data.ts";

/**
 * Tries the addresses of the database before anything else is done with them: behind a pooler that nobody told of there
 * would be no limits of time, and no signals of other processes.
 * @throws InvalidConfigError that names each setting that leads to one
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
    ? `${name} leads to a pooler: add pgbouncer=true to its query, and set DATABASE_DIRECT_URL to an address that leads past it`
    : `${name} leads to a pooler: give it an address that leads past it`;
}
