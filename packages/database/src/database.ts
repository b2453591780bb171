import { MikroORM } from "@mikro-orm/postgresql";
import { PostgresDialect } from "kysely";
import { Client, type Pool } from "pg";
import type { PgBoss } from "pg-boss";
import { type BoundConnection, BoundDriver } from "./sql/bound-driver.ts";
import { hostClient } from "./transaction/host-client.ts";
import { LOOKS } from "./transaction/is-distributed.ts";
import { createBoss, createJobs } from "./jobs/jobs.ts";
import type { PackageSchema } from "./migration/migrate.ts";
import { failOnMissingRows } from "./sql/missing-rows.ts";
import { NodeWatch } from "./transaction/node-watch.ts";
import { type Database, type OpenDatabase, rememberDatabase } from "./transaction/open-database.ts";
import { oneByOne } from "./transaction/one-by-one.ts";
import { CLIENT_TIMEOUT_MS, CONNECT_TIMEOUT_MS, isPooled, SERVER_TIMEOUTS_MS } from "./transaction/pooler.ts";
import { createSignals } from "./transaction/signals.ts";
import type { Statement } from "./sql/statement.ts";

/** How a process reaches PostgreSQL, and what it keeps there. */
export interface DatabaseOptions {
  /** `postgres://…`; with `?pgbouncer=true` it leads to a transaction pooler. */
  url: string;
  /** What needs a session of its own (LISTEN) connects here; `url` when absent, which then must not be pooled. */
  directUrl?: string;
  schemas: readonly PackageSchema[];
  /**
   * A host's own pool, of `pg` 8.21 or newer, when it leads to the same database as `url`. Its clients keep their settings,
   * and it stays open when this closes. It may lead through a pooler, whatever `url` says: statements go unnamed, and each
   * of our transactions brings its time limits. A client that does not answer is thrown away; how long to wait for another
   * is the pool's `connectionTimeoutMillis`. On Citus, any statement of the pool fails whose answer lacks rows. `poolMax`, `applicationName` and `onStatement` are for pools made here.
   */
  pool?: Pool;
  /** Connections of this process at most. */
  poolMax?: number;
  applicationName?: string;
  /**
   * Selects `id` of every lender from a table that each node of a cluster has. With it, `queryReachable` goes on for the
   * other lenders while a node is away, and statements for a lender on that node fail at once with NodeAwayError.
   */
  lenderIds?: Statement;
  /** Also maintains pg-boss's tables: for processes that work jobs. */
  works?: boolean;
  /** Told of faults that nobody waits for: a lost idle connection, a failed NOTIFY, a job's maintenance. */
  onError?: (error: unknown) => void;
  /** Called with each statement but the look at Citus's catalog; `roundTrip` is false if an earlier one is unanswered. */
  onStatement?: (sent: { name: string | undefined; text: string; roundTrip: boolean }) => void;
}

const KEEP_ALIVE_AFTER_MS = 5_000;

/**
 * Connects lazily: the first statement opens the first connection.
 *
 * @example
 * const database = await createDatabase({ url, schemas: [billingSchema], applicationName: "billing" });
 * const [invoice] = await query<{ paid: boolean }>(database.em(), invoiceById, [invoiceId]);
 * await database.close();
 */
