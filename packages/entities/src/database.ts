import * as statements from "@collections/database";
import type { EntityManager } from "@mikro-orm/postgresql";
import { mikroOrm } from "./entity-managers.ts";

/** A `Database` whose EntityManagers are those of MikroORM. */
export type Database = statements.Database<EntityManager>;

/**
 * An EntityManager of MikroORM inside a transaction. Only `transaction` and `joinTransaction` make one. A function that takes
 * a `Tx` joins its caller's transaction. A function that takes an `EntityManager` opens its own transaction or only reads.
 */
export type Tx = statements.Tx<EntityManager>;

/** How a process connects to PostgreSQL, and which schemas it uses. */
export type DatabaseOptions = Omit<statements.DatabaseOptions, "entityManagers">;

/**
 * Makes the database object of a process, as `createDatabase` of `@collections/database` does. Its EntityManagers also find
 * and write the entities of the schemas. A transaction commits the changes of entities, statements and jobs together.
 * @throws InvalidDatabaseOptionError
 *
 * @example
 * const database = await createDatabase({ url, schemas: [billingSchema], applicationName: "billing" });
 * const invoice = await database.em().findOne(InvoiceEntity, { id: invoiceId });
 * await database.close();
 */
export async function createDatabase(options: DatabaseOptions): Promise<Database> {
  return statements.createDatabase<EntityManager>({ ...options, entityManagers: mikroOrm });
}
