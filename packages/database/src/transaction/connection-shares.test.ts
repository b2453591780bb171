import { directUrl, emptyDatabase } from "@collections/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createDatabase, type Database, isUnavailable, query, statement, transaction } from "../index.ts";

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
