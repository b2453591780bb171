import { directUrl, emptyDatabase } from "@collections/testing";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import {
  afterCommit,
  createDatabase,
  type Database,
  isUnavailable,
  onBehalfOf,
  query,
  statement,
  transaction,
} from "../index.ts";

const one = statement("shares-test.one", "select 1 as one");
const fault = statement("shares-test.fault", "select 1 / 0 as fault");

describe("a pool of three connections with a share of one", () => {
  let url: string;
  let database: Database;

  beforeAll(async () => {
    url = directUrl((await emptyDatabase()).url);
    database = await createDatabase({ url, schemas: [], poolMax: 3, shares: { payments: 1 } });
  });
  afterAll(() => database.close());

  /** Occupies connections of a share until the returned function is called. */
  async function occupy(count: number, share?: string, of = database): Promise<() => Promise<void>> {
    const { promise: end, resolve } = Promise.withResolvers<void>();
    const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
    let open = 0;
    const running = Array.from({ length: count }, () =>
      transaction(of.em(share), async (tx) => {
        await query(tx, one, []);
        open += 1;
        if (open === count) begin();
        await end;
      }),
    );
    await begun;
    return async () => {
      resolve();
      await Promise.all(running);
    };
  }

  test("answers queries of the share while other work waits", async () => {
    const free = await occupy(2);
    const waiting = Array.from({ length: 5 }, () => query(database.em(), one, []));
    const inPool = database.pool.query("select 1 as one");
    expect(await query(database.em("payments"), one, [])).toEqual([{ one: 1 }]);
    expect(await transaction(database.em("payments"), (tx) => query(tx, one, []))).toEqual([{ one: 1 }]);
    await free();
    expect(await Promise.all(waiting)).toEqual(Array.from({ length: 5 }, () => [{ one: 1 }]));
    expect((await inPool).rows).toEqual([{ one: 1 }]);
  });

  test("answers other queries while the share is used up", async () => {
    const free = await occupy(1, "payments");
    const waiting = Array.from({ length: 5 }, () => query(database.em("payments"), one, []));
    expect(await query(database.em(), one, [])).toEqual([{ one: 1 }]);
    await free();
    expect(await Promise.all(waiting)).toHaveLength(5);
  });

  test("fails a query that waits longer than `connectionTimeoutMs`, and recovers", async () => {
    const options = { url, schemas: [], poolMax: 3, shares: { payments: 1 } };
    const hasty = await createDatabase({ ...options, connectionTimeoutMs: 1_000 });
    const free = await occupy(1, "payments", hasty);
    const error = await query(hasty.em("payments"), one, []).catch((thrown: unknown) => thrown);
    expect(isUnavailable(error)).toBe(true);
    await free();
    expect(await query(hasty.em("payments"), one, [])).toEqual([{ one: 1 }]);
    await hasty.close();
  });

  test("takes back the connection of a query that failed", async () => {
    for (let time = 0; time < 3; time += 1) {
      await expect(query(database.em("payments"), fault, [])).rejects.toThrow("division by zero");
      await expect(query(database.em(), fault, [])).rejects.toThrow("division by zero");
    }
    expect(await query(database.em("payments"), one, [])).toEqual([{ one: 1 }]);
    expect(await query(database.em(), one, [])).toEqual([{ one: 1 }]);
  });

  test("rejects a share that the options do not name", () => {
    expect(() => database.em("payment")).toThrow('has no share "payment"');
  });
});

describe("an owner of work", () => {
  let database: Database;
  let freeAll: (() => void)[] = [];

  beforeAll(async () => {
    const url = directUrl((await emptyDatabase()).url);
    database = await createDatabase({ url, schemas: [], poolMax: 6, shares: { payments: 1 } });
  });
  afterEach(() => {
    for (const free of freeAll) free();
    freeAll = [];
  });
  afterAll(() => database.close());

  /** Opens transactions on behalf of an owner, and returns how many of them have a connection. */
  function occupy(owner: string, count: number): { readonly open: () => number; readonly ended: Promise<void[]> } {
    const { promise: end, resolve } = Promise.withResolvers<void>();
    freeAll.push(resolve);
    let open = 0;
    const running = Array.from({ length: count }, () =>
      onBehalfOf(owner, () =>
        transaction(database.em(), async (tx) => {
          await query(tx, one, []);
          open += 1;
          await end;
        }),
      ),
    );
    return { open: () => open, ended: Promise.all(running) };
  }

  test("uses half of the connections, rounded up, and others pass its queue", async () => {
    const greedy = occupy("greedy", 5);
    await expect.poll(greedy.open).toBe(3);
    const other = occupy("other", 2);
    await expect.poll(other.open).toBe(2);
    expect(greedy.open()).toBe(3);
    for (const free of freeAll) free();
    await Promise.all([greedy.ended, other.ended]);
    expect(greedy.open()).toBe(5);
  });

  test("is not limited in a share of its own", async () => {
    const greedy = occupy("greedy", 3);
    await expect.poll(greedy.open).toBe(3);
    expect(await onBehalfOf("greedy", () => query(database.em("payments"), one, []))).toEqual([{ one: 1 }]);
  });

  test("does not limit what its transaction starts after the commit", async () => {
    const { promise: isOccupied, resolve } = Promise.withResolvers<void>();
    let started: Promise<unknown> | undefined;
    await onBehalfOf("greedy", () =>
      transaction(database.em(), async (tx) => {
        afterCommit(tx, () => {
          started = isOccupied.then(() => query(database.em(), one, []));
        });
      }),
    );
    const greedy = occupy("greedy", 3);
    await expect.poll(greedy.open).toBe(3);
    resolve();
    expect(await started).toEqual([{ one: 1 }]);
  });

  test("waits beside work without an owner until a connection is free", async () => {
    const greedy = occupy("greedy", 3);
    await expect.poll(greedy.open).toBe(3);
    const waiting = onBehalfOf("greedy", () => query(database.em(), one, []));
    expect(await query(database.em(), one, [])).toEqual([{ one: 1 }]);
    for (const free of freeAll) free();
    expect(await waiting).toEqual([{ one: 1 }]);
    await greedy.ended;
  });
});
