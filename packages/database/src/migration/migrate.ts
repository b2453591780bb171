import { Migration, Migrator } from "@mikro-orm/migrations";
import { type EntitySchema, MikroORM } from "@mikro-orm/postgresql";
import { CompiledQuery, type DatabaseConnection } from "kysely";
import { type Client, escapeIdentifier } from "pg";
import { BoundDriver } from "../sql/bound-driver.ts";
import { CLUSTER_SETTINGS } from "./cluster-settings.ts";
import { installJobs, JOB_COMMIT_TABLE, missingJobs } from "../jobs/jobs.ts";
import type { Queue } from "../queue.ts";
import { type MigrationLockOptions, withMigrationLock } from "./migration-lock.ts";
import { sqlState } from "../sql/sql-state.ts";

/** One step of a package's schema: its statements run in one transaction. */
export interface PackageMigration {
  /** Sorts after the earlier ones: "0001", "0002-…". A released migration never changes. */
  name: string;
  statements: readonly string[];
}

/**
 * What a package keeps in PostgreSQL.
 *
 * @example
 * const schema: PackageSchema = {
 *   name: "billing",
 *   entities: [],
 *   migrations: [{ name: "0001", statements: ["create schema billing", "create table billing.invoice (id uuid)"] }],
 *   queues: [reminders],
 * };
 */
export interface PackageSchema {
  /** The PostgreSQL schema, and the prefix of the package's migrations. */
  name: string;
  entities: readonly EntitySchema[];
  migrations: readonly PackageMigration[];
  /** Tables ("schema.table") of which the run-time role may never update or delete a row. */
  appendOnly?: readonly string[];
  /** Tables of which it may change nothing itself: functions of the schema's owner write them. */
  readOnly?: readonly string[];
  /** The tables without a lender. All others have a `lender_id`, by which a cluster would distribute them. */
  undistributed?: readonly UndistributedTable[];
  /**
   * Statements that add rows which processes of older versions did not write to a reference table. `distribute` runs
   * them each time, before it sends anything else.
   */
  beforeDistribution?: readonly string[];
  queues?: readonly Queue[];
}

/** A table that is not any one lender's, and where its rows would live in a cluster. */
export interface UndistributedTable {
  /** "schema.table". */
  table: string;
  /** A copy on every node, for what is small and read with every lender's rows; or on the coordinator alone. */
  as: "reference" | "local";
  /**
   * A local table whose rows are written in one transaction with lenders' rows. A cluster then commits both or neither:
   * `distribute` tells Citus of the table.
   */
  commitsWithLenders?: boolean;
  because: string;
}

/** Which schemas to bring up, and for whom. `url` is that of the role that owns them, or of one that only uses them. */
export interface MigrateOptions extends MigrationLockOptions {
  schemas: readonly PackageSchema[];
  /** The role of this URL, when it is another one, gets the rights that the service needs and no more. */
  runtimeUrl?: string;
  /** Also install pg-boss and the queues of the schemas. */
  jobs?: boolean;
  /** Called under the migration lock before anything is changed. If it throws, the database stays as it is. */
  check?: (read: ReadRows) => Promise<void>;
}

/** Runs a query in the database that is about to be migrated, whose tables may be older than this version's. */
export type ReadRows = <Row>(text: string) => Promise<Row[]>;

const TABLE = "collections_migration";
const INSUFFICIENT_PRIVILEGE = "42501";
const MAX_NAMED = 5;
/** 100 pages: autovacuum sees to smaller tables soon enough. */
const ANALYZED_FROM_BYTES = 100 * 8_192;

/**
 * The schema is older than this version, and the role may not change it: the role that owns the schema has to migrate.
 *
 * @example
 * try {
 *   await migrate({ url, schemas: [billingSchema] });
 * } catch (error) {
 *   if (error instanceof MigrationNeededError) console.error(`${error.message} Migrate as the owner first.`);
 * }
 */
export class MigrationNeededError extends Error {
  override readonly name = "MigrationNeededError";
  readonly code = "MIGRATION_NEEDED";
  readonly role: string;
  /** The migrations that are not applied; empty when the role may not even read which ones are. */
  readonly missing: readonly string[];

