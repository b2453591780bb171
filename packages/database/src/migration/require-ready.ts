import { forHost, type Reader } from "../transaction/host-client.ts";
import { missingJobs } from "../jobs/install-jobs.ts";
import { DEFAULT_JOBS_SCHEMA, JobsElsewhereError, queuesInPgboss } from "../jobs/jobs-schema.ts";
import { type Database, databaseOf, type OpenDatabase } from "../transaction/open-database.ts";
import { isUnavailable, sqlState } from "../sql/sql-state.ts";
import type { PackageSchema, ReadRows } from "../package-schema.ts";
import { exportOf } from "../schema-name.ts";
import { comparedWith } from "./migrate.ts";
import { MigrationChangedError } from "./migration-digest.ts";
import { refuseSchemasElsewhere } from "./schema-elsewhere.ts";

/** Why a database cannot be used yet. */
export type NotReadyCode =
  | "SCHEMA_NOT_OPENED"
  | "MIGRATION_MISSING"
  | "MIGRATION_REFUSED"
  | "MIGRATION_CHANGED"
  | "RIGHTS_MISSING"
  | "JOBS_NOT_INSTALLED"
  | "JOBS_NOT_MAINTAINED";

/**
 * A package cannot work with this database yet. The message says what is missing and names the call that fixes it.
 *
 * @example
 * try {
 *   await requireReady(database, billingSchema);
 * } catch (error) {
 *   if (!(error instanceof NotReadyError)) throw error;
 *   console.error(error.code, error.message);
 * }
 */
export class NotReadyError extends Error {
  override readonly name = "NotReadyError";
  readonly code: NotReadyCode;

