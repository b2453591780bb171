import { verify } from "@collections/signing";
import { until } from "@collections/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { newId, query, statement, transaction } from "@collections/database";
import { changeEndpoint, deliveryById, endpointOf, listDeliveries, parseLadder } from "../index.ts";
import { lease } from "./lease.ts";
import { retryDue, retryQueue, sweep } from "./retry.ts";
import { type Outcome, outcomeOf } from "./outcome.ts";
import { recordResults } from "./record-results.ts";
import type { AttemptResult } from "../endpoint/attempt.ts";
import { openReceiver } from "../../tests/receiver.ts";
import { countIn, eventsOn, openTrial, SECRET, UNPACED } from "../../tests/trial.ts";

const trial = await openTrial();
const { database } = trial;
const shortLadder = parseLadder("0s,50ms,100ms,100ms");
const longLadder = parseLadder("0s,1h,1h");

beforeAll(() => database.jobs.work(retryQueue, { concurrency: 4 }, ({ data }) => retryDue(database.em(), data)));
afterAll(() => database.jobs.stop(60_000));

describe("a delivery that fails", () => {
  test("is retried with the same bytes and a new valid signature up to the end of the ladder, then parked", async () => {
    await using receiver = await openReceiver((response) => {
      response.writeHead(503, { "X-Cause": "maintenance" }).end(Buffer.from("back\0soon \xff", "latin1"));
    });
    const lenderId = await trial.addLender(receiver.url);
    const [event] = eventsOn(lenderId, "LN-1", 1, 1);
    await using _dispatcher = trial.dispatch({ ladder: shortLadder });
    await trial.publish([event!]);
    await until(async () => (await countIn(database, lenderId, "parked")) === 1);

    expect(receiver.received).toHaveLength(4);
    const bodies = new Set(receiver.received.map(({ body }) => body));
    expect([...bodies]).toEqual([event!.body]);
    const timestamps = receiver.received.map(({ headers }) => String(headers["x-service-timestamp"]));
    expect(new Set(timestamps).size).toBe(4);
    for (const { headers, body, path } of receiver.received) {
      const timestamp = String(headers["x-service-timestamp"]);
      const signature = String(headers["x-service-signature"]);
      expect(verify({ method: "POST", path, timestamp, body, secret: SECRET, signature })).toBe(true);
    }
    const delivery = await deliveryById(database.em(), lenderId, event!.eventId, new Date());
    expect(delivery).toMatchObject({
      state: "parked",
      attempts: 4,
      nextAttemptAt: null,
      lastError: "NON_2XX: The callback answered 503; any 2xx acknowledges.",
    });
    expect(delivery?.log.map(({ number }) => number)).toEqual([1, 2, 3, 4]);
    expect(delivery?.log[0]).toMatchObject({
      outcome: "failed",
      status: 503,
      body: "back\uFFFDsoon \uFFFD",
      errorCode: "NON_2XX",
      replay: false,
    });
    expect(delivery?.log[0]?.headers).toMatchObject({ "x-cause": "maintenance" });
    expect(await endpointOf(database.em(), lenderId)).toMatchObject({ consecutiveFailures: 4, parked: 1, waiting: 0 });
  });

  test("does not delay later events of its loan while it waits for its retry", async () => {
    await using receiver = await openReceiver((response, { sequence }) => {
      response.writeHead(sequence === 2 ? 500 : 200).end();
    });
    const lenderId = await trial.addLender(receiver.url);
    await using _dispatcher = trial.dispatch({ ladder: longLadder });
    await trial.publish(eventsOn(lenderId, "LN-1", 1, 4));
    await until(async () => (await countIn(database, lenderId, "delivered")) === 3);
    expect(receiver.received.map(({ sequence }) => sequence)).toEqual([1, 2, 3, 4]);
    const { deliveries } = await listDeliveries(
      database.em(),
      { tenantId: lenderId, states: ["retrying"] },
      new Date(),
    );
    expect(deliveries).toMatchObject([{ sequence: 2n, attempts: 1, lastError: expect.stringMatching(/^NON_2XX: /) }]);
  });

  test("waits for the time in the Retry-After header", async () => {
    await using receiver = await openReceiver((response) => response.writeHead(429, { "Retry-After": "1800" }).end());
    const lenderId = await trial.addLender(receiver.url);
    const before = Date.now();
    await using _dispatcher = trial.dispatch({ ladder: shortLadder });
    await trial.publish(eventsOn(lenderId, "LN-1", 1, 1));
    await until(async () => (await countIn(database, lenderId, "retrying")) === 1);
    const { deliveries } = await listDeliveries(database.em(), { tenantId: lenderId }, new Date());
    const after = Date.now();
    const nextAtMs = deliveries[0]?.nextAttemptAt?.getTime() ?? 0;
    expect(nextAtMs - before).toBeGreaterThanOrEqual(1_800_000);
    expect(nextAtMs - after).toBeLessThan(1_860_000);
  });

  test.each([
    ["ahead", 600_000],
    ["behind", -600_000],
  ])("waits by the database's clock if its worker's clock is %s", async (_, offsetMs) => {
    await using receiver = await openReceiver((response) => response.writeHead(503).end());
    const lenderId = await trial.addLender(receiver.url);
    const now = () => new Date(Date.now() + offsetMs);
    const before = Date.now();
    await using _dispatcher = trial.dispatch({ now, ladder: longLadder });
    await trial.publish(eventsOn(lenderId, "LN-1", 1, 1));
    await until(async () => (await countIn(database, lenderId, "retrying")) === 1);
    const { deliveries } = await listDeliveries(database.em(), { tenantId: lenderId }, new Date());
    const after = Date.now();
    const nextAtMs = deliveries[0]?.nextAttemptAt?.getTime() ?? 0;
    expect(nextAtMs - before).toBeGreaterThanOrEqual(3_600_000);
    expect(nextAtMs - after).toBeLessThanOrEqual(3_600_000);
  });

  test("is not retried while another event of its loan is in flight", async () => {
    const { promise: mayAnswer, resolve: answerSecond } = Promise.withResolvers<void>();
    await using receiver = await openReceiver((response, { sequence }, number) => {
      if (sequence === 2) void mayAnswer.then(() => response.writeHead(200).end());
      else response.writeHead(number === 1 ? 500 : 200).end();
    });
    const lenderId = await trial.addLender(receiver.url);
    const events = eventsOn(lenderId, "LN-1", 1, 2);
    await using _dispatcher = trial.dispatch({ ladder: longLadder });
    await trial.publish(events);
    await receiver.arrived(2);
    await query(database.em(), endWaits, [lenderId]);
    await retryDue(database.em(), { lenderId, deliveryId: events[0]!.eventId, attempts: 1 });
    // When an event of another loan has been delivered, the dispatcher has looked for due deliveries.
    await trial.publish(eventsOn(lenderId, "LN-2", 1, 1));
    await until(async () => (await countIn(database, lenderId, "delivered")) === 1);
    answerSecond();
    await until(async () => (await countIn(database, lenderId, "delivered")) === 3);
    expect(receiver.received.map(({ loan, sequence }) => `${loan}/${sequence}`)).toEqual([
      "LN-1/1",
      "LN-1/2",
      "LN-2/1",
      "LN-1/1",
    ]);
    expect(receiver.atOnce.perLoan).toBe(1);
  });
});

