import { directUrl } from "@collections/testing";
import { describe, expect, onTestFinished, test } from "vitest";
import { createDatabase, newId, publicId, query, statement, transaction } from "@collections/database";
import { createOutbound } from "@collections/outbound";
import {
  CallbackNotConfiguredError,
  changeEndpoint,
  deliveryById,
  deliveryTotals,
  EndpointNotFoundError,
  endpointOf,
  eventPage,
  eventsAt,
  eventsKeptFrom,
  eventsOf,
  lastEvents,
  listDeliveries,
  listEndpoints,
  sequenceProblems,
  testEndpoint,
  upsertEndpoint,
} from "../index.ts";
import { lease } from "../dispatch/lease.ts";
import { addressOf } from "../endpoint/address.ts";
import { webhooksSchema } from "../schema.ts";
import { openReceiver } from "../../tests/receiver.ts";
import { eventsOn, KEY_ID, openTrial, SECRET } from "../../tests/trial.ts";

const trial = await openTrial();
const { database } = trial;

describe("the list of deliveries", () => {
  test("is newest first, page by page, without a repeated or missing delivery", async () => {
    const lenderId = await trial.addLender(null);
    const events = eventsOn(lenderId, "LN-1", 1, 7);
    await trial.publish(events);
    const seen: string[] = [];
    let cursor: string | null = null;
    do {
      const page = await listDeliveries(
        database.em(),
        { tenantId: lenderId, limit: 3, ...(cursor !== null && { cursor }) },
        new Date(),
      );
      expect(page.deliveries.length).toBeLessThanOrEqual(3);
      seen.push(...page.deliveries.map(({ eventId }) => eventId));
      cursor = page.nextCursor;
    } while (cursor !== null);
    expect(seen).toEqual(events.map(({ eventId }) => eventId).reverse());
  });

  test("can be filtered by lender, loan, time and state", async () => {
    const [lenderId, otherId] = [await trial.addLender("https://example.com/"), await trial.addLender(null)];
    await trial.publish([...eventsOn(lenderId, "LN-1", 1, 2), ...eventsOn(lenderId, "LN/2", 1, 1)]);
    await trial.publish(eventsOn(otherId, "LN-1", 1, 1));
    await lease(database.em(), { lenderId, count: 1, afterLoan: "", firstAttemptsOnly: false, timeoutMs: 600_000 });
    const now = new Date();
    const list = async (filter: object) => {
      const { deliveries } = await listDeliveries(database.em(), { tenantId: lenderId, ...filter }, now);
      return deliveries.map(({ stream: loan, sequence, state }) => `${loan} ${sequence} ${state}`);
    };
    expect(await list({})).toEqual(["LN/2 1 waiting", "LN-1 2 waiting", "LN-1 1 in_flight"]);
    expect(await list({ loan: "LN-1" })).toEqual(["LN-1 2 waiting", "LN-1 1 in_flight"]);
    expect(await list({ states: ["in_flight"] })).toEqual(["LN-1 1 in_flight"]);
    expect(await list({ states: ["waiting", "retrying"] })).toEqual(["LN/2 1 waiting", "LN-1 2 waiting"]);
    expect(await list({ states: ["parked"] })).toEqual([]);
    expect(await list({ loan: "unknown" })).toEqual([]);
    expect(await list({ since: new Date(now.getTime() + 60_000) })).toEqual([]);
  });

  test("reads few pages to list the parked deliveries of a lender, whether or not the table has statistics", async () => {
    const [lenderId, otherId] = [await trial.addLender(null), await trial.addLender(null)];
    for (const [of, state, count] of [
      [lenderId, "delivered", 20_000],
      [lenderId, "parked", 5],
      [otherId, "parked", 5_000],
    ] as const) {
      await query(database.em(), insertSettled, [of, state, count]);
    }
    for (const prepare of ["reset plan_cache_mode", "vacuum analyze webhooks.delivery"]) {
      await database.pool.query(prepare);
      const filter = { lenderId, states: ["parked"] } as const;
      const { deliveries, pagesRead } = await reading(() => listDeliveries(database.em(), filter, new Date()));
      expect(deliveries).toHaveLength(5);
      expect(pagesRead).toBeLessThan(100);
    }
  });

  test("reads parked deliveries of any number of endpoints by equally many statements", async () => {
    const sent: (string | undefined)[] = [];
    const observed = await createDatabase({
      url: trial.url,
      directUrl: directUrl(trial.url),
      schemas: [webhooksSchema],
      onStatement: ({ name }) => sent.push(name),
    });
    onTestFinished(() => observed.close());
    const counts: number[] = [];
    for (const names of [["crm"], ["crm", "erp", "mail", "shop"]]) {
      const tenantId = await trial.addLender(null);
      for (const name of names) {
        await transaction(database.em(), (tx) => upsertEndpoint(tx, { tenantId, name, url: null }));
      }
      const endpoints = (await listEndpoints(database.em(), tenantId)).map(({ name }) => name);
      expect(endpoints).toHaveLength(names.length + 1);
      for (const endpoint of endpoints) {
        await query(database.em(), insertSettled, [addressOf({ tenantId, endpoint }), "parked", 1]);
      }
      const list = () => listDeliveries(observed.em(), { tenantId, endpoint: "*", states: ["parked"] }, new Date());
      // The first list reads the names of the endpoints, once in each process.
      await list();
      sent.length = 0;
      const { deliveries } = await list();
      expect(deliveries).toHaveLength(endpoints.length);
      expect(new Set(deliveries.map(({ endpoint }) => endpoint ?? null))).toEqual(new Set(endpoints));
      expect(sent.filter((name) => name === "webhooks.endpoint-ids")).toHaveLength(1);
      counts.push(sent.length);
    }
    expect(counts[1]).toBe(counts[0]);
  });

  test("shows a delivery with its bytes only to its own lender", async () => {
    const lenderId = await trial.addLender(null);
    const [event] = eventsOn(lenderId, "LN-1", 1, 1);
    await trial.publish([event!]);
    const delivery = await deliveryById(database.em(), lenderId, event!.eventId, new Date());
    expect(delivery).toMatchObject({ eventId: event!.eventId, state: "waiting", body: event!.body, log: [] });
    expect(await deliveryById(database.em(), newId(), event!.eventId, new Date())).toBeUndefined();
  });
});