  constructor(code: NotReadyCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/**
 * Checks that this process can use the tables and queues of a schema: the schema was passed to `createDatabase`, all of
 * its migrations are applied and have their text, the role has the rights on its tables, and its queues exist. With `works`, also checks that
 * this process maintains the queues. Only reads. A package calls it before it starts work in the background, because a
 * failure there is only logged.
 * @throws NotReadyError
 *
 * @example
 * await requireReady(database, billingSchema, { works: true });
 */
export async function requireReady(
  database: Database,
  schema: PackageSchema,
  { works = false }: { readonly works?: boolean } = {},
): Promise<void> {
  const opened = databaseOf(database.em());
  const openedSchema = opened.schemas.get(schema.renamedFrom ?? schema.name);
  const schemaName = exportOf(openedSchema ?? schema);
  const opening = `createDatabase({ url, schemas: [${schemaName}]${works ? ", works: true" : ""} })`;
  if (openedSchema === undefined) {
    throw new NotReadyError(
      "SCHEMA_NOT_OPENED",
      `createDatabase was called without the schema ${schema.name}. Add it: ${opening}.`,
    );
  }
  if (works && !opened.maintainsJobs) {
    throw new NotReadyError(
      "JOBS_NOT_MAINTAINED",
      `This process works on jobs, but createDatabase was called without \`works\`. Add it: ${opening}.`,
    );
  }
  await requireMigrations(opened, openedSchema);
  await requireRights(opened, openedSchema);
  await requireQueues(opened, openedSchema);
}

async function requireMigrations(database: OpenDatabase, schema: PackageSchema): Promise<void> {
  const {
    pending: missing,
    changed,
    done,
  } = await comparedWith(readerOf(database), [schema]).catch((error: unknown) => {
    if (sqlState(error) === INSUFFICIENT_PRIVILEGE)
      throw rightsMissing(schema, "may not read the list of applied migrations");
    throw error;
  });
  if (missing.length > 0) {
    const refusal = await refusalOf(database, schema, done);
    if (refusal) throw new NotReadyError("MIGRATION_REFUSED", refusal.message, { cause: refusal });
    throw new NotReadyError(
      "MIGRATION_MISSING",
      `The database lacks ${missing.join(", ")}. Migrate it first: ${migrateCall(schema)}.`,
    );
  }
  if (changed.length > 0) throw new NotReadyError("MIGRATION_CHANGED", new MigrationChangedError(changed).message);
}

/**
 * Returns the error with which `migrate` would refuse the schema, such as a SchemaElsewhereError, if this role may read
 * what decides about it.
 */
async function refusalOf(
  database: OpenDatabase,
  schema: PackageSchema,
  applied: readonly string[],
): Promise<Error | undefined> {
  const reader = readerOf(database);
  const schemas = [...database.schemas.values()];
  const read: ReadRows = async <Row>(text: string) => (await reader.query(text)).rows as Row[];
  try {
    await schema.check?.(read, { schemas: schemas.map(({ name }) => name) });
    await refuseSchemasElsewhere(reader, schemas, applied);
    return undefined;
  } catch (error) {
    if (isUnavailable(error) || !(error instanceof Error)) throw error;
    return sqlState(error) === INSUFFICIENT_PRIVILEGE ? undefined : error;
  }
}

async function requireRights(database: OpenDatabase, schema: PackageSchema): Promise<void> {
  const tables = tablesOf(schema);
  if (tables.length === 0) return;
  const { rows } = await readerOf(database).query<{ role: string; mayUse: boolean }>(
    `select current_user as role, has_schema_privilege($1, 'usage') as "mayUse"`,
    [schema.name],
  );
  const { role, mayUse } = rows[0]!;
  if (!mayUse) throw rightsMissing(schema, `may not use the schema ${schema.name}`, role);
  const needed = tables.flatMap((table) => rightsOn(database.rename(table), schema));
  const { rows: lacking } = await readerOf(database).query<{ table: string; right: string }>(
    `select n.table_name as "table", n.right_name as "right"
     from unnest($1::text[], $2::text[]) as n (table_name, right_name)
     where not has_table_privilege(n.table_name, n.right_name)`,
    [needed.map(({ table }) => table), needed.map(({ right }) => right)],
  );
  const [first] = lacking;
  if (first) throw rightsMissing(schema, `may not ${first.right} rows of ${first.table}`, role);
}

async function requireQueues(database: OpenDatabase, schema: PackageSchema): Promise<void> {
  if (schema.queues === undefined || schema.queues.length === 0) return;
  const { jobsSchema } = database;
  const missing = await missingJobs(readerOf(database), schema.queues, jobsSchema);
  if (missing.length === 0) return;
  const lacks = `The database lacks ${missing.join(", ")}.`;
  const elsewhere = jobsSchema === DEFAULT_JOBS_SCHEMA ? await queuesInPgboss(readerOf(database), schema.queues) : [];
  const remedy =
    elsewhere.length > 0
      ? new JobsElsewhereError(elsewhere).message
      : `Install the job queues: ${migrateCall(schema, jobsSchema)}.`;
  throw new NotReadyError("JOBS_NOT_INSTALLED", `${lacks} ${remedy}`);
}

const INSUFFICIENT_PRIVILEGE = "42501";

/** Returns the tables that the package's statements and entities use, each with its schema. */
function tablesOf({ tables = [], entities = [] }: PackageSchema): string[] {
  return [
    ...tables.map(({ name }) => name),
    ...entities.map(({ meta }) => [meta.schema, meta.tableName].filter(Boolean).join(".")),
  ];
}

/** Returns the rights that `migrate` grants to the run-time role on a table. */
function rightsOn(table: string, { appendOnly = [], readOnly = [] }: PackageSchema) {
  const rights = readOnly.includes(table)
    ? ["select"]
    : appendOnly.includes(table)
      ? ["select", "insert"]
      : ["select", "insert", "update", "delete"];
  return rights.map((right) => ({ table, right }));
}

function rightsMissing(schema: PackageSchema, what: string, role = "of this connection"): NotReadyError {
  return new NotReadyError(
    "RIGHTS_MISSING",
    `The role ${role} ${what}. Migrate as the owner of the tables, and pass the URL of this role: migrate({ url: ownerUrl, runtimeUrl: url, schemas: [${exportOf(schema)}], jobs: true }).`,
  );
}

function migrateCall(schema: PackageSchema, jobsSchema = DEFAULT_JOBS_SCHEMA): string {
  const where = jobsSchema === DEFAULT_JOBS_SCHEMA ? "" : `, jobsSchema: "${jobsSchema}"`;
  return `migrate({ url, schemas: [${exportOf(schema)}], jobs: true${where} })`;
}

/** Returns an object that sends queries through the pool of a database. The pool may belong to a host. */
function readerOf({ pool }: OpenDatabase): Reader {
  const query = (text: string, values: unknown[] = []) => pool.query(forHost(text, values));
  return { query: query as Reader["query"] };
}
