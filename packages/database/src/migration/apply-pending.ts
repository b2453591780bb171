import { Migration, Migrator } from "@mikro-orm/migrations";
import { MikroORM } from "@mikro-orm/postgresql";
import { CompiledQuery, type DatabaseConnection } from "kysely";
import { databaseName, settingsOf } from "../connection/client-config.ts";
import { clientClass } from "../connection/server-client.ts";
import { installJobs } from "../jobs/install-jobs.ts";
import type { PackageMigration, PackageSchema } from "../package-schema.ts";
import type { Queue } from "../queue.ts";
import { BoundDriver } from "../sql/bound-driver.ts";
import { CLUSTER_SETTINGS } from "./cluster-settings.ts";
import { keepDigest, makeDigestTable } from "./migration-digest.ts";

interface PendingOptions {
  readonly url: string;
  readonly schemas: readonly PackageSchema[];
  readonly table: string;
  readonly queues: readonly Queue[] | undefined;
  readonly jobsSchema: string;
}

/**
 * Applies the missing migrations, and installs pg-boss and the queues unless they are undefined. Returns the names of the
 * applied migrations. The caller has to hold the migration lock.
 *
 * @param table the table of applied migrations
 */
export async function applyPending({ url, schemas, table, queues, jobsSchema }: PendingOptions): Promise<string[]> {
  const orm = await MikroORM.init({
    driver: BoundDriver,
    dbName: databaseName(settingsOf(url)),
    driverOptions: { Client: clientClass(url), application_name: "collections-migrate" },
    entities: [],
    discovery: { warnWhenNoEntities: false },
    ensureDatabase: false,
    extensions: [Migrator],
    onCreateConnection: setForCluster,
    logger: () => {},
    pool: { min: 0, max: 2 },
    migrations: {
      tableName: table,
      snapshot: false,
      migrationsList: schemas.flatMap((schema) => schema.migrations.map((step) => asMigration(schema.name, step))),
    },
  });
  try {
    const pool = await orm.em.getConnection().getNativeClient();
    await makeDigestTable(pool);
    const applied = await orm.migrator.up();
    if (queues) await installJobs(pool, queues, jobsSchema);
    return applied.map(({ name }) => name);
  } finally {
    await orm.close();
  }
}

async function setForCluster(connection: unknown): Promise<void> {
  for (const text of CLUSTER_SETTINGS) await (connection as DatabaseConnection).executeQuery(CompiledQuery.raw(text));
}

function asMigration(schema: string, migration: PackageMigration) {
  const name = `${schema}/${migration.name}`;
  class StatementsMigration extends Migration {
    override up(): void {
      for (const text of [...migration.statements, ...keepDigest(name, migration)]) this.addSql(text);
    }
  }
  return { name, class: StatementsMigration };
}
