import { until } from "@collections/testing";
import { describe, expect, test } from "vitest";
import { newId, query, statement, transaction } from "@collections/database";
import type { WebhookKey } from "../endpoint/webhook-key.ts";
import { changeEndpoint, deliveryTotals, emit } from "../index.ts";
import { openReceiver, type Received } from "../../tests/receiver.ts";
import { countIn, eventsOn, KEY_ID, openTrial, SECRET } from "../../tests/trial.ts";

const trial = await openTrial();
const { database, otherDatabase } = trial;

describe("delivery in order", () => {
  test("two processes deliver every event once, and the events of each loan one at a time in sequence", async () => {
    // The receiver answers after eight requests are under way. One process sends at most four at a time, so both have
    // to send.
    const { promise: bothWork, resolve: answerFirst } = Promise.withResolvers<void>();
    await using receiver = await openReceiver((response, _, number) => {
      if (number === 8) answerFirst();
      void bothWork.then(() => setTimeout(() => response.writeHead(200).end("{}"), Math.random() * 5));
    });
    const lenderId = await trial.addLender(receiver.url);
    await using one = trial.dispatch({ maxPerEndpoint: 4 });
    await using other = trial.dispatch({ maxPerEndpoint: 4, database: otherDatabase, pollIntervalMs: 50 });
    const loans = Array.from({ length: 20 }, (_, index) => `MUM/2023/${index}`);

    // Ten transactions, each with one event for each of the twenty loans, as batches of confirmations publish them.
    for (let sequence = 1; sequence <= 10; sequence += 1) {
      await trial.publish(loans.flatMap((loan) => eventsOn(lenderId, loan, sequence, sequence)));
    }
    await until(async () => (await countIn(database, lenderId, "delivered")) === 200);

    expect(receiver.received).toHaveLength(200);
    expect(new Set(receiver.received.map(({ eventId }) => eventId)).size).toBe(200);
    for (const loan of loans) expect(sequencesOf(receiver.received, loan)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    expect(receiver.atOnce.perLoan).toBe(1);
    expect(receiver.atOnce.all).toBe(8);
    await until(() => one.facts.length + other.facts.length === 200);
  });

  test("a new dispatcher delivers the backlog of many loans", async () => {
    await using receiver = await openReceiver();
    const lenderId = await trial.addLender(receiver.url);
    await trial.publish(Array.from({ length: 300 }, (_, index) => eventsOn(lenderId, `LN-${index}`, 1, 2)).flat());
    await using _dispatcher = trial.dispatch({ maxPerEndpoint: 4 });
    await until(async () => (await countIn(database, lenderId, "delivered")) === 600);
    expect(receiver.received).toHaveLength(600);
    expect(receiver.atOnce.all).toBeLessThanOrEqual(4);
    expect(await deliveryTotals(database.em(), lenderId)).toEqual({
      published: 600,
      delivered: 600,
      waiting: 0,
      retrying: 0,
      parked: 0,
      withoutEndpoint: 0,
    });
  });

  test("events of a transaction that rolls back are never sent", async () => {
    await using receiver = await openReceiver();
    const lenderId = await trial.addLender(receiver.url);
    await using _dispatcher = trial.dispatch({ pollIntervalMs: 10 });
    const work = transaction(database.em(), async (tx) => {
      await emit(tx, eventsOn(lenderId, "LN-1", 1, 3));
      throw new Error("change of mind");
    });
    await expect(work).rejects.toThrow("change of mind");
    await trial.publish(eventsOn(lenderId, "LN-2", 1, 1));
    await receiver.arrived(1);
    expect(receiver.received.map(({ loan }) => loan)).toEqual(["LN-2"]);
  });
});

describe("isolation between lenders", () => {
  test("all events of lender B arrive while the receiver of lender A hangs on every request", async () => {
    await using hanging = await openReceiver(() => {});
    await using healthy = await openReceiver();
    const [a, b] = [await trial.addLender(hanging.url), await trial.addLender(healthy.url)];
    await using _dispatcher = trial.dispatch({ maxPerEndpoint: 4, maxInFlight: 6 });
    await trial.publish(Array.from({ length: 100 }, (_, index) => eventsOn(a, `LN-${index}`, 1, 1)).flat());
    await hanging.arrived(4);
    await trial.publish(Array.from({ length: 100 }, (_, index) => eventsOn(b, `LN-${index}`, 1, 1)).flat());
    await until(async () => (await countIn(database, b, "delivered")) === 100);
    expect(hanging.received).toHaveLength(4);
    expect(await countIn(database, a, "waiting")).toBe(100);
  });
});

describe("an event without a callback URL", () => {
  test("is kept until a URL is registered, and then sent in sequence", async () => {
    await using receiver = await openReceiver();
    const lenderId = await trial.addLender(null);
    await using _dispatcher = trial.dispatch({ pollIntervalMs: 10 });
    await trial.publish(eventsOn(lenderId, "LN-1", 1, 5));
    expect(await countIn(database, lenderId, "waiting")).toBe(5);
    await transaction(database.em(), (tx) => changeEndpoint(tx, { tenantId: lenderId, url: receiver.url }));
    await receiver.arrived(5);
    expect(sequencesOf(receiver.received, "LN-1")).toEqual([1, 2, 3, 4, 5]);
  });

  test("fails its transaction if the lender has no endpoint row", async () => {
    const unknown = "01930000-0000-7000-8000-000000000000";
    await expect(trial.publish(eventsOn(unknown, "LN-1", 1, 1))).rejects.toMatchObject({ code: "23502" });
  });
});

describe("a delivery leased by a worker that dies", () => {
  test("is sent by another worker after the lease ends, and not before", async () => {
    await using receiver = await openReceiver();
    const lenderId = await trial.addLender(receiver.url);
    const [dead, alive] = [eventsOn(lenderId, "LN-1", 1, 2), eventsOn(lenderId, "LN-2", 1, 1)];
    await trial.publish([...dead, ...alive]);
    await query(database.em(), leaseToNobody, [lenderId, "LN-1", 60_000, newId()]);
    await using _dispatcher = trial.dispatch({ pollIntervalMs: 10 });
    await receiver.arrived(1);
    await until(async () => (await countIn(database, lenderId, "delivered")) === 1);
    expect(receiver.received.map(({ loan }) => loan)).toEqual(["LN-2"]);

    await query(database.em(), leaseToNobody, [lenderId, "LN-1", -1, newId()]);
    await until(async () => (await countIn(database, lenderId, "delivered")) === 3);
    expect(sequencesOf(receiver.received, "LN-1")).toEqual([1, 2]);
  });
});

describe("a lender whose signing key cannot be read", () => {
  test("gets its event after the lease ends, still as the first attempt", async () => {
    await using receiver = await openReceiver();
    const lenderId = await trial.addLender(receiver.url);
    const { promise: wasAsked, resolve: asked } = Promise.withResolvers<void>();
    let keys: WebhookKey[] = [];
    await using dispatcher = trial.dispatch({
      pollIntervalMs: 10,
      signingKeyOf() {
        asked();
        if (!keys[0]) throw new Error("no signing key");
        return keys[0];
      },
    });
    await trial.publish(eventsOn(lenderId, "LN-1", 1, 1));
    await wasAsked;
    keys = [{ keyId: KEY_ID, secret: SECRET }];
    await until(async () => (await query(database.em(), selectLeased, [lenderId])).length === 1);
    await query(database.em(), leaseToNobody, [lenderId, "LN-1", -1, newId()]);
    await until(() => dispatcher.facts.length === 1);
    expect(receiver.received.map(({ headers }) => headers["x-service-attempt"])).toEqual(["1"]);
  });
});

describe("a dispatcher that stops", () => {
  test("waits for attempts in flight, writes their results, and gives back other leases", async () => {
    const { promise: mayAnswer, resolve: answerAll } = Promise.withResolvers<void>();
    await using receiver = await openReceiver((response) => {
      void mayAnswer.then(() => response.writeHead(200).end());
    });
    const lenderId = await trial.addLender(receiver.url);
    await using dispatcher = trial.dispatch({ maxPerEndpoint: 2 });
    await trial.publish(Array.from({ length: 8 }, (_, index) => eventsOn(lenderId, `LN-${index}`, 1, 1)).flat());
    await receiver.arrived(2);
    const stopped = dispatcher.stop({ graceMs: 300_000 });
    answerAll();
    await stopped;
    expect(receiver.received).toHaveLength(2);
    expect(await countIn(database, lenderId, "delivered")).toBe(2);
    expect(await query(database.em(), selectLeased, [lenderId])).toEqual([]);
  });

  test("aborts attempts after its grace time, and another process repeats them with the same attempt number", async () => {
    await using receiver = await openReceiver((response, _, number) => {
      if (number > 1) response.writeHead(200).end();
    });
    const lenderId = await trial.addLender(receiver.url);
    const first = trial.dispatch();
    await trial.publish(eventsOn(lenderId, "LN-1", 1, 1));
    await receiver.arrived(1);
    await first.stop({ graceMs: 20 });
    await using _second = trial.dispatch({ database: otherDatabase });
    await receiver.arrived(2);
    expect(receiver.received.map(({ headers }) => headers["x-service-attempt"])).toEqual(["1", "1"]);
  });
});

function sequencesOf(received: readonly Received[], loan: string): number[] {
  return received.filter((request) => request.loan === loan).map(({ sequence }) => sequence);
}

const leaseToNobody = statement(
  "webhooks-trial.lease-to-nobody",
  `update webhooks.delivery set claim_id = $4, leased_until = now() + $3 * interval '1 millisecond'
   where lender_id = $1 and loan = $2 and sequence = 1`,
);
const selectLeased = statement(
  "webhooks-trial.leased",
  `select id from webhooks.delivery where lender_id = $1 and state = 'waiting' and leased_until >= now()`,
);
