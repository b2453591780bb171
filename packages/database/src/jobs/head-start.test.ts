import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { directUrl, emptyDatabase } from "@collections/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createDatabase, type Database, enqueue, migrate, type Queue, queue, transaction } from "../index.ts";

interface Order {
  readonly item: string;
}

const options = { retryLimit: 3, expireInSeconds: 60 };
const orders = queue<Order>("test.orders", options);
const parcels = queue<Order>("test.parcels", options);
const letters = queue<Order>("test.letters", options);
const calls = queue<Order>("test.calls", options);
const gifts = queue<Order>("test.gifts", options);
const tools = queue<Order>("test.tools", options);
const spares = queue<Order>("test.spares", options);
const queues = [orders, parcels, letters, calls, gifts, tools, spares];
const schemas = [{ name: "test", entities: [], migrations: [], queues }];

/**
 * Postpones the jobs themselves by an hour, so that a head start on a slow machine comes first. The jobs without a head
 * start are not postponed.
 */
const HOLD_BACK = `
  create function hold_back() returns trigger language plpgsql as $$
    begin new.start_after := new.start_after + interval '1 hour'; return new; end $$;
  create trigger hold_back before insert on collections_jobs.job for each row
    when (new.start_after > new.created_on) execute function hold_back()`;
const MAKE_DUE = "update collections_jobs.job set start_after = now() where name = $1 and state = 'created'";

let server: Database;
let worker: Database;
beforeAll(async () => {
  const { url } = await emptyDatabase();
  await migrate({ url: directUrl(url), schemas, jobs: true });
  server = await createDatabase({ url, schemas });
  worker = await createDatabase({ url, directUrl: directUrl(url), schemas, works: true });
  worker.signals.listen();
  await server.pool.query(HOLD_BACK);
});
afterAll(async () => {
  await worker.jobs.stop(60_000);
  await Promise.all([server.close(), worker.close()]);
});

function order(wanted: Queue<Order>, item: string): Promise<void> {
  return transaction(server.em(), (tx) => enqueue(tx, wanted, { item }, { headStart: true }));
}

/**
 * Runs the jobs of a queue in `worker`, which stands for another process. Returns each call of the handler with the
 * state of its job: "created" if a signal caused the call, "active" if the job was fetched from the queue.
 */
async function workQueue(wanted: Queue<Order>, work: (seen: readonly string[]) => Promise<void>, concurrency = 2) {
  const seen: string[] = [];
  await worker.jobs.work(wanted, { concurrency }, async ({ id, data, attempt }) => {
    const { rows } = await worker.pool.query("select state from collections_jobs.job where id = $1", [id]);
    seen.push(`${data.item} ${attempt} ${rows[0].state}`);
    await work(seen);
  });
  return seen;
}

test("another process runs a job with a head start at once, and the job itself runs a second later", async () => {
  const seen = await workQueue(orders, async () => {});
  // The worker receives no signals until its LISTEN has succeeded, so send jobs until one of them gets a head start.
  await expect
    .poll(async () => {
      await order(orders, "bread");
      return seen.filter((what) => what === "bread 1 created").length;
    })
    .toBeGreaterThan(0);
  seen.length = 0;
  await order(orders, "milk");
  const ofMilk = () => seen.filter((what) => what.startsWith("milk"));
  await expect.poll(ofMilk).toEqual(["milk 1 created"]);
  const { rows } = await server.pool.query(
    "select extract(epoch from start_after - interval '1 hour' - created_on)::int as seconds from collections_jobs.job where data ->> 'item' = 'milk'",
  );
  expect(rows).toEqual([{ seconds: 1 }]);
  await server.pool.query(MAKE_DUE, [orders.name]);
  await expect.poll(ofMilk).toEqual(["milk 1 created", "milk 1 active"]);
});

test("after a head start that fails, the job itself still runs", async () => {
  const seen = await workQueue(parcels, async ({ length }) => {
    if (length === 1) throw new Error("The van has broken down.");
  });
  await order(parcels, "chair");
  await expect.poll(() => seen).toEqual(["chair 1 created"]);
  await server.pool.query(MAKE_DUE, [parcels.name]);
  await expect.poll(() => seen).toEqual(["chair 1 created", "chair 1 active"]);
});

test("a job gets no head start while the worker is full, and runs when a slot is free", async () => {
  const busy = Promise.withResolvers<void>();
  const seen = await workQueue(letters, async ({ length }) => (length === 1 ? busy.promise : undefined), 1);
  await order(letters, "first");
  await expect.poll(() => seen).toEqual(["first 1 created"]);
  // Signals arrive in the order of sending. So when the handler has got "third", the full worker has already ignored
  // the signal of "second".
  const called = await workQueue(calls, async () => {});
  await order(letters, "second");
  await order(calls, "third");
  await expect.poll(() => called).toContain("third 1 created");
  busy.resolve();
  await server.pool.query(MAKE_DUE, [letters.name]);
  await expect.poll(() => seen.toSorted()).toEqual(["first 1 active", "first 1 created", "second 1 active"]);
});

test("a head start that is signalled during a fetch runs only if the fetched jobs leave a slot free", async () => {
  await transaction(server.em(), (tx) => enqueue(tx, tools, { item: "fetched" }));
  const holder = await server.pool.connect();
  await holder.query("begin; lock table collections_jobs.job in access exclusive mode");
  const busy = Promise.withResolvers<void>();
  const seen: string[] = [];
  for (const { name } of [tools, spares]) {
    await worker.jobs.work({ name, options }, { concurrency: 1 }, async ({ data }: { data: Order }) => {
      seen.push(`${data.item} of ${name}`);
      await busy.promise;
    });
    server.signals.emit(
      "jobs-at-once collections_jobs",
      JSON.stringify({ name, id: randomUUID(), data: { item: "heard" } }),
    );
  }
  // Wait until the worker has received the signals of both head starts: signals arrive in the order of sending.
  const { promise: heard, resolve } = Promise.withResolvers<string>();
  worker.signals.on("test.last", resolve);
  server.signals.emit("test.last", "");
  await heard;
  const seenBefore = [...seen];
  await holder.query("rollback");
  holder.release();
  expect(seenBefore).toEqual([]);
  await expect.poll(() => seen.toSorted()).toEqual(["fetched of test.tools", "heard of test.spares"]);
  await pause(100);
  expect(seen).toHaveLength(2);
  busy.resolve();
});

test("a rolled-back job gets no head start", async () => {
  const seen = await workQueue(gifts, async () => {});
  const regretted = transaction(server.em(), async (tx) => {
    await enqueue(tx, gifts, { item: "regretted" }, { headStart: true });
    throw new Error("change of mind");
  });
  await expect(regretted).rejects.toThrow("change of mind");
  await order(gifts, "kept");
  await expect.poll(() => seen).toEqual(["kept 1 created"]);
  await server.pool.query(MAKE_DUE, [gifts.name]);
  await expect.poll(() => seen).toEqual(["kept 1 created", "kept 1 active"]);
});
