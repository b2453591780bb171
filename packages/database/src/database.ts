import type { Client, Pool } from "pg";
import { checkOptions, DEFAULT_POOL_MAX } from "./check-options.ts";
import { connectionTimeoutOf, databaseName, settingsOf } from "./connection/client-config.ts";
import { clientClass, newPool } from "./connection/server-client.ts";
import { divideConnections, rememberShare } from "./transaction/connection-shares.ts";
import {
  type EntityManager,
  type MakeEntityManagers,
  type PoolConnection,
  statementsOnly,
} from "./transaction/entity-manager.ts";
import { hostClient } from "./transaction/host-client.ts";
import { DISTRIBUTION_QUERIES } from "./transaction/is-distributed.ts";
import type { Boss } from "./boss.ts";
import { createJobs, startBoss } from "./jobs/jobs.ts";
import { DEFAULT_JOBS_SCHEMA } from "./jobs/jobs-schema.ts";
import type { PackageSchema } from "./package-schema.ts";
import { failOnMissingRows } from "./sql/missing-rows.ts";
import { rowTypes } from "./sql/row-types.ts";
import { NodeWatch } from "./transaction/node-watch.ts";
import { type Database, type OpenDatabase, rememberDatabase } from "./transaction/open-database.ts";
import { oneByOne } from "./transaction/one-by-one.ts";
import { ANSWER_TIMEOUT_MS, CLIENT_TIMEOUT_MS, isPooled, SERVER_TIMEOUTS_MS } from "./transaction/pooler.ts";
import { renamerOf } from "./schema-name.ts";
import { createSignals } from "./transaction/signals.ts";
import type { Statement } from "./sql/statement.ts";

/** How a process connects to PostgreSQL, and which schemas it uses. */
export interface DatabaseOptions<Em extends EntityManager = EntityManager> {
  /**
   * `postgres://…`, with the parameters of libpq that `connectionProblems` accepts, such as `sslmode`. Every connection
   * obeys them. Add `?pgbouncer=true` if it is the address of a transaction pooler.
   */
  url: string;
  /**
   * The address for connections that need their own session (LISTEN). Default: `url`, which then must not be the
   * address of a pooler.
   */
  directUrl?: string;
  schemas: readonly PackageSchema[];
  /**
   * A host's own pool of `pg` 8.21 or newer, connected to the same database as `url`. It may connect through a
   * transaction pooler, so statements are sent without names, and each transaction sets its own time limits. The
   * settings of its clients are not changed. A client that does not answer is removed from the pool. The pool's
   * `connectionTimeoutMillis` limits the wait for another client. On Citus, a statement of this pool fails if rows are
   * missing from its answer. The pool stays open when the `Database` closes. `poolMax`,
   * `connectionTimeoutMs`, `shares`, `applicationName` and `onStatement` do not apply to it.
   */
  pool?: Pool;
  /** The maximum number of connections of this process. Default: 10. */
  poolMax?: number;
  /**
   * How long a statement waits for a connection of the pool, and a new connection for the server, in milliseconds. The
   * statement then fails as unavailable. Default: the `connect_timeout` of `url` for each of its hosts, or else 5000.
   */
  connectionTimeoutMs?: number;
  /**
   * How long a statement waits for its answer before its connection is closed, in milliseconds. It includes the wait for a
   * lock, at most ten seconds. Default: 12000.
   */
  answerTimeoutMs?: number;
  /**
   * Shares of `poolMax`, by name: how many connections only `em(name)` may use. `em()` uses the other connections. So work
   * of a share never waits for a connection that other work uses.
   */
  shares?: Readonly<Record<string, number>>;
  applicationName?: string;
  /**
   * Selects the `id` of every lender from a table that each node of a cluster has. This option has two effects while a
   * node is down. `queryReachable` still reads the rows of lenders on the other nodes. Statements for a lender on the
   * node that is down fail at once with NodeAwayError.
   */
  lenderIds?: Statement;
  /** Whether this process also maintains pg-boss's tables. Set it in processes that run jobs. */
  works?: boolean;
  /**
   * The PostgreSQL schema of pg-boss's tables, which pg-boss creates and migrates. Pass the same to `migrate`. The name
   * cannot be changed later, because waiting jobs stay in the old schema. Default: `collections_jobs`.
   */
  jobsSchema?: string;
  /**
   * Makes the EntityManagers. `createDatabase` of `@collections/entities` passes one that makes those of MikroORM. Default:
   * they only send statements.
   */
  entityManagers?: MakeEntityManagers<Em>;
  /**
   * Called with errors that no caller receives: a lost idle connection, a failed NOTIFY, failed maintenance of jobs.
   */
  onError?: (error: unknown) => void;
  /**
   * Called with each statement that is sent, except the queries of `isDistributed`. `roundTrip` is false if an earlier
   * statement of the connection is still unanswered, so that both share a round trip.
   */
  onStatement?: (sent: { name: string | undefined; text: string; roundTrip: boolean }) => void;
}

