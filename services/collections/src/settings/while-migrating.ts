import type { Database } from "@collections/entities";

/**
 * Opens the database and migrates it at the same time. Returns the database when both are finished. Opening sends no
 * query: it only reads the entities. Throws the error of the migration if the migration fails.
 */
export async function whileMigrating(open: () => Promise<Database>, migrating: Promise<unknown>): Promise<Database> {
  const [opened, migrated] = await Promise.allSettled([open(), migrating]);
  if (opened.status === "rejected") throw opened.reason;
  if (migrated.status === "rejected") {
    await opened.value.close();
    throw migrated.reason;
  }
  return opened.value;
}
