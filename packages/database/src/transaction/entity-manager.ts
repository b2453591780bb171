import type { QueryResult } from "pg";

/**
 * What the functions of this package send statements with. `Database.em` makes one for each request or job. With the
 * `createDatabase` of `@collections/entities`, it is an EntityManager of MikroORM, which also finds and writes entities.
 */
export interface EntityManager {
  /** The object by which this package finds the `Database`. A fork has the same. */
  getDriver(): object;
  fork(): EntityManager;
}

/** Sends one query, and returns its rows. Dates and times in them are text. */
export type SendQuery = (query: { readonly text: string; readonly values: unknown[] }) => Promise<QueryResult>;

/** A connection of the pool, or a client of the host's pool. */
export interface PoolConnection {
  query: SendQuery;
  /** Returns the connection to the pool. It is closed if it no longer answers. */
  release(): void;
}

/** What `createDatabase` passes to the option `entityManagers`. */
export interface EntityManagerContext {
  /** The name of the database on the server. */
  readonly databaseName: string;
  /** The entities of all schemas. */
  readonly entities: readonly object[];
  connect(): Promise<PoolConnection>;
  /** Replaces the original names of schemas in an SQL text by those of `inSchema`. */
  rename(text: string): string;
  /**
   * Throws NodeAwayError if a value is the id of a lender on a node that is down. Call it with the values of each query.
   */
  check(values: readonly unknown[]): void;
}

/** Makes the EntityManagers of a `Database`. */
export interface EntityManagers<Em extends EntityManager> {
  /** The EntityManager whose forks `Database.em` returns. */
  readonly root: Em;
  /** From now on, a new EntityManager sends its own queries with `send`: on the connection of a transaction that has begun. */
  enter(tx: Em, send: SendQuery): Promise<void>;
  /** Sends the changes that an EntityManager has collected. Called before the commit. */
  flush(tx: Em): Promise<void>;
  close(): Promise<void>;
}

/** The option `entityManagers` of `createDatabase`. */
export type MakeEntityManagers<Em extends EntityManager> = (context: EntityManagerContext) => EntityManagers<Em>;

class StatementsOnly implements EntityManager {
  readonly #driver: object;

  constructor(driver: object) {
    this.#driver = driver;
  }

  getDriver(): object {
    return this.#driver;
  }

  fork(): StatementsOnly {
    return new StatementsOnly(this.#driver);
  }
}

/** Makes EntityManagers that only send statements. */
export function statementsOnly(): EntityManagers<EntityManager> {
  return {
    root: new StatementsOnly({}),
    enter: () => Promise.resolve(),
    flush: () => Promise.resolve(),
    close: () => Promise.resolve(),
  };
}
