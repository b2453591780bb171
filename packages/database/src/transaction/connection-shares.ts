import { AsyncLocalStorage } from "node:async_hooks";
import type { EntityManager } from "./entity-manager.ts";
import type { Pool, PoolClient } from "pg";

/** The connections of a pool that one kind of work may use. */
interface Share {
  readonly most: number;
  /** How long work waits for one of these connections. */
  readonly timeoutMs: number;
  /** How many connections the work of one owner may use. */
  readonly mostOfOwner: number;
  used: number;
  readonly usedBy: Map<string, number>;
  readonly waiting: Waiting[];
}

interface Waiting {
  readonly owner: string | undefined;
  readonly admit: () => void;
}

const owners = new AsyncLocalStorage<string | undefined>();

/**
 * Runs `work` on behalf of an owner, such as a lender. While it runs, and in everything that it starts, its queries that belong to
 * no share of the connections use at most half of those connections, rounded up. Further queries wait until the owner's
 * earlier ones have ended, and those of other owners pass them. Has no effect without the option `shares` of `createDatabase`.
 *
 * @example
 * const { lenderId } = invoices[0]!;
 * const open = await onBehalfOf(lenderId, () => query(database.em(), openInvoices, [lenderId]));
 */
export function onBehalfOf<Result>(owner: string, work: () => Result): Result {
  return owners.run(owner, work);
}

/** Runs `work` for all owners together, also if it was started on behalf of one of them. */
export function onBehalfOfAll<Result>(work: () => Result): Result {
  return owners.run(undefined, work);
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
 * a connection that work of another share uses. Of the connections that belong to no share, an owner (see `onBehalfOf`)
 * uses at most half.
 */
export function divideConnections(
  pool: Pool,
  { poolMax, shares, connectionTimeoutMs }: DividedPool,
): ReadonlyMap<string, Pool> {
  const connect = pool.connect.bind(pool) as () => Promise<PoolClient>;
  const holders = new WeakMap<object, { readonly share: Share; readonly owner: string | undefined }>();
  pool.on("release", (_error, client) => {
    const holder = holders.get(client);
    if (!holder) return;
    holders.delete(client);
    // The pool keeps the client after this event. Wait for it, so that the next work uses this client.
    process.nextTick(leave, holder.share, holder.owner);
  });

  async function take(share: Share): Promise<PoolClient> {
    const owner = owners.getStore();
    await enter(share, owner);
    try {
      const client = await connect();
      holders.set(client, { share, owner });
      return client;
    } catch (error) {
      leave(share, owner);
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
  function connectIn(most: number, mostOfOwner = most): Pool["connect"] {
    const share: Share = { most, mostOfOwner, timeoutMs: connectionTimeoutMs, used: 0, usedBy: new Map(), waiting: [] };
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
  const rest = poolMax - shared;
  pool.connect = connectIn(rest, Math.ceil(rest / 2));
  return new Map(views);
}

function enter(share: Share, owner: string | undefined): Promise<void> {
  if (mayEnter(share, owner)) {
    count(share, owner, 1);
    return Promise.resolve();
  }
  return new Promise((resolve, reject) => {
    const waiting: Waiting = {
      owner,
      admit: () => {
        clearTimeout(timer);
        resolve();
      },
    };
    const timer = setTimeout(() => {
      share.waiting.splice(share.waiting.indexOf(waiting), 1);
      // The pool has the same message for a wait that is too long.
      reject(new Error("timeout exceeded when trying to connect"));
    }, share.timeoutMs);
    share.waiting.push(waiting);
  });
}

function leave(share: Share, owner: string | undefined): void {
  count(share, owner, -1);
  const index = share.waiting.findIndex((waiting) => mayEnter(share, waiting.owner));
  if (index === -1) return;
  const [next] = share.waiting.splice(index, 1);
  count(share, next!.owner, 1);
  next!.admit();
}

function mayEnter({ most, mostOfOwner, used, usedBy }: Share, owner: string | undefined): boolean {
  return used < most && (owner === undefined || (usedBy.get(owner) ?? 0) < mostOfOwner);
}

function count(share: Share, owner: string | undefined, change: 1 | -1): void {
  share.used += change;
  if (owner === undefined) return;
  const used = (share.usedBy.get(owner) ?? 0) + change;
  if (used === 0) share.usedBy.delete(owner);
  else share.usedBy.set(owner, used);
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
