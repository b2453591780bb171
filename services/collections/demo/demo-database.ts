import { startPostgres, temporaryDataDir } from "@collections/postgres";
import { rm } from "node:fs/promises";
import { Client } from "pg";

/** The database of the demo. */
export interface DemoDatabase {
  readonly url: string;
  /** Whether the extension citus is installed. If it is, the tables have to be distributed. */
  readonly hasCitus: boolean;
  /**
   * Stops and removes the PostgreSQL that the demo has started. Does nothing if the demo uses a database that it was
   * given.
   */
  release(): Promise<void>;
}

/** The database that was given to the demo cannot be used. The message says what to do. */
export class DemoDatabaseError extends Error {
  override readonly name = "DemoDatabaseError";
}

/**
 * Returns the given database, which must be empty. Without a given database, starts a PostgreSQL that is removed after
 * the demo. Throws DemoDatabaseError.
 */
export async function demoDatabase(given: string | undefined): Promise<DemoDatabase> {
  if (given !== undefined) {
    return { url: given, hasCitus: await checkedForCluster(given), release: () => Promise.resolve() };
  }
  const dataDir = temporaryDataDir("collections-demo-");
  const postgres = await startPostgres({ dataDir, temporary: true });
  return {
    url: postgres.url,
    hasCitus: false,
    async release() {
      await postgres.stop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

/** Throws DemoDatabaseError for a database with data. Returns whether the extension citus is installed. */
async function checkedForCluster(url: string): Promise<boolean> {
  const client = new Client({ connectionString: url });
  try {
    await client.connect();
  } catch (error) {
    const why = error instanceof Error && error.message !== "" ? error.message : String(error);
    throw new DemoDatabaseError(`The demo cannot connect to DATABASE_URL: ${why}`, { cause: error });
  }
  try {
    const { rows } = await client.query<{ name: string; hasCitus: boolean; tables: string[]; isMigrated: boolean }>(
      `select current_database() as name, to_regclass('lenders.lender') is not null as "isMigrated",
         exists (select from pg_extension where extname = 'citus') as "hasCitus",
         array(select format('%I.%I', schemaname, tablename) from pg_tables t
           where schemaname not in ('pg_catalog', 'information_schema') and not exists (
             select from pg_depend d where d.classid = 'pg_class'::regclass and d.deptype = 'e'
               and d.objid = format('%I.%I', t.schemaname, t.tablename)::regclass)
           order by 1 limit 3) as tables`,
    );
    const { name, hasCitus, tables, isMigrated } = rows[0]!;
    const advice =
      "Set DATABASE_URL to an empty database, or remove it: without it, the demo starts its own PostgreSQL.";
    if (isMigrated) {
      const lenders = await client.query("select from lenders.lender limit 1");
      if (lenders.rowCount !== 0) throw new DemoDatabaseError(`The database ${name} has lenders already. ${advice}`);
    } else if (tables.length > 0) {
      throw new DemoDatabaseError(
        `The database ${name} has tables that are not the demo's (${tables.join(", ")}). ${advice}`,
      );
    }
    return hasCitus;
  } finally {
    await client.end();
  }
}