describe("the count of consecutive failures", () => {
  test("is reset by any 2xx and by a different callback URL, but not by the same URL", async () => {
    await using receiver = await openReceiver((response, { sequence }) => {
      response.writeHead(sequence === 3 ? 200 : 500).end();
    });
    const lenderId = await trial.addLender(receiver.url);
    const failures = async () => (await endpointOf(database.em(), lenderId))?.consecutiveFailures;
    const change = (url: string) => transaction(database.em(), (tx) => changeEndpoint(tx, { tenantId: lenderId, url }));
    await using dispatcher = trial.dispatch({ ladder: longLadder });
    await trial.publish(eventsOn(lenderId, "LN-1", 1, 2));
    await until(() => dispatcher.facts.length === 2);
    expect(await failures()).toBe(2);
    await trial.publish(eventsOn(lenderId, "LN-1", 3, 3));
    await until(() => dispatcher.facts.length === 3);
    expect(await failures()).toBe(0);
    await trial.publish(eventsOn(lenderId, "LN-1", 4, 4));
    await until(() => dispatcher.facts.length === 4);
    await change(receiver.url);
    expect(await failures()).toBe(1);
    await change(`${receiver.url}/v2`);
    expect(await failures()).toBe(0);
  });

  test("begins after the last 2xx of a batch, and does not include faults of our own network", async () => {
    const lenderId = await trial.addLender("https://example.com/");
    await trial.publish(["a", "b", "c", "d", "e"].flatMap((loan) => eventsOn(lenderId, loan, 1, 1)));
    const leased = await leaseHeads(lenderId, 5);
    const results = [failed(), delivered(), failed(), { ...failed(), ownFault: true }, failed()];
    const outcomes = leased.map((delivery, index) => outcomeOf(delivery, results[index]!, longLadder, Math.random));
    await record(lenderId, outcomes);
    expect(await endpointOf(database.em(), lenderId)).toMatchObject({ consecutiveFailures: 2, waiting: 4 });
  });
});

