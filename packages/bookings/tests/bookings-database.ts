import { migrate } from "@collections/database";
import { createDatabase, type Database, type DatabaseOptions } from "@collections/entities";
import { ANSWER_LIMIT_MS, testDatabase } from "@collections/testing";
import { afterAll } from "vitest";
import { bookingsSchema } from "../src/schema.ts";

/** Opens a migrated database for this test file, and closes it after the tests. Call it at the top level. */
export async function bookingsDatabase(options: Partial<DatabaseOptions> = {}): Promise<Database> {
  const schemas = [bookingsSchema];
  const { url } = await testDatabase("bookings", async (at) => void (await migrate({ url: at, schemas })));
  const database = await createDatabase({ url, schemas, answerTimeoutMs: ANSWER_LIMIT_MS, ...options });
  afterAll(() => database.close());
  return database;
}
