import { createOutbound } from "@collections/outbound";
import { query, statement } from "@collections/database";
import { until } from "@collections/testing";
import { afterAll, expect, test } from "vitest";
import { openReceiver } from "../../tests/receiver.ts";
import { countIn, eventsOn, KEY_ID, NO_LOG, openTrial, SECRET, UNPACED } from "../../tests/trial.ts";
import type { AttemptFacts } from "./attempt-facts.ts";
import { parseLadder } from "./ladder.ts";
import { Lane, type LaneOptions } from "./lane.ts";
import { createQuietLanes } from "./quiet-lanes.ts";
import { createSlots } from "./slots.ts";

const trial = await openTrial();
const { database } = trial;
const outbound = createOutbound({ allow: "127.0.0.1:*" });
afterAll(() => outbound.close());

/** Creates a lender's lane, and collects the facts of its attempts. The lane does nothing until the test wakes it. */
function openLane(lenderId: string, options: Partial<LaneOptions> = {}) {
  const em = database.em();
  const facts: AttemptFacts[] = [];
  const lane = new Lane({
    lenderId,
    em,
    quietLanes: createQuietLanes(em, { suspension: UNPACED, oneLenderABatch: false }),
    sender: {
      outbound,
      signingKeyOf: () => ({ keyId: KEY_ID, secret: SECRET }),
      timeoutMs: 300_000,
      now: () => new Date(),
    },
    slots: createSlots(8),
    ladder: parseLadder("0s,1h"),
    suspension: UNPACED,
    random: Math.random,
    maxInFlight: 8,
    log: NO_LOG,
    onAttempt: (fact) => facts.push(fact),
    abort: new AbortController().signal,
    ...options,
  });
  return { lane, facts };
}

async function publishLoans(lenderId: string, loans: number): Promise<void> {
  await trial.publish(Array.from({ length: loans }, (_, index) => eventsOn(lenderId, `LN-${index}`, 1, 1)).flat());
}

test("a lane delivers due events when it is woken, and nothing before", async () => {
  await using receiver = await openReceiver();
  const lenderId = await trial.addLender(receiver.url);
  await publishLoans(lenderId, 3);
  const { lane, facts } = openLane(lenderId);
  expect([lane.inFlight, receiver.received.length]).toEqual([0, 0]);
  lane.wake();
  await until(() => facts.length === 3);
  await lane.stop();
  expect(await countIn(database, lenderId, "delivered")).toBe(3);
});

test("a lane begins with four attempts at a time", async () => {
  await using receiver = await openReceiver(() => {});
  const lenderId = await trial.addLender(receiver.url);
  await publishLoans(lenderId, 10);
  const abort = new AbortController();
  const { lane } = openLane(lenderId, { abort: abort.signal });
  lane.wake();
  await receiver.arrived(4);
  expect(lane.inFlight).toBe(4);
  abort.abort();
  await lane.stop();
});

test("a lane starts no attempt while unwritten failures may suspend the endpoint", async () => {
  await using receiver = await openReceiver((response) => void response.writeHead(404).end());
  const lenderId = await trial.addLender(receiver.url);
  await publishLoans(lenderId, 20);
  const { lane, facts } = openLane(lenderId, {
    suspension: { suspendAfter: 3, probeIntervalMs: 60_000, minDurationMs: 0 },
  });
  lane.wake();
  await until(async () => (await leasedBy(lenderId)) === 0 && facts.length >= 3);
  await lane.stop();
  // At most nine attempts are made: two whose failures are written without a suspension, three whose unwritten failures
  // stop further attempts, and four that may be under way at that moment.
  expect(receiver.received.length).toBeLessThanOrEqual(2 + 3 + 4);
  expect(await countIn(database, lenderId, "waiting")).toBe(20 - receiver.received.length);
});

test("a lane that stops gives back leased deliveries that it has not begun, and leases nothing afterwards", async () => {
  await using receiver = await openReceiver(() => {});
  const lenderId = await trial.addLender(receiver.url);
  await publishLoans(lenderId, 10);
  const abort = new AbortController();
  const { lane } = openLane(lenderId, { maxInFlight: 2, abort: abort.signal });
  lane.wake();
  await receiver.arrived(2);
  const stopped = lane.stop();
  await until(async () => (await leasedBy(lenderId)) === 2);
  abort.abort();
  await stopped;
  lane.wake();
  expect(await leasedBy(lenderId)).toBe(0);
  expect(receiver.received).toHaveLength(2);
});

async function leasedBy(lenderId: string): Promise<number> {
  return (await query(database.em(), selectLeased, [lenderId])).length;
}

const selectLeased = statement(
  "lane-test.leased",
  `select from webhooks.delivery where lender_id = $1 and leased_until >= now()`,
);