  constructor(role: string, missing: readonly string[], options?: ErrorOptions) {
    const named = `${missing.slice(0, MAX_NAMED).join(", ")}${missing.length > MAX_NAMED ? " and more" : ""}`;
    const why =
      missing.length === 0
        ? `The role ${role} may not read which migrations this database has.`
        : `The database's schema is older than this version: it lacks ${named}. The role ${role} may not change it.`;
    super(why, options);
    this.role = role;
    this.missing = missing;
  }
}

/**
 * Brings the database to the schema of the given packages. Any number of processes may call it at once: one works
 * under an advisory lock, the others wait and find nothing to do. Returns the names of what this call applied.
 *
 * A database that a later version has migrated is left as it is, rights and queues included: they are that version's.
 * `unknown` names what it has and this version does not know. Large tables without statistics are analyzed.
 *
 * A role that does not own the schema changes nothing: the call checks that all is there.
 * @throws SessionNeededError, MigrationNeededError
 *
 * @example
 * const { applied, unknown } = await migrate({ url, schemas: [billingSchema], jobs: true });
 * console.log(`applied: ${applied.join(", ")}; of a later version: ${unknown.join(", ")}`);
 */
export async function migrate(options: MigrateOptions): Promise<{ applied: string[]; unknown: string[] }> {
  return await withMigrationLock("A migration", options, async (client) => {
    await options.check?.(async <Row>(text: string) => (await client.query(text)).rows as Row[]);
    const { role, ownsSchema } = await roleOf(client);
    const needsOwner = (missing: readonly string[]) => (error: unknown) => {
      if (sqlState(error) !== INSUFFICIENT_PRIVILEGE) throw error;
      throw new MigrationNeededError(role, missing, { cause: error });
    };
    const { unknown, pending } = await comparedWith(client, options.schemas).catch(needsOwner([]));
    if (unknown.length > 0 && pending.length === 0) return { applied: [], unknown };
    if (!ownsSchema) {
      const missing = pending.length > 0 || !options.jobs ? pending : await missingJobs(client, queuesOf(options));
      if (missing.length > 0) throw new MigrationNeededError(role, missing);
      return { applied: [], unknown };
    }
    const applied = await applyPending(options).catch(needsOwner(pending));
    await analyzeUnanalyzed(client, options.schemas);
    if (options.runtimeUrl !== undefined) await grantRuntimeRights(client, options.runtimeUrl, options.schemas);
    return { applied, unknown };
  });
}

/** Who is connected. A role owns the schema when it owns the list of migrations, or may make it in an empty database. */
async function roleOf(client: Client): Promise<{ role: string; ownsSchema: boolean }> {
  const { rows } = await client.query<{ role: string; ownsSchema: boolean }>(
    `select current_user as role, coalesce(
       (select pg_has_role(relowner, 'usage') from pg_class where oid = to_regclass($1)),
       has_database_privilege(current_database(), 'create')) as "ownsSchema"`,
    [TABLE],
  );
  return rows[0]!;
}

function queuesOf({ schemas }: MigrateOptions): Queue[] {
  return schemas.flatMap(({ queues }) => [...(queues ?? [])]);
}

/** What the database has of these schemas and this version does not know, and the other way round. */
async function comparedWith(client: Client, schemas: readonly PackageSchema[]) {
  const known = new Set(schemas.flatMap(({ name, migrations }) => migrations.map((step) => `${name}/${step.name}`)));
  const { rows: tables } = await client.query<{ made: boolean }>("select to_regclass($1) is not null as made", [TABLE]);
  const { rows } = tables[0]?.made
    ? await client.query<{ name: string }>(`select name from ${TABLE} order by id`)
    : { rows: [] };
  const done = rows.map(({ name }) => name);
  const ours = new Set(schemas.map(({ name }) => name));
  const unknown = done.filter((name) => ours.has(name.slice(0, name.indexOf("/"))) && !known.has(name));
  return { unknown, pending: [...known].filter((name) => !done.includes(name)) };
}

async function applyPending(options: MigrateOptions): Promise<string[]> {
  const { url, schemas, jobs } = options;
  const orm = await MikroORM.init({
    driver: BoundDriver,
    clientUrl: url,
    entities: [],
    discovery: { warnWhenNoEntities: false },
    ensureDatabase: false,
    extensions: [Migrator],
    onCreateConnection: setForCluster,
    logger: () => {},
    pool: { min: 0, max: 2 },
    migrations: {
      tableName: TABLE,
      snapshot: false,
      migrationsList: schemas.flatMap((schema) => schema.migrations.map((step) => asMigration(schema.name, step))),
    },
  });
  try {
    const applied = await orm.migrator.up();
    if (jobs) {
      const pool = await orm.em.getConnection().getNativeClient();
      await installJobs(pool, queuesOf(options));
    }
    return applied.map(({ name }) => name);
  } finally {
    await orm.close();
  }
}

