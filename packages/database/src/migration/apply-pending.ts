import { clientClass } from "../connection/server-client.ts";
import { installJobs } from "../jobs/install-jobs.ts";
import type { PackageSchema } from "../package-schema.ts";
import type { Queue } from "../queue.ts";
import type { Reader } from "../transaction/host-client.ts";
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
 * Applies the missing migrations in one transaction, and installs pg-boss and the queues unless they are undefined. Returns
 * the names of the applied migrations. The caller has to hold the migration lock.
 *
 * @param table the table of applied migrations
 */
export async function applyPending({ url, schemas, table, queues, jobsSchema }: PendingOptions): Promise<string[]> {
  const client = new (clientClass(url))({ application_name: "collections-migrate", pipeline: true });
  client.on("error", () => {});
  await client.connect();
  try {
    for (const text of CLUSTER_SETTINGS) await client.query(text);
    await makeDigestTable(client);
    await client.query("begin");
    const applied = await applyIn(client, schemas, table);
    await client.query("commit");
    if (queues) await installJobs(client, queues, jobsSchema);
    return applied;
  } finally {
    await client.end();
  }
}

async function applyIn(client: Reader, schemas: readonly PackageSchema[], table: string): Promise<string[]> {
  await makeMigrationTable(client, table);
  const { rows } = await client.query<{ name: string }>(`select name from ${table}`);
  const done = new Set(rows.map(({ name }) => name));
  const pending = schemas
    .flatMap((schema) =>
      schema.migrations.map((migration) => ({ name: `${schema.name}/${migration.name}`, migration })),
    )
    .filter(({ name }) => !done.has(name));
  for (const { name, migration } of pending) {
    for (const text of [...migration.statements, ...keepDigest(name, migration)]) await client.query(text);
    await client.query(`insert into ${table} (name) values ($1)`, [name]);
  }
  return pending.map(({ name }) => name);
}

/** Creates the table of applied migrations if it does not exist, with the columns that MikroORM's migrator gave it. */
async function makeMigrationTable(client: Reader, table: string): Promise<void> {
  const { rows } = await client.query<{ exists: boolean }>("select to_regclass($1) is not null as exists", [table]);
  if (rows[0]!.exists) return;
  await client.query(
    `create table ${table} (id serial primary key, name varchar(255) not null, executed_at timestamptz not null default current_timestamp)`,
  );
}
