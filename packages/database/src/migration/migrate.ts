import { type Client, escapeIdentifier } from "pg";
import { checkOptions } from "../check-options.ts";
import { settingsOf } from "../connection/client-config.ts";
import { hasJobs, missingJobs, newerBoss } from "../jobs/install-jobs.ts";
import { JOB_COMMIT_TABLE } from "../jobs/job-commit-table.ts";
import { DEFAULT_JOBS_SCHEMA, JobsElsewhereError, queuesInPgboss } from "../jobs/jobs-schema.ts";
import type { Queue } from "../queue.ts";
import type { Reader } from "../transaction/host-client.ts";
import type { PackageMigration, PackageSchema, ReadRows } from "../package-schema.ts";
import { type MigrationLockOptions, withMigrationLock } from "./migration-lock.ts";
import { changedMigrations, DIGEST_TABLE, MigrationChangedError } from "./migration-digest.ts";
import { refuseSchemasElsewhere } from "./schema-elsewhere.ts";
import { sqlState } from "../sql/sql-state.ts";

/** Which schemas to migrate. If the role of `url` does not own the schemas, `migrate` changes nothing. */
export interface MigrateOptions extends MigrationLockOptions {
  schemas: readonly PackageSchema[];
  /** The URL of the role that the service runs as. `migrate` grants this role the rights that the service needs. */
  runtimeUrl?: string;
  /** Whether to install pg-boss and the queues of the schemas too. */
  jobs?: boolean;
  /**
   * The PostgreSQL schema of pg-boss's tables. Pass the same to `createDatabase`. The name cannot be changed later,
   * because waiting jobs stay in the old schema. Default: `collections_jobs`.
   */
  jobsSchema?: string;
  /** Called under the migration lock before anything is changed. If it throws, the database stays as it is. */
  check?: (read: ReadRows) => Promise<void>;
}

/** The table of applied migrations. */
const TABLE = "collections_migration";
const INSUFFICIENT_PRIVILEGE = "42501";
const MAX_NAMED = 5;
/** Tables of at least this size are analyzed: 100 pages. Autovacuum analyzes smaller tables soon enough. */
const ANALYZED_FROM_BYTES = 100 * 8_192;

/**
 * The schema is older than this version, and the role may not change it. The role that owns the schema has to migrate.
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
  /** The migrations that are not applied. Empty if the role may not read the list of applied migrations. */
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
 * The role of `runtimeUrl` does not exist, so it cannot get rights. Nothing was migrated.
 *
 * @example
 * try {
 *   await migrate({ url, runtimeUrl: "postgres://app@localhost:5432/billing", schemas: [billingSchema] });
 * } catch (error) {
 *   if (error instanceof RuntimeRoleMissingError) console.error(error.role, error.message);
 * }
 */
export class RuntimeRoleMissingError extends Error {
  override readonly name = "RuntimeRoleMissingError";
  readonly code = "RUNTIME_ROLE_MISSING";
  readonly role: string;

  constructor(role: string) {
    super(
      `The role ${role} of runtimeUrl does not exist. Create it first: create role ${escapeIdentifier(role)} login.`,
    );
    this.role = role;
  }
}

/**
 * Migrates the database to the schemas of the given packages. Any number of processes may call it at the same time: one
 * process migrates under an advisory lock, and the others wait and then find nothing to do. `applied` names the
 * migrations that this call applied. Large tables without statistics are analyzed.
 *
 * If a later version has migrated the database, the call changes nothing, not even rights and queues. `unknown` names
 * the migrations in the database that this version does not know.
 *
 * If the role does not own the schema, the call changes nothing and only checks that no migration is missing.
 * @throws InvalidDatabaseOptionError, SessionNeededError, MigrationNeededError, RuntimeRoleMissingError,
 * JobsElsewhereError, MigrationChangedError, SchemaElsewhereError
 *
 * @example
 * const { applied, unknown } = await migrate({ url, schemas: [billingSchema], jobs: true });
 * console.log(`applied: ${applied.join(", ")}; of a later version: ${unknown.join(", ")}`);
 */
