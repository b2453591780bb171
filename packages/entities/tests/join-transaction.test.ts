import { directUrl, testDatabase } from "@collections/testing";
import { MikroORM } from "@mikro-orm/postgresql";
import { Client, Pool } from "pg";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import {
  enqueue,
  joinTransaction,
  migrate,
  newId,
  NoTransactionError,
  query,
  send,
  sqlState,
  transaction,
} from "@collections/database";
import { createDatabase, type Database, type Tx } from "../src/index.ts";
import {
  ADD_CART,
  billingSchema,
  CARTS,
  insertReceipt,
  Invoice,
  invoice,
  receiptById,
  reminders,
  ROWS_OF_CARTS,
} from "./shop.ts";

let url: string;
let database: Database;
let host: Client;
/** All statements that were sent on the host's client. */
const sent: string[] = [];
let unanswered = 0;
/** For each statement on the host's client, the number of unanswered statements, including itself. */
const atATime: number[] = [];
let cartId: string;

beforeAll(async () => {
  ({ url } = await testDatabase("shop", async (at) => {
    await migrate({ url: at, schemas: [billingSchema], jobs: true });
  }));
  database = await createDatabase({ url, directUrl: directUrl(url), schemas: [billingSchema], works: true });
  await database.jobs.start();
  host = new ListeningClient({ connectionString: directUrl(url) });
  await host.connect();
  await host.query(CARTS);
});

afterAll(async () => {
  await host.end();
  await database.close();
});

beforeEach(() => {
  cartId = newId();
});

class ListeningClient extends Client {
  constructor(...args: ConstructorParameters<typeof Client>) {
    super(...args);
    const query = this.query.bind(this) as (...args: unknown[]) => unknown;
    this.query = ((...args: unknown[]) => {
      const [config] = args as [string | { text: string }];
      sent.push(typeof config === "string" ? config : config.text);
      atATime.push((unanswered += 1));
      return (query(...args) as Promise<unknown>).finally(() => (unanswered -= 1));
    }) as Client["query"];
  }
}

const bill = (tx: Tx): Promise<void> => invoice(tx, cartId, () => enqueue(tx, reminders, { cartId }));

/** Returns how many of the cart's four rows exist. */
async function rowsOf(id: string): Promise<number> {
  const { rows } = await database.pool.query<{ rows: number }>(`select * from (${ROWS_OF_CARTS}) c where id = $1`, [
    id,
  ]);
  return rows[0]?.rows ?? 0;
}