describe("a claim", () => {
  test("allows one result: recording the same result again changes nothing", async () => {
    const lenderId = await trial.addLender("https://example.com/");
    await trial.publish(eventsOn(lenderId, "LN-1", 1, 1));
    const [delivery] = await leaseHeads(lenderId, 1);
    const outcome = outcomeOf(delivery!, failed(), longLadder, Math.random);
    expect(await record(lenderId, [outcome])).toEqual(new Set([delivery!.deliveryId]));
    expect(await record(lenderId, [outcome])).toEqual(new Set());
    expect(await endpointOf(database.em(), lenderId)).toMatchObject({ consecutiveFailures: 1 });
    const detail = await deliveryById(database.em(), lenderId, delivery!.deliveryId, new Date());
    expect(detail).toMatchObject({ attempts: 1, state: "retrying" });
    expect(detail?.log).toHaveLength(1);
  });

  test("is refused if another worker has taken over the delivery, and the other worker's result counts", async () => {
    const lenderId = await trial.addLender("https://example.com/");
    await trial.publish(eventsOn(lenderId, "LN-1", 1, 1));
    const [late] = await leaseHeads(lenderId, 1);
    expect(await leaseHeads(lenderId, 1)).toEqual([]);
    await query(database.em(), expireLeases, [lenderId]);
    const [taken] = await leaseHeads(lenderId, 1);
    expect(taken?.deliveryId).toBe(late?.deliveryId);

    const lateOutcome = outcomeOf(late!, failed(), longLadder, Math.random);
    expect(await record(lenderId, [lateOutcome])).toEqual(new Set());
    const outcome = outcomeOf(taken!, delivered(), longLadder, Math.random);
    expect(await record(lenderId, [outcome])).toEqual(new Set([taken!.deliveryId]));
    expect(await endpointOf(database.em(), lenderId)).toMatchObject({ consecutiveFailures: 0, waiting: 0 });
  });
});

