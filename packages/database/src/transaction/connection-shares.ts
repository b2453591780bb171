import type { EntityManager } from "@mikro-orm/postgresql";
import type { Pool, PoolClient } from "pg";

/** The connections of a pool that one kind of work may use. */
interface Share {
  readonly most: number;
  /** How long work waits for one of these connections. */
  readonly timeoutMs: number;
  used: number;
  readonly waiting: (() => void)[];
}

type ConnectCallback = (error: Error | undefined, client: PoolClient | undefined, done: () => void) => void;

/** The options of `createDatabase` for a pool with shares. */
interface DividedPool {
  readonly poolMax: number;
  readonly shares: Readonly<Record<string, number>>;
  readonly connectionTimeoutMs: number;
}

/**
 * Divides the connections of a pool into shares. Returns one view of the pool for each share. `pool` itself becomes the
 * view of the connections that belong to no share. Each view has its own maximum, so work of one share never waits for
 * a connection that work of another share uses.
 */
export function divideConnections(
  pool: Pool,
  { poolMax, shares, connectionTimeoutMs }: DividedPool,
): ReadonlyMap<string, Pool> {
  const connect = pool.connect.bind(pool) as () => Promise<PoolClient>;
  const holders = new WeakMap<object, Share>();
  pool.on("release", (_error, client) => {
    const share = holders.get(client);
    if (!share) return;
    holders.delete(client);
    // The pool keeps the client after this event. Wait for it, so that the next work uses this client.
    process.nextTick(leave, share);
  });

  async function take(share: Share): Promise<PoolClient> {
    await enter(share);
    try {
      const client = await connect();
      holders.set(client, share);
      return client;
    } catch (error) {
      leave(share);
      throw error;
    }
  }

  async function giveTo(callback: ConnectCallback, share: Share): Promise<void> {
    let client: PoolClient;
    try {
      client = await take(share);
    } catch (error) {
      callback(error as Error, undefined, () => {});
      return;
    }
    callback(undefined, client, client.release);
  }

  /** Makes a `connect` for a share, with the two signatures of `Pool.connect`. */
  function connectIn(most: number): Pool["connect"] {
    const share: Share = { most, timeoutMs: connectionTimeoutMs, used: 0, waiting: [] };
    const connectShare = (callback?: ConnectCallback): Promise<PoolClient> | void => {
      if (!callback) return take(share);
      void giveTo(callback, share);
    };
    return connectShare as Pool["connect"];
  }

  const views = Object.entries(shares).map(([name, most]) => {
    // `query` of the pool calls `this.connect`, so it uses the share too.
    const view = Object.create(pool, { connect: { value: connectIn(most) } }) as Pool;
    return [name, view] as const;
  });
  const shared = Object.values(shares).reduce((sum, most) => sum + most, 0);
  pool.connect = connectIn(poolMax - shared);
  return new Map(views);
}

function enter(share: Share): Promise<void> {
  if (share.used < share.most) {
    share.used += 1;
    return Promise.resolve();
  }
  return new Promise((resolve, reject) => {
    const waiting = (): void => {
      clearTimeout(timer);
      resolve();
    };
    const timer = setTimeout(() => {
      share.waiting.splice(share.waiting.indexOf(waiting), 1);
      // The pool has the same message for a wait that is too long.
      reject(new Error("timeout exceeded when trying to connect"));
    }, share.timeoutMs);
    share.waiting.push(waiting);
  });
}

function leave(share: Share): void {
  const next = share.waiting.shift();
  if (next) next();
  else share.used -= 1;
}

const views = new WeakMap<EntityManager, Pool>();

/** Records which share an EntityManager uses. */
export function rememberShare(em: EntityManager, view: Pool): void {
  views.set(em, view);
}

/** Returns the view of the pool that an EntityManager uses, or `pool` if it belongs to no share. */
export function poolFor(em: EntityManager, pool: Pool): Pool {
  return views.get(em) ?? pool;
}
