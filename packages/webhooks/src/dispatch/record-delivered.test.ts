import { newId, query, statement, transaction } from "@collections/database";
import { sessionsWaitingForLocks, until } from "@collections/testing";
import { expect, test } from "vitest";
import { countIn, eventsOn, openTrial, UNPACED } from "../../tests/trial.ts";
import type { AttemptResult } from "../endpoint/attempt.ts";
import { endpointOf } from "../endpoint/endpoint.ts";
import { parseLadder } from "./ladder.ts";
import { lease, release } from "./lease.ts";
import { createQuietLanes } from "./quiet-lanes.ts";
import type { DeliveredResults } from "./record-delivered.ts";
import { outcomeOf } from "./outcome.ts";
import { type Recorded, recordResults } from "./record-results.ts";

const trial = await openTrial();
const { database } = trial;

test("recordDelivered writes and logs delivered events of many lenders once, and reports loans with further events", async () => {
  const results = [
    await deliveredResults(["LN-1"]),
    await deliveredResults(["LN-1", "LN-2"]),
    await deliveredResults(["LN-1"], 2),
  ];
  const recorded = await record(results);
  expect(recorded).toEqual(
    results.map((one, index) => ({
      written: new Set(idsOf(one)),
      verdict: "stay",
      isSuspended: false,
      isFollowed: index === 2,
    })),
  );
  for (const one of results) expect(await countIn(database, one.lenderId, "delivered")).toBe(one.outcomes.length);
  expect(await attemptsOf(results)).toEqual([1, 1, 1, 1]);
  expect((await record(results)).map(({ written }) => written.size)).toEqual([0, 0, 0]);
  expect(await attemptsOf(results)).toEqual([1, 1, 1, 1]);
});

test("recordDelivered resets a count of failures, reports the recovery of a suspended endpoint, and refuses a result whose claim has ended", async () => {
  const [sound, failing, suspended] = [
    await deliveredResults(["LN-1"]),
    await deliveredResults(["LN-1", "LN-2"]),
    await deliveredResults(["LN-1"]),
  ];
  const lost = await deliveredResults(["LN-1"]);
  await query(database.em(), setEndpoint, [failing.lenderId, "active", 3]);
  await query(database.em(), setEndpoint, [suspended.lenderId, "suspended", 20]);
  await release(database.em(), lost.lenderId, [lost.outcomes[0]!.delivery]);
  const recorded = await record([sound, failing, suspended, lost]);
  expect(recorded).toMatchObject([
    { written: new Set(idsOf(sound)), verdict: "stay" },
    { written: new Set(idsOf(failing)), verdict: "stay" },
    { written: new Set(idsOf(suspended)), verdict: "recover" },
    { written: new Set(), verdict: "stay" },
  ]);
  expect(await endpointOf(database.em(), failing.lenderId)).toMatchObject({ consecutiveFailures: 0 });
  expect(await countIn(database, lost.lenderId, "waiting")).toBe(1);
});

test("a locked delivery does not delay the results of other lenders", { tags: "many-lenders" }, async () => {
  const [locked, free, another] = [
    await deliveredResults(["LN-1"]),
    await deliveredResults(["LN-1"]),
    await deliveredResults(["LN-1"]),
  ];
  const lanes = createQuietLanes(database.em(), { suspension: UNPACED, oneLenderABatch: false });
  let recordedLocked: Promise<Recorded> | undefined;
  await transaction(trial.otherDatabase.em(), async (tx) => {
    await query(tx, lockDelivery, [locked.lenderId]);
    recordedLocked = lanes.record(locked);
    const others = await Promise.all([lanes.record(free), lanes.record(another)]);
    expect(others.map(({ written }) => written.size)).toEqual([1, 1]);
    expect(await countIn(database, locked.lenderId, "delivered")).toBe(0);
  });
  expect((await recordedLocked!).written.size).toBe(1);
  expect(await countIn(database, locked.lenderId, "delivered")).toBe(1);
});

test("recordResults writes and logs results once while another transaction changes their deliveries", async () => {
  const changed = await deliveredResults(["LN-1", "LN-2"]);
  let recorded: Promise<Recorded> | undefined;
  await transaction(trial.otherDatabase.em(), async (tx) => {
    await query(tx, changeDelivery, [changed.lenderId, idsOf(changed)[0], newId()]);
    recorded = recordResults(database.em(), changed.lenderId, changed.outcomes, UNPACED);
    await until(async () => (await sessionsWaitingForLocks(database.pool, "%webhooks.delivery%")) > 0);
  });
  expect((await recorded!).written).toEqual(new Set(idsOf(changed)));
  expect(await countIn(database, changed.lenderId, "delivered")).toBe(2);
  expect(await attemptsOf([changed])).toEqual([1, 1]);
});

/** Records the results of several lanes in the same turn of the event loop. */
function record(results: readonly DeliveredResults[]): Promise<Recorded[]> {
  const lanes = createQuietLanes(database.em(), { suspension: UNPACED, oneLenderABatch: false });
  return Promise.all(results.map((one) => lanes.record(one)));
}

/**
 * Makes a new lender with `events` events for each of these loans. Returns the results of delivering their first
 * events.
 */
async function deliveredResults(loans: readonly string[], events = 1): Promise<DeliveredResults> {
  const lenderId = await trial.addLender("https://example.com/");
  await trial.publish(loans.flatMap((loan) => eventsOn(lenderId, loan, 1, events)));
  const request = { lenderId, count: 10, afterLoan: "", firstAttemptsOnly: false, timeoutMs: 600_000 };
  const { deliveries } = await lease(database.em(), request);
  const outcomes = deliveries.map((delivery) => outcomeOf(delivery, delivered(), parseLadder("0s"), Math.random));
  return { lenderId, outcomes };
}

function delivered(): AttemptResult {
  return {
    outcome: "delivered",
    startedAt: new Date(),
    durationMs: 12,
    request: { url: "https://example.com/", headers: {}, body: "{}" },
    answer: { status: 204, headers: { date: "today" }, body: "" },
    error: null,
    ownFault: false,
  };
}

function idsOf({ outcomes }: DeliveredResults): string[] {
  return outcomes.map(({ delivery }) => delivery.deliveryId);
}

async function attemptsOf(results: readonly DeliveredResults[]): Promise<number[]> {
  const rows = await query<{ attempts: number }>(database.em(), countAttempts, [results.flatMap(idsOf)]);
  return rows.map(({ attempts }) => attempts);
}

const setEndpoint = statement(
  "webhooks-trial.set-endpoint",
  `with clock as materialized (select now() as now)
   update webhooks.endpoint
   set state = $2, consecutive_failures = $3, failing_since = clock.now,
     suspended_at = case when $2 = 'suspended' then clock.now end,
     next_probe_at = case when $2 = 'suspended' then clock.now end
   from clock
   where lender_id = $1`,
);

const changeDelivery = statement(
  "webhooks-trial.change-delivery",
  "update webhooks.delivery set replayed_by = $3 where lender_id = $1 and id = $2",
);

const lockDelivery = statement(
  "webhooks-trial.lock-delivery",
  "select id from webhooks.delivery where lender_id = $1 for update",
);

const countAttempts = statement(
  "webhooks-trial.count-attempts",
  `select count(a.id)::integer as attempts
   from unnest($1::uuid[]) as d (id) left join webhooks.attempt a on a.delivery_id = d.id and a.outcome = 'delivered'
     and a.status = 204 and a.number = 1
   group by d.id`,
);