const KEEP_ALIVE_AFTER_MS = 5_000;

/**
 * Makes the database object of a process. It connects lazily: the first statement opens the first connection.
 * @throws InvalidDatabaseOptionError
 *
 * @example
 * const database = await createDatabase({ url, schemas: [billingSchema], applicationName: "billing" });
 * const [invoice] = await query<{ paid: boolean }>(database.em(), invoiceById, [invoiceId]);
 * await database.close();
 */
export async function createDatabase<Em extends EntityManager = EntityManager>(
  options: DatabaseOptions<Em>,
): Promise<Database<Em>> {
  checkOptions("createDatabase", options);
  const { url, schemas, poolMax = DEFAULT_POOL_MAX, shares = {}, onError = () => {} } = options;
  const { works = false, jobsSchema = DEFAULT_JOBS_SCHEMA } = options;
  const { connectionTimeoutMs = connectionTimeoutOf(settingsOf(url)) } = options;
  const rename = renamerOf(schemas);
  const pool = options.pool ?? ownPool(options, { poolMax, connectionTimeoutMs });
  const stopListening = options.pool && listenToClients(options.pool, onError);
  const hasShares = !options.pool && Object.keys(shares).length > 0;
  const views = hasShares ? divideConnections(pool, { poolMax, shares, connectionTimeoutMs }) : new Map<string, Pool>();
  const nodes =
    options.lenderIds &&
    new NodeWatch({ url, lenderIds: options.lenderIds, connectionTimeoutMs, pool: options.pool ? undefined : pool });
  const makeManagers =
    options.entityManagers ?? (statementsOnly as MakeEntityManagers<EntityManager> as MakeEntityManagers<Em>);
  const managers = makeManagers({
    databaseName: databaseName(settingsOf(url)),
    entities: schemas.flatMap(({ entities }) => [...(entities ?? [])]),
    connect: options.pool ? connectBorrowed(options.pool) : connectOwn(pool),
    rename,
    check: (values) => nodes?.check(values),
  });
  const sharesSessions = options.pool !== undefined || isPooled(url);
  const signals = createSignals({ pool, directUrl: options.directUrl ?? url, sharesSessions, onError });
  let boss: Promise<Boss> | undefined;
  const database: OpenDatabase & Database<Em> = {
    em(share) {
      const em = managers.root.fork() as Em;
      if (share === undefined) return em;
      if (shares[share] === undefined) throw new Error(`The option shares of createDatabase has no share "${share}".`);
      const view = views.get(share);
      if (view) rememberShare(em, view);
      return em;
    },
    pool,
    signals,
    jobs: createJobs({ boss: startedBoss, em: () => database.em(), signals, jobsSchema, onError }),
    sharesSessions,
    answerTimeoutMs: options.answerTimeoutMs ?? ANSWER_TIMEOUT_MS,
    isBorrowed: options.pool !== undefined,
    schemas: new Map(schemas.map((schema) => [schema.renamedFrom ?? schema.name, schema])),
    rename,
    maintainsJobs: works,
    jobsSchema,
    distributed: undefined,
    nodes,
    managers,
    boss: startedBoss,
    onError,
    async close() {
      if (boss) await (await boss.catch(() => undefined))?.stop({ graceful: false, close: false });
      await signals.close();
      await nodes?.close();
      await managers.close();
      stopListening?.();
      if (!options.pool && !pool.ended) await pool.end();
    },
  };
  rememberDatabase(managers.root, database);
  return database;

  /** Starts pg-boss once. After a failed start, the next caller tries again. */
  function startedBoss(): Promise<Boss> {
    boss ??= startBoss({ pool, jobsSchema, works, onError }).catch((error: unknown) => {
      boss = undefined;
      throw error;
    });
    return boss;
  }
}