describe("in the transaction of a host's pg client", () => {
  test("the host's commit commits its row and all of ours", async () => {
    await host.query("begin");
    await host.query(ADD_CART, [cartId]);
    const { result } = await joinTransaction(database, host, async (tx) => {
      await bill(tx);
      return query(tx, receiptById, [cartId]);
    });
    expect(await rowsOf(cartId)).toBe(0);
    await host.query("commit");
    expect(result).toEqual([{ id: cartId, minor: 2500n }]);
    expect(await rowsOf(cartId)).toBe(4);
  });

  test("the host's rollback removes all our rows", async () => {
    await host.query("begin");
    await host.query(ADD_CART, [cartId]);
    await joinTransaction(database, host, bill);
    await host.query("rollback");
    expect(await rowsOf(cartId)).toBe(0);
  });

  test("joinTransaction sends no BEGIN, COMMIT, ROLLBACK or SAVEPOINT, even if the work fails", async () => {
    await host.query("begin");
    sent.length = 0;
    await joinTransaction(database, host, bill);
    await joinTransaction(database, host, () => Promise.reject(new Error("change of mind"))).catch(() => {});
    expect(sent.length).toBeGreaterThan(2);
    expect(sent.filter((text) => /^\s*(begin|start|commit|end|rollback|savepoint)/i.test(text))).toEqual([]);
    await host.query("rollback");
  });

  test("statements are sent without names, which another session of a pooler would not know", async () => {
    await host.query("begin");
    await joinTransaction(database, host, async (tx) => {
      await bill(tx);
      await query(tx, receiptById, [cartId]);
    });
    await host.query("rollback");
    expect((await host.query("select name from pg_prepared_statements")).rows).toEqual([]);
  });

  test("statements are sent one at a time on the host's client", async () => {
    await host.query("begin");
    atATime.length = 0;
    await joinTransaction(database, host, bill);
    await host.query("rollback");
    expect(new Set(atATime)).toEqual(new Set([1]));
  });

  test("entities are read back unchanged, even if the host's client parses types differently", async () => {
    await host.query("begin");
    await host.query("set local timezone to 'Asia/Kolkata'");
    const writtenAt = new Date("2026-11-21T20:30:00.000Z");
    await joinTransaction(database, host, async (tx) => {
      tx.create(Invoice, { id: cartId, amountMinor: 2n ** 60n, dueOn: "2026-12-01", writtenAt });
    });
    const { result } = await joinTransaction(database, host, async (tx) => tx.findOneOrFail(Invoice, { id: cartId }));
    await host.query("rollback");
    expect(result).toMatchObject({ amountMinor: 2n ** 60n, dueOn: "2026-12-01", writtenAt });
  });

  test("a failed send() fails joinTransaction with the error of the statement", async () => {
    await host.query("begin");
    await host.query(ADD_CART, [cartId]);
    const outcome = await joinTransaction(database, host, async (tx) => {
      send(tx, insertReceipt, [cartId, 0n]);
      await query(tx, receiptById, [cartId]);
    }).catch((error: unknown) => error);
    expect(sqlState(outcome)).toBe("23514");
    await host.query("rollback");
  });

  test("a host can roll back to its savepoint, and commit its own rows without ours", async () => {
    await host.query("begin");
    await host.query(ADD_CART, [cartId]);
    await host.query("savepoint ours");
    const refused = joinTransaction(database, host, async (tx) => {
      await bill(tx);
      await tx.flush();
      send(tx, insertReceipt, [newId(), -1n]);
    });
    await expect(refused).rejects.toThrow("check constraint");
    await host.query("rollback to savepoint ours");
    await host.query("commit");
    expect(await rowsOf(cartId)).toBe(1);
  });

  test("the Tx cannot be used after joinTransaction has returned", async () => {
    await host.query("begin");
    let kept: Tx | undefined;
    await joinTransaction(database, host, async (tx) => {
      kept = tx;
    });
    expect(() => send(kept!, insertReceipt, [cartId, 1n])).toThrow("The transaction has ended");
    await expect(query(kept!, receiptById, [cartId])).rejects.toThrow("The transaction has ended");
    await host.query("rollback");
  });

  test("rejects a client outside a transaction, and the error says what to do", async () => {
    await expect(joinTransaction(database, host, bill)).rejects.toThrow(NoTransactionError);
    const em = database.em();
    await expect(joinTransaction(database, em, bill)).rejects.toThrow("em.transactional()");
    expect(await rowsOf(cartId)).toBe(0);
  });

  test("rejects a client of a pg without getTransactionStatus, and the error names the required version", async () => {
    await host.query("begin");
    const old = Object.create(host, { getTransactionStatus: { value: undefined } }) as Client;
    await expect(joinTransaction(database, old, bill)).rejects.toThrow("8.21");
    await host.query("rollback");
  });

  test("rejects a pool or an object that is not a client, and the error says what to pass instead", async () => {
    const pool = new Pool({ connectionString: url });
    const work = () => Promise.reject(new Error("joinTransaction must not call the work."));
    await expect(joinTransaction(database, pool as never, work)).rejects.toMatchObject({
      code: "POOL",
      message: expect.stringContaining("const client = await pool.connect()") as string,
    });
    for (const host of [undefined, {}, url]) {
      await expect(joinTransaction(database, host as never, work)).rejects.toMatchObject({ code: "NO_CLIENT" });
    }
    await pool.end();
  });

  test.each([
    ["without a database", () => [host, bill]],
    ["without work", () => [database, host]],
  ])("rejects a call %s, and shows the right call", async (_name, args) => {
    const call = joinTransaction as unknown as (...args: readonly unknown[]) => Promise<unknown>;
    await expect(call(...args())).rejects.toMatchObject({
      name: "UnusableHostError",
      code: "WRONG_ARGUMENTS",
      message: expect.stringContaining("joinTransaction(database, client, async (tx) =>") as string,
    });
  });

  test("joinTransaction rejects a Tx, and the error says to pass the Tx instead of joining it again", async () => {
    const nested = transaction(database.em(), (tx) => joinTransaction(database, tx, bill));
    await expect(nested).rejects.toThrow("pass its Tx");
  });

  test("workers are signalled when the host calls committed(), and not before", async () => {
    const woken: string[] = [];
    const stop = database.signals.on("jobs collections_jobs", (name) => woken.push(name));
    await host.query("begin");
    const { committed } = await joinTransaction(database, host, bill);
    await host.query("commit");
    expect(woken).toEqual([]);
    committed();
    committed();
    stop();
    expect(woken).toEqual([reminders.name]);
  });
});

describe("in the transaction of a host's EntityManager", () => {
  let orm: MikroORM;

  beforeAll(async () => {
    const discovery = { warnWhenNoEntities: false };
    orm = await MikroORM.init({ clientUrl: directUrl(url), entities: [], discovery, ensureDatabase: false });
  });

  afterAll(() => orm.close());

  test("the host's commit commits its row and all of ours, and we read the values that we wrote", async () => {
    const { result } = await hostTransaction(async (em) => {
      await em.execute("insert into shop.cart (id) values (?)", [cartId]);
      return joinTransaction(database, em, async (tx) => {
        await bill(tx);
        await tx.flush();
        const found = await tx.fork({ keepTransactionContext: true }).findOneOrFail(Invoice, { id: cartId });
        const named = await tx.execute("select name from pg_prepared_statements");
        return [found.amountMinor, await query(tx, receiptById, [cartId]), named];
      });
    });
    expect(result).toEqual([2500n, [{ id: cartId, minor: 2500n }], []]);
    expect(await rowsOf(cartId)).toBe(4);
  });

  test("a failed statement of ours fails the host's transaction, and the rollback removes all our rows", async () => {
    const undone = hostTransaction(async (em) => {
      await em.execute("insert into shop.cart (id) values (?)", [cartId]);
      await joinTransaction(database, em, bill);
      await joinTransaction(database, em, async (tx) => send(tx, insertReceipt, [newId(), -1n]));
    });
    await expect(undone).rejects.toThrow("check constraint");
    expect(await rowsOf(cartId)).toBe(0);
  });

  /** Opens a transaction as a host does, with its own MikroORM. */
  function hostTransaction<T>(work: (em: MikroORM["em"]) => Promise<T>): Promise<T> {
    const em = orm.em.fork();
    // oxlint-disable-next-line no-restricted-properties -- a host opens its transaction with its own MikroORM, not with ours
    return em.transactional(work);
  }
});