describe("the reading of events for verification", () => {
  test("returns a loan's events byte for byte in their sequence, and totals that add up", async () => {
    const lenderId = await trial.addLender(null);
    const events = eventsOn(lenderId, "LN-1", 1, 3);
    await trial.publish(events.toReversed());
    expect((await eventsOf(database.em(), lenderId, "LN-1")).map(({ body }) => body)).toEqual(
      events.map(({ body }) => body),
    );
    expect(await sequenceProblems(database.em(), lenderId)).toEqual([]);
    expect(await deliveryTotals(database.em(), lenderId)).toMatchObject({ published: 3, waiting: 3 });
  });

  test("reports every gap and every repeated number", async () => {
    const lenderId = await trial.addLender(null);
    await trial.publish([
      ...eventsOn(lenderId, "late", 2, 2),
      ...eventsOn(lenderId, "gap", 1, 1),
      ...eventsOn(lenderId, "gap", 4, 4),
      ...eventsOn(lenderId, "twice", 1, 2),
      ...eventsOn(lenderId, "twice", 2, 2),
    ]);
    expect(await sequenceProblems(database.em(), lenderId)).toMatchObject([
      { loan: "gap", fault: "gap", after: 1n, found: 4n },
      { loan: "late", fault: "gap", after: 0n, found: 2n },
      { loan: "twice", fault: "duplicate", after: 2n, found: 2n },
    ]);
    expect(await sequenceProblems(database.em())).toHaveLength(3);
  });

  test("reads a lender's events of one kind page by page, and by loan and number", async () => {
    const [lenderId, otherId] = [await trial.addLender(null), await trial.addLender(null)];
    const events = eventsOn(lenderId, "LN-1", 1, 5);
    const { kind } = events[0]!;
    await trial.publish([...events, ...eventsOn(otherId, "LN-1", 1, 1)]);
    const { events: first, next } = await eventPage(database.em(), lenderId, kind, undefined, 3);
    expect(next).toBe(first.at(-1)!.eventId);
    const { events: second, ...end } = await eventPage(database.em(), lenderId, kind, next, 3);
    expect(end).toEqual({ next: undefined });
    expect([first.length, second.length]).toEqual([3, 2]);
    expect([...first, ...second]).toEqual(
      events.map(({ eventId, stream, sequence, body }) => ({ eventId, stream, loan: stream, sequence, body })),
    );
    // A page reads three events. If all of them are of other kinds, the page is empty, although it is not the last one.
    const others = await eventPage(database.em(), lenderId, "case.closed", undefined, 3);
    expect(others).toEqual({ events: [], next });

    await query(database.em(), letGoFirstTwo, [lenderId]);
    const keys = [5n, 9n, 2n].map((sequence) => ({ stream: "LN-1", sequence }));
    expect(await eventsAt(database.em(), lenderId, kind, keys)).toEqual([
      { event: second[1], isLetGo: false },
      { event: undefined, isLetGo: false },
      { event: first[1], isLetGo: true },
    ]);
    expect(await eventsAt(database.em(), lenderId, kind, [])).toEqual([]);
    const keptFrom = await eventsKeptFrom(database.em());
    expect(keptFrom < first[0]!.eventId).toBe(true);
  });
});