/** Makes the pool of a process: how its clients connect, their time limits, and the observer of their statements. */
function ownPool(
  { url, applicationName, onStatement }: Pick<DatabaseOptions, "url" | "applicationName" | "onStatement">,
  { poolMax, connectionTimeoutMs }: { readonly poolMax: number; readonly connectionTimeoutMs: number },
): Pool {
  const pool = newPool({
    Client: onStatement ? observedClient(clientClass(url), onStatement) : clientClass(url),
    min: 0,
    max: poolMax,
    pipeline: true,
    application_name: applicationName ?? "collections",
    connectionTimeoutMillis: connectionTimeoutMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_AFTER_MS,
    query_timeout: CLIENT_TIMEOUT_MS,
    types: rowTypes,
    ...(!isPooled(url) && SERVER_TIMEOUTS_MS),
  });
  // Without these listeners, the error event of a lost connection would end the process. Its statement fails anyway.
  pool.on("error", () => {});
  pool.on("connect", (client) => {
    client.on("error", () => {});
    void failOnMissingRows(client);
  });
  return pool;
}

/** Returns a function that takes a client of our own pool. */
function connectOwn(pool: Pool): () => Promise<PoolConnection> {
  return async () => {
    const client = await pool.connect();
    return { query: ({ text, values }) => client.query(text, values), release: () => client.release() };
  };
}

/** Returns a function that takes a client of a host's pool. It is released after use, or removed if it does not answer. */
function connectBorrowed(pool: Pool): () => Promise<PoolConnection> {
  return async () => {
    const client = await pool.connect();
    const sequential = oneByOne(hostClient(client));
    return {
      query: ({ text, values }) => sequential.query(text, values),
      release: () => client.release(sequential.lost()),
    };
  };
}

/**
 * Listens to the clients of a host's pool while they are in use: for warnings of missing rows, and for errors. Without
 * a listener for errors, the error event of a lost connection would end the process. Returns a function that stops
 * listening.
 */
function listenToClients(pool: Pool, onError: (error: unknown) => void): () => void {
  const stopListening = new WeakMap<Client, () => void>();
  const onAcquire = (client: Client): void => {
    stopListening.set(client, failOnMissingRows(client));
    client.on("error", onError);
  };
  const onRelease = (_error: unknown, client: Client): void => {
    stopListening.get(client)?.();
    client.off("error", onError);
  };
  pool.on("acquire", onAcquire).on("release", onRelease);
  return () => pool.off("acquire", onAcquire).off("release", onRelease);
}

/**
 * Returns a Client class that reports each statement that it sends. Tests use it to count the statements of the hot
 * paths.
 */
function observedClient(
  ServerClient: typeof Client,
  onStatement: NonNullable<DatabaseOptions["onStatement"]>,
): typeof Client {
  return class ObservedClient extends ServerClient {
    constructor(config: ConstructorParameters<typeof Client>[0]) {
      super(config);
      const send = this.query.bind(this) as (...args: unknown[]) => Promise<unknown>;
      let unanswered = 0;
      this.query = ((...args: unknown[]) => {
        const config = args[0] as string | { name?: string; statementName?: string; text: string };
        const { name, statementName, text } = typeof config === "string" ? { text: config } : config;
        if (DISTRIBUTION_QUERIES.includes(text)) return send(...args);
        onStatement({ name: name ?? statementName, text, roundTrip: unanswered === 0 });
        unanswered += 1;
        const callback = args.at(-1);
        if (typeof callback === "function") {
          args[args.length - 1] = (...answer: unknown[]) => {
            unanswered -= 1;
            callback(...answer);
          };
          return send(...args);
        }
        return send(...args).finally(() => {
          unanswered -= 1;
        });
      }) as Client["query"];
    }
  };
}