export async function migrate(options: MigrateOptions): Promise<{ applied: string[]; unknown: string[] }> {
  checkOptions("migrate", options);
  return await withMigrationLock("A migration", options, async (client) => {
    const read: ReadRows = async <Row>(text: string) => (await client.query(text)).rows as Row[];
    await options.check?.(read);
    for (const { check } of options.schemas) await check?.(read, { schemas: options.schemas.map(({ name }) => name) });
    if (options.jobs === true && options.jobsSchema === undefined) await refuseJobsElsewhere(client, queuesOf(options));
    const jobsSchema = jobsSchemaOf(options);
    const { role, ownsSchema } = await roleOf(client);
    const needsOwner = (missing: readonly string[]) => (error: unknown) => {
      if (sqlState(error) !== INSUFFICIENT_PRIVILEGE) throw error;
      throw new MigrationNeededError(role, missing, { cause: error });
    };
    const { unknown, pending, changed, done, isEmpty } = await comparedWith(client, options.schemas).catch(
      needsOwner([]),
    );
    if (unknown.length > 0 && pending.length === 0) return { applied: [], unknown };
    await refuseSchemasElsewhere(client, options.schemas, done);
    if (changed.length > 0) throw new MigrationChangedError(changed);
    const bossVersion = options.jobs ? await newerBoss(client, jobsSchema) : undefined;
    if (bossVersion !== undefined) unknown.push(`${jobsSchema}/${bossVersion}`);
    const lacksJobs =
      pending.length === 0 && options.jobs === true && !(await hasJobs(client, queuesOf(options), jobsSchema));
    if (!ownsSchema) {
      const missing = lacksJobs ? await missingJobs(client, queuesOf(options), jobsSchema) : pending;
      if (missing.length > 0) throw new MigrationNeededError(role, missing);
      return { applied: [], unknown };
    }
    if (options.runtimeUrl !== undefined) await requireRole(client, runtimeRoleOf(options.runtimeUrl));
    const isCurrent = pending.length === 0 && !isEmpty && !lacksJobs;
    const applied = isCurrent ? [] : await applyAll(options).catch(needsOwner(pending));
    await analyzeUnanalyzed(client, options.schemas);
    if (options.runtimeUrl !== undefined) await grantRuntimeRights(client, options.runtimeUrl, options);
    return { applied, unknown };
  });
}

/**
 * Returns the connected role, and whether it owns the schema: it owns the table of migrations, or may create that table
 * in an empty database.
 */
async function roleOf(client: Client): Promise<{ role: string; ownsSchema: boolean }> {
  const { rows } = await client.query<{ role: string; ownsSchema: boolean }>(
    `select current_user as role, coalesce(
       (select pg_has_role(relowner, 'usage') from pg_class where oid = to_regclass($1)),
       has_database_privilege(current_database(), 'create')) as "ownsSchema"`,
    [TABLE],
  );
  return rows[0]!;
}

/** Loads the code that migrates only if there is something to do, because commands start sooner without it. */
async function applyAll(options: MigrateOptions): Promise<string[]> {
  const { applyPending } = await import("./apply-pending.ts");
  const queues = options.jobs ? queuesOf(options) : undefined;
  return await applyPending({ ...options, table: TABLE, queues, jobsSchema: jobsSchemaOf(options) });
}

function jobsSchemaOf({ jobsSchema = DEFAULT_JOBS_SCHEMA }: MigrateOptions): string {
  return jobsSchema;
}

/** @throws JobsElsewhereError, before anything is migrated */
async function refuseJobsElsewhere(client: Client, queues: readonly Queue[]): Promise<void> {
  const elsewhere = await queuesInPgboss(client, queues);
  if (elsewhere.length > 0) throw new JobsElsewhereError(elsewhere);
}

function queuesOf({ schemas }: MigrateOptions): Queue[] {
  return schemas.flatMap(({ queues }) => [...(queues ?? [])]);
}