export async function createDatabase(options: DatabaseOptions): Promise<Database> {
  const { url, schemas, onError = () => {} } = options;
  const orm = await MikroORM.init({
    driver: BoundDriver,
    clientUrl: url,
    // By the name of its own it is not taken for a host's MikroORM inside the host's `transactional`.
    contextName: "@collections/database",
    entities: schemas.flatMap(({ entities }) => [...entities]),
    ensureDatabase: false,
    forceUtcTimezone: true,
    discovery: { warnWhenNoEntities: false },
    pool: { min: 0, max: options.poolMax ?? 10 },
    logger: () => {},
    driverOptions: options.pool ? borrowed(options.pool) : clientOptions(options),
  });
  const pool = options.pool ?? (await orm.em.getConnection().getNativeClient());
  const forgetPool = options.pool && heedClients(options.pool, onError);
  if (!options.pool) pool.on("connect", (client) => void failOnMissingRows(client));
  const nodes =
    options.lenderIds && new NodeWatch({ url, lenderIds: options.lenderIds, pool: options.pool ? undefined : pool });
  if (nodes) (orm.em.getConnection() as BoundConnection).refuse = (values) => nodes.check(values);
  const signals = createSignals({ pool, directUrl: options.directUrl ?? url, onError });
  let boss: Promise<PgBoss> | undefined;
  const database: OpenDatabase = {
    em: () => orm.em.fork(),
    pool,
    signals,
    jobs: createJobs(startedBoss, signals, onError),
    sharesSessions: options.pool !== undefined || isPooled(url),
    isBorrowed: options.pool !== undefined,
    distributed: undefined,
    nodes,
    boss: startedBoss,
    onError,
    async close() {
      if (boss) await (await boss.catch(() => undefined))?.stop({ graceful: false, close: false });
      await signals.close();
      await nodes?.close();
      await orm.close();
      forgetPool?.();
      // MikroORM ends a pool only that it has used itself.
      if (!options.pool && !pool.ended) await pool.end();
    },
  };
  rememberDatabase(orm.em, database);
  return database;

  /** A failed start is forgotten, so that the next caller tries again. */
  function startedBoss(): Promise<PgBoss> {
    boss ??= createBoss(pool, options.works ?? false, onError)
      .start()
      .catch((error: unknown) => {
        boss = undefined;
        throw error;
      });
    return boss;
  }
}

/** How the clients of a pool of our own connect, what they give up on, and who is told of what they send. */
function clientOptions({ url, applicationName, onStatement }: DatabaseOptions) {
  return {
    ...(onStatement && { Client: observedClient(onStatement) }),
    pipeline: true,
    application_name: applicationName ?? "collections",
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_AFTER_MS,
    query_timeout: CLIENT_TIMEOUT_MS,
    ...(!isPooled(url) && SERVER_TIMEOUTS_MS),
  };
}

/** A pool of somebody else's as MikroORM uses it: given back after use, unless it does not answer, and never ended. */
function borrowed(pool: Pool): PostgresDialect {
  const connect = async () => {
    const client = await pool.connect();
    const patient = oneByOne(hostClient(client));
    return { ...patient, release: () => client.release(patient.lost()) };
  };
  return new PostgresDialect({ pool: { connect, end: () => Promise.resolve() } as never });
}

/**
 * Listens to the clients of a host's pool while they are in use: for a lost connection, whose error event would end the
 * process if nothing listened, and for warnings of missing rows.
 */
function heedClients(pool: Pool, onError: (error: unknown) => void): () => void {
  const forget = new WeakMap<Client, () => void>();
  const onAcquire = (client: Client): void => {
    forget.set(client, failOnMissingRows(client));
    client.on("error", onError);
  };
  const onRelease = (_error: unknown, client: Client): void => {
    forget.get(client)?.();
    client.off("error", onError);
  };
  pool.on("acquire", onAcquire).on("release", onRelease);
  return () => pool.off("acquire", onAcquire).off("release", onRelease);
}

/** A client that tells of what it sends: the statement budgets of the hot paths are counted here. */
function observedClient(onStatement: NonNullable<DatabaseOptions["onStatement"]>): typeof Client {
  return class ObservedClient extends Client {
    constructor(config: ConstructorParameters<typeof Client>[0]) {
      super(config);
      const send = this.query.bind(this) as (...args: unknown[]) => Promise<unknown>;
      let unanswered = 0;
      this.query = ((...args: unknown[]) => {
        const config = args[0] as string | { name?: string; goesBy?: string; text: string };
        const { name, goesBy, text } = typeof config === "string" ? { text: config } : config;
        if (LOOKS.includes(text)) return send(...args);
        onStatement({ name: name ?? goesBy, text, roundTrip: unanswered === 0 });
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