async function setForCluster(connection: unknown): Promise<void> {
  for (const text of CLUSTER_SETTINGS) await (connection as DatabaseConnection).executeQuery(CompiledQuery.raw(text));
}

/**
 * Gives the planner statistics for large tables that were never analyzed: after a restore or a major upgrade. Empty and
 * small tables are left out. With their statistics PostgreSQL plans to read them from end to end, and a session keeps
 * such a plan while the table grows.
 */
async function analyzeUnanalyzed(client: Client, schemas: readonly PackageSchema[]): Promise<void> {
  const { rows } = await client.query<{ table: string }>(
    `select c.oid::regclass::text as table from pg_class c
     where c.relkind = 'r' and c.reltuples < 0 and pg_relation_size(c.oid) >= $2
       and c.relnamespace::regnamespace::text = any ($1) and pg_has_role(c.relowner, 'usage')`,
    [schemas.map(({ name }) => name), ANALYZED_FROM_BYTES],
  );
  for (const { table } of rows) await client.query(`analyze ${table}`);
}

function asMigration(schema: string, { name, statements }: PackageMigration) {
  class StatementsMigration extends Migration {
    override up(): void {
      for (const text of statements) this.addSql(text);
    }
  }
  return { name: `${schema}/${name}`, class: StatementsMigration };
}

/**
 * Least rights for the role that the service runs as: rows, never tables; of append-only tables no row may be changed,
 * whatever the code says; and partitions are reached through their table alone, whose rights hold then.
 */
async function grantRuntimeRights(client: Client, runtimeUrl: string, schemas: readonly PackageSchema[]) {
  const role = decodeURIComponent(new URL(runtimeUrl).username);
  const { rows } = await client.query<{ same: boolean }>("select current_user = $1 as same", [role]);
  if (role === "" || rows[0]?.same) return;
  const grantee = escapeIdentifier(role);
  // In one transaction: not for a moment may the role have what is taken back at the end.
  await client.query("begin");
  // A start of the service with this role alone reads whether the schema is up to date.
  await client.query(`grant select on ${TABLE} to ${grantee}`);
  const { rowCount: hasJobs } = await client.query("select from pg_class where oid = to_regclass($1)", [
    JOB_COMMIT_TABLE,
  ]);
  if (hasJobs) await client.query(`grant select, delete on ${JOB_COMMIT_TABLE} to ${grantee}`);
  for (const name of [...schemas.map((schema) => schema.name), "pgboss"]) {
    const { rowCount } = await client.query("select from pg_namespace where nspname = $1", [name]);
    if (rowCount === 0) continue;
    const schema = escapeIdentifier(name);
    await client.query(`grant usage on schema ${schema} to ${grantee}`);
    await client.query(`grant select, insert, update, delete on all tables in schema ${schema} to ${grantee}`);
    await client.query(`grant usage on all sequences in schema ${schema} to ${grantee}`);
    await client.query(`grant execute on all functions in schema ${schema} to ${grantee}`);
  }
  for (const table of schemas.flatMap(({ appendOnly }) => appendOnly ?? [])) {
    await client.query(`revoke update, delete, truncate on ${quotedTable(table)} from ${grantee}`);
  }
  for (const table of schemas.flatMap(({ readOnly }) => readOnly ?? [])) {
    await client.query(`revoke insert, update, delete, truncate on ${quotedTable(table)} from ${grantee}`);
  }
  for (const partition of await partitionsIn(client, schemas)) {
    await client.query(`revoke all on ${partition} from ${grantee}`);
  }
  await client.query("commit");
}

function quotedTable(table: string): string {
  return table.split(".").map(escapeIdentifier).join(".");
}

/** Those of pg-boss are not among them: it reaches its partitions by their names. */
async function partitionsIn(client: Client, schemas: readonly PackageSchema[]): Promise<string[]> {
  const { rows } = await client.query<{ partition: string }>(
    `select c.oid::regclass::text as partition from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where c.relispartition and c.relkind in ('r', 'p') and n.nspname = any ($1)`,
    [schemas.map(({ name }) => name)],
  );
  return rows.map(({ partition }) => partition);
}