/**
 * Compares the database's migrations with those of this version. `unknown` are applied, but this version does not know
 * them. `pending` are not applied yet. `changed` are applied, but their text has changed since. `done` are all that are
 * applied, also those of other schemas. `isEmpty` means that the database was never migrated.
 */
export async function comparedWith(client: Reader, schemas: readonly PackageSchema[]) {
  const known: ReadonlyMap<string, PackageMigration> = new Map(
    schemas.flatMap(({ name, migrations }) => migrations.map((step) => [`${name}/${step.name}`, step] as const)),
  );
  const { rows: tables } = await client.query<{ made: boolean }>("select to_regclass($1) is not null as made", [TABLE]);
  const { rows } = tables[0]?.made
    ? await client.query<{ name: string }>(`select name from ${TABLE} order by id`)
    : { rows: [] };
  const isEmpty = !tables[0]?.made;
  const done = rows.map(({ name }) => name);
  const ours = new Set(schemas.map(({ name }) => name));
  const unknown = done.filter((name) => ours.has(name.slice(0, name.indexOf("/"))) && !known.has(name));
  const pending = [...known.keys()].filter((name) => !done.includes(name));
  return { unknown, pending, changed: await changedMigrations(client, known), done, isEmpty };
}

/**
 * Analyzes large tables that were never analyzed, as after a restore or a major upgrade. Small tables are left out: with
 * their statistics PostgreSQL would plan to scan them, and a session would keep that plan while the table grows.
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

function runtimeRoleOf(runtimeUrl: string): string {
  return settingsOf(runtimeUrl).user ?? "";
}

/** @throws RuntimeRoleMissingError, before anything is migrated */
async function requireRole(client: Client, role: string): Promise<void> {
  if (role === "") return;
  const { rowCount } = await client.query("select from pg_roles where rolname = $1", [role]);
  if (rowCount === 0) throw new RuntimeRoleMissingError(role);
}

/**
 * Grants the role of the service only the rights that it needs. It may change rows, but no tables, and no rows of
 * append-only tables. It has no rights on partitions, so it accesses them through their table, whose rights then apply.
 */
async function grantRuntimeRights(client: Client, runtimeUrl: string, options: MigrateOptions) {
  const { schemas } = options;
  const role = runtimeRoleOf(runtimeUrl);
  const { rows } = await client.query<{ same: boolean }>("select current_user = $1 as same", [role]);
  if (role === "" || rows[0]?.same) return;
  const grantee = escapeIdentifier(role);
  // The grants and the revokes run in one transaction, so that the role never has the rights that are revoked at the
  // end.
  await client.query("begin");
  // The service reads this table at its start to check that the schema is up to date.
  await client.query(`grant select on ${TABLE} to ${grantee}`);
  const { rowCount: hasJobs } = await client.query("select from pg_class where oid = to_regclass($1)", [
    JOB_COMMIT_TABLE,
  ]);
  const { rowCount: hasDigests } = await client.query("select from pg_class where oid = to_regclass($1)", [
    DIGEST_TABLE,
  ]);
  if (hasDigests) await client.query(`grant select on ${DIGEST_TABLE} to ${grantee}`);
  if (hasJobs) await client.query(`grant select, delete on ${JOB_COMMIT_TABLE} to ${grantee}`);
  for (const name of [...schemas.map((schema) => schema.name), jobsSchemaOf(options)]) {
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

/**
 * Returns the partitions in the schemas. The partitions of pg-boss are left out, because pg-boss accesses them by name.
 */
async function partitionsIn(client: Client, schemas: readonly PackageSchema[]): Promise<string[]> {
  const { rows } = await client.query<{ partition: string }>(
    `select c.oid::regclass::text as partition from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where c.relispartition and c.relkind in ('r', 'p') and n.nspname = any ($1)`,
    [schemas.map(({ name }) => name)],
  );
  return rows.map(({ partition }) => partition);
}
