import { migrate } from "@collections/database";
import { directUrl, testDatabase } from "@collections/testing";
import { Client } from "pg";
import { type Catalog, readCatalog } from "./catalog.ts";
import { type Registry } from "../registry/registry.ts";

/** For tests: the catalog and the URL of a database with all our tables. */
export async function migratedCatalog({ schemas }: Registry): Promise<{ catalog: Catalog; url: string }> {
  const { url } = await testDatabase("citus", async (url) => {
    // The registered statements about jobs name this schema.
    const jobsSchema = "pgboss";
    await migrate({ url, schemas: schemas.map((schema) => ({ ...schema, entities: [] })), jobs: true, jobsSchema });
  });
  const client = new Client({ connectionString: directUrl(url) });
  await client.connect();
  try {
    return { catalog: await readCatalog(client, schemas), url };
  } finally {
    await client.end();
  }
}