test("lastEvents returns the last event of each stream, and of some kinds", async () => {
  const [lenderId, otherId] = [await trial.addLender(null), await trial.addLender(null)];
  const [first, second, third] = eventsOn(lenderId, "LN-1", 1, 3);
  const closed = { ...second!, kind: "case.closed" };
  await trial.publish([
    first!,
    closed,
    third!,
    ...eventsOn(lenderId, "LN-2", 1, 1),
    ...eventsOn(otherId, "LN-1", 1, 4),
  ]);
  const found = () => lastEvents(database.em(), lenderId, ["LN-1", "LN-2", "LN-3"], ["case.closed"]);
  const sequences = async () => {
    const events = await found();
    return ["LN-1", "LN-2", "LN-3"].map((loan) => {
      const { last, lastOfKinds } = events.get(loan) ?? {};
      return [last?.sequence, lastOfKinds?.sequence];
    });
  };
  expect(await sequences()).toEqual([
    [3n, 2n],
    [1n, undefined],
    [undefined, undefined],
  ]);
  expect((await found()).get("LN-1")?.lastOfKinds).toMatchObject({ kind: "case.closed", body: closed.body });
  await query(database.em(), letGoFirstTwo, [lenderId]);
  expect(await sequences()).toEqual([
    [3n, undefined],
    [1n, undefined],
    [undefined, undefined],
  ]);
  expect(await lastEvents(database.em(), lenderId, [], ["case.closed"])).toEqual(new Map());
});

describe("a lender without an endpoint", () => {
  test("gets undefined from endpointOf, and EndpointNotFoundError from changeEndpoint", async () => {
    expect(await endpointOf(database.em(), newId())).toBeUndefined();
    const change = transaction(database.em(), (tx) => changeEndpoint(tx, { tenantId: newId(), url: null }));
    await expect(change).rejects.toThrow(EndpointNotFoundError);
  });
});

describe("a test of the endpoint", () => {
  const sender = {
    outbound: createOutbound({ allow: "127.0.0.1:*" }),
    signingKeyOf: () => ({ keyId: KEY_ID, secret: SECRET }),
    timeoutMs: 600_000,
    now: () => new Date(),
  };

  test("returns request and answer, and stores nothing", async () => {
    await using receiver = await openReceiver((response) => response.writeHead(200).end('{"received":true}'));
    const lenderId = await trial.addLender(receiver.url);
    const eventId = newId();
    const body = JSON.stringify({ eventId, kind: "ping", test: true });
    const tested = await testEndpoint(database.em(), sender, { tenantId: lenderId, eventId, body });
    expect(tested).toMatchObject({
      delivered: true,
      deliveryId: publicId("evt", eventId),
      request: { url: receiver.url, body },
      response: { status: 200, body: '{"received":true}' },
      error: null,
    });
    expect(receiver.received[0]?.headers).toMatchObject({ "x-service-event": "ping" });
    expect(await deliveryTotals(database.em(), lenderId)).toMatchObject({ published: 0 });
  });

  test("returns the error of a failing receiver, and does not count it", async () => {
    await using receiver = await openReceiver((response) => response.writeHead(401).end());
    const lenderId = await trial.addLender(receiver.url);
    const tested = await testEndpoint(database.em(), sender, { tenantId: lenderId, eventId: newId(), body: "{}" });
    expect(tested).toMatchObject({ delivered: false, response: { status: 401 }, error: { code: "NON_2XX" } });
    expect(await endpointOf(database.em(), lenderId)).toMatchObject({ consecutiveFailures: 0 });
  });

  test("is rejected if no callback URL is registered", async () => {
    const lenderId = await trial.addLender(null);
    const tested = testEndpoint(database.em(), sender, { tenantId: lenderId, eventId: newId(), body: "{}" });
    await expect(tested).rejects.toThrow(CallbackNotConfiguredError);
  });
});

/** Returns the result of `read`, and the number of pages of the delivery table that it has read. */
async function reading<Answer extends object>(read: () => Promise<Answer>): Promise<Answer & { pagesRead: number }> {
  const before = await pagesReadSoFar();
  const answer = await read();
  return { ...answer, pagesRead: (await pagesReadSoFar()) - before };
}

/**
 * Returns how many pages of the delivery table and its indexes have been read so far. First makes all connections
 * report their statistics.
 */
async function pagesReadSoFar(): Promise<number> {
  const clients = await Promise.all(Array.from({ length: database.pool.totalCount }, () => database.pool.connect()));
  for (const client of clients) await client.query("select pg_stat_force_next_flush()");
  for (const client of clients) client.release();
  const { rows } = await database.pool.query<{ pages: number }>(
    `select (heap_blks_hit + heap_blks_read + idx_blks_hit + idx_blks_read)::float8 as pages
     from pg_statio_user_tables where schemaname = 'webhooks' and relname = 'delivery'`,
  );
  return rows[0]!.pages;
}

const letGoFirstTwo = statement(
  "reads-test.let-go",
  `insert into webhooks.let_go (lender_id, loan, sequence) values ($1, 'LN-1', 2)`,
);

const insertSettled = statement(
  "webhooks-trial.insert-settled",
  `insert into webhooks.delivery (lender_id, id, endpoint_id, loan, sequence, kind, state, attempts, settled_at)
   select $1, gen_random_uuid(), e.id, 'LN-' || n, 1, 'ping', $2, 1, now()
   from generate_series(1, $3::integer) n join webhooks.endpoint e on e.lender_id = $1`,
);
