import { createDatabase, type Database, type DatabaseOptions, migrate } from "@collections/database";
import { testDatabase } from "@collections/testing";
import { afterAll } from "vitest";
import { ledgerSchema } from "../src/schema.ts";

/** Opens a migrated database for this test file, and closes it after the tests. Call it at the top level. */
export async function ledgerDatabase(options: Partial<DatabaseOptions> = {}): Promise<Database> {
  const schemas = [ledgerSchema];
  const { url } = await testDatabase("ledger", async (at) => void (await migrate({ url: at, schemas })));
  const database = await createDatabase({ url, schemas, ...options });
  afterAll(() => database.close());
  return database;
}
