import type { EntityManager, EntityManagers } from "./entity-manager.ts";
import type { Pool } from "pg";
import type { Boss } from "../boss.ts";
import type { PackageSchema } from "../package-schema.ts";
import type { NodeWatch } from "./node-watch.ts";
import type { Jobs } from "../queue.ts";
import type { Signals } from "./signals.ts";

/** The connection of one process to PostgreSQL. `Em` is what its EntityManagers can do. */
export interface Database<Em extends EntityManager = EntityManager> {
  /**
   * Makes a new EntityManager. Use one for each request or job, and never share it. With the name of a share (option
   * `shares`), its transactions and its calls of `query` use connections of this share. Finds of MikroORM outside a
   * transaction do not.
   */
  em(share?: string): Em;
  readonly pool: Pool;
  readonly jobs: Jobs;
  readonly signals: Signals;
  close(): Promise<void>;
}

/** A `Database` with the parts that only this package uses. */
export interface OpenDatabase extends Database {
  /**
   * Whether sessions are shared, through a transaction pooler or a host's pool. A shared session must not keep any
   * state.
   */
  readonly sharesSessions: boolean;
  /** How long a statement waits for its answer, in milliseconds: the option of `createDatabase`. */
  readonly answerTimeoutMs: number;
  /** Whether the pool belongs to a host. The clients of a host's pool may not support pipelining. */
  readonly isBorrowed: boolean;
  /** The schemas that were passed to `createDatabase`. The key is the original name of a schema, before `inSchema`. */
  readonly schemas: ReadonlyMap<string, PackageSchema>;
  /** Replaces the original names of schemas in an SQL text by the names that the host chose with `inSchema`. */
  rename(text: string): string;
  /** Whether this process maintains the tables of pg-boss: the option `works`. */
  readonly maintainsJobs: boolean;
  /** The schema of pg-boss's tables: the option `jobsSchema`. */
  readonly jobsSchema: string;
  /** Whether tables are distributed over several nodes; undefined before the first `isDistributed`. */
  distributed: boolean | undefined;
  /** Finds out which nodes of a cluster answer; undefined without the option `lenderIds`. */
  readonly nodes: NodeWatch | undefined;
  /** What made the EntityManagers of this database. */
  readonly managers: EntityManagers<EntityManager>;
  boss(): Promise<Boss>;
  onError(error: unknown): void;
}

const databases = new WeakMap<object, OpenDatabase>();

/** Records which database made an EntityManager, because functions receive only the EntityManager. */
export function rememberDatabase(em: EntityManager, database: OpenDatabase): void {
  databases.set(em.getDriver(), database);
}

/**
 * An EntityManager or a `Tx` belongs to a Database that was made without this schema, or with another name for it.
 *
 * @example
 * try {
 *   requireSchema(em, billingSchema);
 * } catch (error) {
 *   if (error instanceof SchemaNotOpenedError) console.error(error.schema, error.message);
 * }
 */
export class SchemaNotOpenedError extends Error {
  override readonly name = "SchemaNotOpenedError";
  readonly code = "SCHEMA_NOT_OPENED";
  readonly schema: string;

  constructor({ name, exportedAs = "its schema" }: PackageSchema, opened: readonly string[]) {
    super(
      `This Database has the schemas ${opened.join(", ") || "of no package"}, and not ${name}: pass ${exportedAs} to createDatabase, or use the Database that was made with it.`,
    );
    this.schema = name;
  }
}

/**
 * Checks that `createDatabase` was given a schema under its present name. A package that exists several times in a process,
 * such as a chart of a ledger, calls it first: otherwise a call with the Database of another one would write there.
 * @throws SchemaNotOpenedError
 *
 * @example
 * requireSchema(em, billingSchema);
 */
export function requireSchema(em: EntityManager, schema: PackageSchema): void {
  const { schemas } = databaseOf(em);
  const opened = schemas.get(schema.renamedFrom ?? schema.name);
  if (opened?.name === schema.name) return;
  throw new SchemaNotOpenedError(
    schema,
    [...schemas.values()].map(({ name }) => name),
  );
}

export function databaseOf(em: EntityManager): OpenDatabase {
  const database = databases.get(em.getDriver());
  if (!database) throw new Error("This EntityManager was not made by createDatabase().");
  return database;
}
