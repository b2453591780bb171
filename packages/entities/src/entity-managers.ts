import type { EntityManagerContext, EntityManagers, SendQuery } from "@collections/database";
import { type EntityManager, type EntitySchema, MikroORM } from "@mikro-orm/postgresql";
import { Kysely, PostgresDialect } from "kysely";
import { type BoundConnection, BoundDriver } from "./bound-driver.ts";

/** Makes the EntityManagers of MikroORM for a `Database`. They use its connections. */
export function mikroOrm(context: EntityManagerContext): EntityManagers<EntityManager> {
  // The constructor reads the entities without the files that `init` looks for: it loads 30 fewer modules.
  const orm = new MikroORM({
    driver: BoundDriver,
    dbName: context.databaseName,
    // MikroORM uses this name to look up the current transaction. If a host's MikroORM had the same name, our
    // EntityManager would join the host's transaction inside the host's `transactional`.
    contextName: "@collections/entities",
    entities: [...(context.entities as readonly EntitySchema[])],
    ensureDatabase: false,
    forceUtcTimezone: true,
    discovery: { warnWhenNoEntities: false },
    logger: () => {},
    driverOptions: dialect(async () => {
      const { query, release } = await context.connect();
      return clientOf(query, release);
    }),
  });
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