describe("the wait for a retry", () => {
  test("is not ended by repeated or outdated jobs, nor by a job that runs before the time in the row", async () => {
    const { lenderId, deliveryId } = await retryingDelivery();
    await retryDue(database.em(), { lenderId, deliveryId, attempts: 1 });
    expect(await countIn(database, lenderId, "retrying")).toBe(1);
    await query(database.em(), endWaits, [lenderId]);
    await retryDue(database.em(), { lenderId, deliveryId, attempts: 7 });
    await retryDue(database.em(), { lenderId, deliveryId: newId(), attempts: 1 });
    expect(await countIn(database, lenderId, "retrying")).toBe(1);
    await retryDue(database.em(), { lenderId, deliveryId, attempts: 1 });
    await retryDue(database.em(), { lenderId, deliveryId, attempts: 1 });
    expect(await countIn(database, lenderId, "waiting")).toBe(1);
  });

  test("is ended by the sweep if its job is lost and the retry is more than ten seconds late", async () => {
    const { lenderId } = await retryingDelivery();
    await query(database.em(), makeLate, [lenderId, 8_000]);
    await sweep(database.em());
    expect(await countIn(database, lenderId, "retrying")).toBe(1);
    await query(database.em(), makeLate, [lenderId, 11_000]);
    expect(await sweep(database.em())).toBeGreaterThanOrEqual(1);
    expect(await countIn(database, lenderId, "waiting")).toBe(1);
  });

  test("is ended by one sweep, even if more deliveries wait than fit into one transaction", async () => {
    const lenderId = await trial.addLender("https://example.com/");
    await trial.publish(eventsOn(lenderId, "LN-1", 1, 2_001));
    await query(database.em(), loseJobs, [lenderId]);
    expect(await sweep(database.em())).toBe(2_001);
    expect(await countIn(database, lenderId, "waiting")).toBe(2_001);
  });

  test("is ended once for each delivery when several processes sweep at the same time", async () => {
    const lenderId = await trial.addLender("https://example.com/");
    await trial.publish(eventsOn(lenderId, "LN-1", 1, 4_001));
    await query(database.em(), loseJobs, [lenderId]);
    const ended = await Promise.all(Array.from({ length: 3 }, () => sweep(database.em())));
    expect(ended.reduce((sum, one) => sum + one, 0)).toBe(4_001);
    expect(await countIn(database, lenderId, "waiting")).toBe(4_001);
  });
});

async function retryingDelivery(): Promise<{ lenderId: string; deliveryId: string }> {
  const lenderId = await trial.addLender("https://example.com/");
  await trial.publish(eventsOn(lenderId, "LN-1", 1, 1));
  const [delivery] = await leaseHeads(lenderId, 1);
  await record(lenderId, [outcomeOf(delivery!, failed(), longLadder, Math.random)]);
  return { lenderId, deliveryId: delivery!.deliveryId };
}

async function leaseHeads(lenderId: string, count: number) {
  const request = { lenderId, count, afterLoan: "", firstAttemptsOnly: false, timeoutMs: 600_000 };
  return (await lease(database.em(), request)).deliveries;
}

async function record(lenderId: string, outcomes: readonly Outcome[]): Promise<ReadonlySet<string>> {
  return (await recordResults(database.em(), lenderId, outcomes, UNPACED)).written;
}

function failed(): AttemptResult {
  return { ...delivered(), outcome: "failed", answer: null, error: { code: "TIMEOUT", detail: "No answer came." } };
}

function delivered(): AttemptResult {
  return {
    outcome: "delivered",
    startedAt: new Date(),
    durationMs: 12,
    request: { url: "https://example.com/", headers: {}, body: "{}" },
    answer: { status: 200, headers: {}, body: "" },
    error: null,
    ownFault: false,
  };
}

const loseJobs = statement(
  "webhooks-trial.lose-jobs",
  `update webhooks.delivery set state = 'retrying', next_attempt_at = now() - interval '2 minutes'
   where lender_id = $1`,
);

const makeLate = statement(
  "webhooks-trial.make-late",
  `update webhooks.delivery set next_attempt_at = now() - $2 * interval '1 millisecond'
   where lender_id = $1 and state = 'retrying'`,
);

const endWaits = statement(
  "webhooks-trial.end-waits",
  `update webhooks.delivery set next_attempt_at = now() where lender_id = $1 and state = 'retrying'`,
);

const expireLeases = statement(
  "webhooks-trial.expire-leases",
  `update webhooks.delivery set leased_until = now() - interval '1 second' where lender_id = $1`,
);
