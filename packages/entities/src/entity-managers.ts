import type { EntityManagerContext, EntityManagers, SendQuery } from "@collections/database";
import { type EntityManager, EntitySchema, MikroORM, ReferenceKind } from "@mikro-orm/postgresql";
import { Kysely, PostgresDialect } from "kysely";
import { type BoundConnection, BoundDriver } from "./bound-driver.ts";

/**
 * An EntityManager is asked for an entity that no schema of its `Database` has.
 *
 * @example
 * const database = await createDatabase({ url, schemas: [billingSchema] });
 * await database.em().find(InvoiceEntity, {}).catch((error: unknown) => {
 *   if (error instanceof UnknownEntityError) console.error(`billingSchema does not name ${error.entity}.`);
 *   throw error;
 * });
 */
export class UnknownEntityError extends Error {
  override readonly name = "UnknownEntityError";
  readonly code = "UNKNOWN_ENTITY";
  /** The name of the entity. */
  readonly entity: string;

  constructor(entity: string) {
    super(
      `No schema of this database has the entity ${entity}. Add it to "entities" of a PackageSchema, and pass this schema to createDatabase.`,
    );
    this.entity = entity;
  }
}

/** Makes the EntityManagers of MikroORM for a `Database`. They use its connections. */
export function mikroOrm(context: EntityManagerContext): EntityManagers<EntityManager> {
  const entities = context.entities as readonly EntitySchema[];
  const mayWait = entities.every(standsAlone);
  // The constructor reads the entities without the files that `init` looks for: it loads 30 fewer modules.
  const orm = new MikroORM({
    driver: BoundDriver,
    dbName: context.databaseName,
    // MikroORM uses this name to look up the current transaction. If a host's MikroORM had the same name, our
    // EntityManager would join the host's transaction inside the host's `transactional`.
    contextName: "@collections/entities",
    entities: mayWait ? [] : [...entities],
    ensureDatabase: false,
    forceUtcTimezone: true,
    discovery: { warnWhenNoEntities: false },
    logger: () => {},
    driverOptions: dialect(async () => {
      const { query, release } = await context.connect();
      return clientOf(query, release);
    }),
  });
  discoverWhenUsed(orm, mayWait ? entities : []);
  const connection = orm.em.getConnection() as BoundConnection;
  connection.rename = (text) => context.rename(text);
  connection.refuse = (values) => context.check(values);
  return {
    root: orm.em,
    async enter(tx, send) {
      tx.setTransactionContext(await kyselyIn(send));
    },
    flush: (tx) => tx.flush(),
    close: () => orm.close(),
  };
}

/** Whether MikroORM can discover an entity without others: it has no relation, no embedded property and no base entity. */
function standsAlone({ meta }: EntitySchema): boolean {
  const properties = Object.values<{ kind?: ReferenceKind }>(meta.properties);
  return (
    meta.extends === undefined && properties.every(({ kind = ReferenceKind.SCALAR }) => kind === ReferenceKind.SCALAR)
  );
}

/**
 * Lets MikroORM discover each entity when it is first used. To discover all entities of a service takes longer than the
 * rest of a short process, which uses one or two of them.
 *
 * @param entities entities that stand alone
 */
function discoverWhenUsed(orm: MikroORM, entities: readonly EntitySchema[]): void {
  const undiscovered = new Map<unknown, EntitySchema>(entities.map((entity) => [entity.meta.class, entity]));
  // A second attempt would fail with another error, because MikroORM keeps half of the first.
  const failures = new Map<unknown, unknown>();
  const metadata = orm.getMetadata();
  const find = metadata.find.bind(metadata);
  metadata.find = (name) => {
    const key = name instanceof EntitySchema ? name.meta.class : name;
    if (failures.has(key)) throw failures.get(key);
    const entity = undiscovered.get(key);
    if (entity) {
      undiscovered.delete(key);
      try {
        orm.discoverEntity(entity);
      } catch (error) {
        failures.set(key, error);
        throw error;
      }
    }
    if (name instanceof EntitySchema && !metadata.has(name.meta.class))
      throw new UnknownEntityError(name.meta.className);
    return find(name);
  };
}

/** Makes a Kysely of a transaction that has begun. The transaction's owner ends it too. */
function kyselyIn(send: SendQuery) {
  const begun: SendQuery = (query) =>
    query.text === "begin"
      ? Promise.resolve({ command: "BEGIN", rowCount: 0, rows: [], oid: 0, fields: [] })
      : send(query);
  return new Kysely({ dialect: dialect(() => Promise.resolve(clientOf(begun))) }).startTransaction().execute();
}

/** A client as Kysely uses it. */
function clientOf(send: SendQuery, release: () => void = () => {}) {
  return {
    query: (text: string, values: unknown[] = []) => send({ text, values }),
    release,
  };
}

/** The pool is never ended here: its owner ends it. */
function dialect(connect: () => Promise<ReturnType<typeof clientOf>>): PostgresDialect {
  return new PostgresDialect({ pool: { connect, end: () => Promise.resolve() } as never });
}
