import { query, statement, transaction } from "@collections/database";
import { until } from "@collections/testing";
import { describe, expect, test } from "vitest";
import { openReceiver, type Received } from "../../tests/receiver.ts";
import { countIn, eventsOn, openTrial } from "../../tests/trial.ts";
import { changeEndpoint, deliveryTotals, endpointOf, parseLadder, recoverEndpoint, replayDelivery } from "../index.ts";

const trial = await openTrial();
const { database } = trial;

const suspension = { suspendAfter: 6, probeIntervalMs: 200 };
const ladder = parseLadder("0s,30ms,60ms,60ms,60ms,60ms");

describe.each([1, 3])("an endpoint that fails, with %i workers", (workers) => {
  test("is suspended after failures, probed once an interval, gets its backlog in order after its recovery, and gets replays", async () => {
    let isUp = false;
    let isPoisonous = true;
    let refused = "";
    await using receiver = await openReceiver((response, { eventId, loan, sequence }) => {
      const refuses = eventId === refused || !isUp || (isPoisonous && loan === "LN-3" && sequence === 2);
      setTimeout(() => response.writeHead(refuses ? 503 : 200).end(), 2);
    });
    const lenderId = await trial.addLender(receiver.url);
    const loans = Array.from({ length: 8 }, (_, index) => `LN-${index}`);
    await using running = new AsyncDisposableStack();
    for (let count = 0; count < workers; count += 1) running.use(await trial.work({ suspension, ladder }));
    const endpoint = async () => (await endpointOf(database.em(), lenderId))!;

    // First attempts and retries fail, until six failures in a row are counted.
    await trial.publish(loans.flatMap((loan) => eventsOn(lenderId, loan, 1, 2)));
    await until(async () => (await endpoint()).state === "suspended");
    expect(await endpoint()).toMatchObject({ suspendedAt: expect.any(Date), nextProbeAt: expect.any(Date) });

    // During the suspension, only one ping per interval is sent, and new events wait with the earlier events.
    await until(async () => (await countLeased(lenderId)) === 0);
    const spent = attempts(receiver.received).length;
    await trial.publish(loans.flatMap((loan) => eventsOn(lenderId, loan, 3, 6)));
    await until(() => pings(receiver.received).length >= 4);
    expect(attempts(receiver.received)).toHaveLength(spent);
    expect(await loggedAttempts(lenderId)).toBe(spent);
    const sentAt = pings(receiver.received).map(({ headers }) => Number(headers["x-service-timestamp"]));
    const pauses = sentAt.slice(1).map((at, index) => at - sentAt[index]!);
    expect(Math.min(...pauses)).toBeGreaterThan(suspension.probeIntervalMs / 2);
    expect(await endpoint()).toMatchObject({
      state: "suspended",
      probeError: "NON_2XX: The callback answered 503; any 2xx acknowledges.",
      waiting: loans.length * 6,
    });

    // The endpoint recovers: the next probe passes, and the backlog is delivered.
    isUp = true;
    await until(async () => (await countIn(database, lenderId, "delivered")) >= loans.length * 6 - 5);
    const drained = attempts(receiver.received).slice(spent);
    for (const loan of loans.filter((loan) => loan !== "LN-3")) {
      expect(drained.filter((request) => request.loan === loan).map(({ sequence }) => sequence)).toEqual([
        1, 2, 3, 4, 5, 6,
      ]);
    }
    expect(receiver.atOnce.perLoan).toBe(1);

    // An event of the backlog that the endpoint refuses blocks the later events of its loan until it is delivered.
    const poisoned = () =>
      attempts(receiver.received)
        .slice(spent)
        .filter(({ loan }) => loan === "LN-3");
    await until(() => poisoned().length >= 3);
    expect(new Set(poisoned().map(({ sequence }) => sequence))).toEqual(new Set([1, 2]));
    isPoisonous = false;
    await until(async () => (await countIn(database, lenderId, "delivered")) === loans.length * 6);
    const sequences = poisoned().map(({ sequence }) => sequence);
    expect(sequences.toSorted((a, b) => a - b)).toEqual(sequences);
    expect(sequences.slice(-4)).toEqual([3, 4, 5, 6]);
    expect(await endpoint()).toMatchObject({ state: "active", suspendedAt: null, nextProbeAt: null, waiting: 0 });
    expect((await endpoint()).recoveredAt).toBeInstanceOf(Date);
    expect(await deliveryTotals(database.em(), lenderId)).toMatchObject({ published: 48, delivered: 48 });

    // An event that the endpoint refuses at every attempt is parked, and other events are delivered. A replay then
    // delivers the event, with the header of a replay.
    const [event] = eventsOn(lenderId, "LN-3", 7, 7);
    refused = event!.eventId;
    await trial.publish([event!, ...eventsOn(lenderId, "LN-4", 7, 7)]);
    await until(async () => (await countIn(database, lenderId, "parked")) === 1);
    await until(async () => (await countIn(database, lenderId, "delivered")) === loans.length * 6 + 1);
    const tried = bodiesOf(receiver.received, event!.eventId);
    expect(tried).toHaveLength(ladder.length);
    refused = "";
    const replayed = await transaction(database.em(), (tx) => replayDelivery(tx, lenderId, event!.eventId));
    expect(replayed).toEqual({ state: "waiting" });
    await until(async () => (await countIn(database, lenderId, "parked")) === 0);
    await until(async () => (await countIn(database, lenderId, "delivered")) === loans.length * 6 + 2);
    expect(new Set(bodiesOf(receiver.received, event!.eventId))).toEqual(new Set([event!.body]));
    const marks = attempts(receiver.received)
      .filter(({ eventId }) => eventId === event!.eventId)
      .map(({ headers }) => headers["x-service-replay"]);
    expect(marks).toEqual([...tried.map(() => undefined), "true"]);
  });
});

