import type { Queue } from "./queue.ts";
import type { NamedTable } from "./sql/table.ts";

/** One migration of a package's schema. Its statements run in one transaction. */
export interface PackageMigration {
  /** The name sorts after those of earlier migrations: "0001", "0002-…". A released migration never changes. */
  name: string;
  statements: readonly string[];
  /**
   * Whether the text may differ after the migration was applied, because the package itself compares what the text means.
   * `migrate` refuses any other migration whose text has changed.
   */
  mayChange?: boolean;
}

/**
 * The schema of a package in PostgreSQL: its tables, migrations and queues.
 *
 * @example
 * const schema: PackageSchema = {
 *   name: "billing",
 *   migrations: [{ name: "0001", statements: ["create schema billing", "create table billing.invoice (id uuid)"] }],
 *   queues: [reminders],
 * };
 */
export interface PackageSchema {
  /** The PostgreSQL schema, and the prefix of the package's migrations. */
  name: string;
  /** The package's own name of the schema, if `inSchema` gave it another one. The package's SQL contains this name. */
  renamedFrom?: string;
  /**
   * Whether `migrate` may make these tables in a database that has them in a schema of another name. `inSchema` sets it.
   */
  another?: boolean;
  /** The tables that statements use, as `defineTable` defines them. */
  tables?: readonly NamedTable[];
  /** The entities of MikroORM. `createDatabase` of `@collections/entities` finds and writes them. */
  entities?: readonly SchemaEntity[];
  migrations: readonly PackageMigration[];
  /** Tables ("schema.table") whose rows the run-time role may never update or delete. */
  appendOnly?: readonly string[];
  /** Tables that the run-time role may only read. Functions of the schema's owner write them. */
  readOnly?: readonly string[];
  /** The tables that a cluster does not distribute by lender. All other tables have a `lender_id`. */
  undistributed?: readonly UndistributedTable[];
  /**
   * Statements that complete a reference table: they add the rows that processes of older versions did not write to it.
   * `distribute` runs them each time, before it sends anything else.
   */
  beforeDistribution?: readonly string[];
  queues?: readonly Queue[];
  /** The expression for this schema in a host's code, for error messages. Default: `billingSchema` for `billing`. */
  exportedAs?: string;
  /**
   * Called by `migrate` under the migration lock, before anything is changed. If it throws, the database stays as it is.
   * The tables may still be those of an older version, or missing.
   */
  check?: (read: ReadRows, call: MigrateCall) => Promise<void>;
}

/** An entity of MikroORM, such as `defineEntity` makes. */
export interface SchemaEntity {
  readonly meta: { readonly schema?: string | undefined; readonly tableName: string };
}

/** The call of `migrate` that runs the check of a schema. */
export interface MigrateCall {
  /** The names of all schemas that were passed to this call. */
  readonly schemas: readonly string[];
}

/** Runs a query before the migration, when the tables may still be those of an older version. */
export type ReadRows = <Row>(text: string) => Promise<Row[]>;

/** A table that is not distributed by lender, and where a cluster keeps its rows. */
export interface UndistributedTable {
  /** "schema.table". */
  table: string;
  /** `reference`: a copy on every node, for small tables that are read with lenders' rows. `local`: on the coordinator only. */
  as: "reference" | "local";
  /**
   * Whether the rows of this local table are written in one transaction with lenders' rows. `distribute` then adds the
   * table to Citus's metadata, so that a cluster commits both or neither.
   */
  commitsWithLenders?: boolean;
  /** Why the table is not distributed by lender. */
  because: string;
}