describe("an endpoint that is suspended while many deliveries are leased", () => {
  test("gets no further attempt, although its 404 answers do not lower the concurrency limit", async () => {
    let isUp = true;
    await using receiver = await openReceiver((response) => {
      setTimeout(() => response.writeHead(isUp ? 200 : 404).end(), isUp ? 1 : 20);
    });
    const lenderId = await trial.addLender(receiver.url);
    await using _worker = await trial.work({ suspension: { suspendAfter: 6, probeIntervalMs: 60_000 }, ladder });
    const loans = Array.from({ length: 200 }, (_, index) => `LN-${index}`);
    await trial.publish(loans.slice(0, 60).flatMap((loan) => eventsOn(lenderId, loan, 1, 1)));
    await until(async () => (await countIn(database, lenderId, "delivered")) === 60);

    isUp = false;
    const before = receiver.received.length;
    await trial.publish(loans.flatMap((loan) => eventsOn(lenderId, loan, 2, 2)));
    await until(async () => (await endpointOf(database.em(), lenderId))?.state === "suspended");
    await until(async () => (await countLeased(lenderId)) === 0);
    // At most 32 attempts were under way, and some more began before six failures were known.
    expect(receiver.received.length - before).toBeLessThanOrEqual(32 + 2 * 6);
  });
});

describe("a new callback URL", () => {
  test("does not inherit the failures or the answers of the previous URL", async () => {
    const { promise: mayAnswer, resolve: answerAll } = Promise.withResolvers<void>();
    await using old = await openReceiver((response) => void mayAnswer.then(() => response.writeHead(500).end()));
    await using other = await openReceiver();
    const lenderId = await trial.addLender(old.url);
    await using worker = await trial.work({ suspension: { suspendAfter: 2, probeIntervalMs: 60_000 }, ladder });
    await trial.publish(["a", "b", "c", "d"].flatMap((loan) => eventsOn(lenderId, loan, 1, 1)));
    await old.arrived(4);
    await transaction(database.em(), (tx) => changeEndpoint(tx, { tenantId: lenderId, url: other.url }));
    answerAll();
    await until(async () => (await countIn(database, lenderId, "delivered")) === 4);
    expect(worker.facts.filter(({ state }) => state === "retrying")).toHaveLength(4);
    expect(await endpointOf(database.em(), lenderId)).toMatchObject({ state: "active", consecutiveFailures: 0 });

    await query(database.em(), suspendNow, [lenderId]);
    expect(await recoverEndpoint(database.em(), lenderId, { url: old.url })).toBe(false);
    expect(await recoverEndpoint(database.em(), lenderId, { url: other.url })).toBe(true);
  });
});

function bodiesOf(received: readonly Received[], eventId: string): string[] {
  return received.filter((request) => request.eventId === eventId).map(({ body }) => body);
}

function pings(received: readonly Received[]): Received[] {
  return received.filter(({ headers }) => headers["x-service-event"] === "ping");
}

function attempts(received: readonly Received[]): Received[] {
  return received.filter(({ headers }) => headers["x-service-event"] !== "ping");
}

async function countLeased(lenderId: string): Promise<number> {
  return (await query(database.em(), selectLeased, [lenderId])).length;
}

async function loggedAttempts(lenderId: string): Promise<number> {
  return (await query(database.em(), selectAttempts, [lenderId])).length;
}

const selectLeased = statement(
  "suspended-life.leased",
  `select from webhooks.delivery where lender_id = $1 and leased_until >= now()`,
);

const selectAttempts = statement("suspended-life.attempts", `select from webhooks.attempt where lender_id = $1`);

const suspendNow = statement(
  "suspended-life.suspend",
  `update webhooks.endpoint set state = 'suspended', suspended_at = now(), next_probe_at = now() + interval '1 hour'
   where lender_id = $1`,
);
