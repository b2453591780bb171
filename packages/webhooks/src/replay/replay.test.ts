import { setTimeout as wait } from "node:timers/promises";
import { sessionsWaitingForLocks, until } from "@collections/testing";
import { describe, expect, test } from "vitest";
import { newId, query, statement, transaction } from "@collections/database";
import { advanceReplays } from "./advance-replays.ts";
import { deliveryById } from "../insight/delivery-log.ts";
import { cancelReplay, listReplays, type Replay, replayById, type ReplayFilter } from "./replay.ts";
import { replayDelivery } from "./replay-delivery.ts";
import { previewReplay, type ReplayRequest, startReplay } from "./start-replay.ts";
import { endRunningSession, rowOf, settleAs } from "../../tests/delivery-rows.ts";
import { openReceiver } from "../../tests/receiver.ts";
import { countIn, eventsOn, openTrial, type NumberedEvent } from "../../tests/trial.ts";

const trial = await openTrial();
const { database, otherDatabase } = trial;

describe("a replay of many events", () => {
  test("sends the events that match its filter, as many as its preview has counted", async () => {
    const [lenderId, otherId] = [await trial.addLender(null), await trial.addLender(null)];
    const first = await publish(lenderId, "LN-1", 1, 4);
    const second = await publish(lenderId, "LN-2", 1, 3);
    await trial.publish([{ ...eventsOn(lenderId, "LN-2", 4, 4)[0]!, kind: "case.closed" }]);
    const others = await publish(otherId, "LN-1", 1, 4);
    await settle(lenderId, first, "parked");
    await settle(lenderId, second, "delivered");
    await settle(otherId, others, "parked");
    const [early, late] = [new Date(Date.now() - 60_000), new Date(Date.now() + 60_000)];
    const cases: [ReplayFilter, number][] = [
      [{}, 4],
      [{ states: ["parked"] }, 4],
      [{ states: ["delivered"] }, 3],
      [{ states: ["delivered", "parked"] }, 7],
      [{ stream: "LN-1" }, 4],
      [{ stream: "LN-2" }, 0],
      [{ stream: "LN-2", states: ["delivered", "parked"] }, 3],
      [{ stream: "LN-3" }, 0],
      [{ kind: "payment.collected" }, 4],
      [{ kind: "case.closed", states: ["delivered", "parked"] }, 0],
      [{ createdFrom: early, createdTo: late }, 4],
      [{ createdFrom: late }, 0],
      [{ createdTo: early }, 0],
      [{ createdFrom: new Date(0), createdTo: new Date("2199-01-01"), stream: "LN-1", kind: "payment.collected" }, 4],
    ];
    for (const [filter, count] of cases) {
      expect(await previewReplay(database.em(), lenderId, filter), JSON.stringify(filter)).toBe(count);
      const replay = await start(lenderId, filter);
      expect(replay).toMatchObject({ state: "running", total: count, done: 0, finishedAt: null });
      expect(await advanceReplays(() => database.em()), JSON.stringify(filter)).toBe(count);
      expect(await countIn(database, lenderId, "waiting")).toBe(1 + count);
      expect(await ended(replay)).toMatchObject({ state: "done", done: count, finishedAt: expect.any(Date) as Date });
      await settle(lenderId, first, "parked");
      await settle(lenderId, second, "delivered");
    }
    expect(await countIn(database, otherId, "parked")).toBe(4);
  });

  test("includes events created at createdFrom or later, and before createdTo", async () => {
    const lenderId = await trial.addLender(null);
    const events: NumberedEvent[] = [];
    for (let number = 1; number <= 3; number += 1) {
      events.push(...(await publish(lenderId, "LN-1", number, number)));
      await wait(5);
    }
    await settle(lenderId, events, "parked");
    await query(database.em(), roundTimes, [lenderId]);
    const made = await Promise.all(
      events.map(async ({ eventId }) => {
        const delivery = await deliveryById(database.em(), lenderId, eventId, new Date());
        return delivery!.createdAt;
      }),
    );
    await start(lenderId, { createdFrom: made[1], createdTo: made[2] });
    expect(await advanceReplays(() => database.em())).toBe(1);
    expect(await Promise.all(events.map((event) => stateOf(lenderId, event)))).toEqual(["parked", "waiting", "parked"]);
  });

  test("keeps its rate over all processes, and sends each event once", async () => {
    const lenderId = await trial.addLender(null);
    const events = await publish(lenderId, "LN-1", 1, 2_000);
    await settle(lenderId, events, "parked");
    const replay = await start(lenderId, {}, { ratePerSecond: 900 });
    const everybody = () =>
      Promise.all([database, otherDatabase, database].map((one) => advanceReplays(() => one.em())));
    expect(sum(await everybody())).toBe(900);
    expect(sum(await everybody())).toBe(0);
    expect(await ended(replay)).toMatchObject({ state: "running", done: 900, total: 2_000 });
    expect(await stateOf(lenderId, events[899]!)).toBe("waiting");
    expect(await stateOf(lenderId, events[900]!)).toBe("parked");
    await aSecondLater(replay);
    expect(sum(await everybody())).toBe(900);
    // The replay lets further deliveries become due only after earlier ones were sent. None of the 1,800 has been sent.
    await aSecondLater(replay);
    expect(sum(await everybody())).toBe(0);
    await settle(lenderId, events.slice(0, 1_800), "delivered");
    expect(sum(await everybody())).toBe(200);
    expect(await ended(replay)).toMatchObject({ state: "done", done: 2_000 });
    expect(await countIn(database, lenderId, "waiting")).toBe(200);
  });

  test("waits while another replay's deliveries fill the lender's limit of waiting deliveries", async () => {
    const lenderId = await trial.addLender(null);
    const events = await publish(lenderId, "LN-1", 1, 1_000);
    const others = await publish(lenderId, "LN-2", 1, 1_000);
    await settle(lenderId, [...events, ...others], "parked");
    const first = await start(lenderId, { stream: "LN-1" }, { ratePerSecond: 1_000 });
    const second = await start(lenderId, { stream: "LN-2" }, { ratePerSecond: 1_000 });
    expect(await advanceReplays(() => database.em())).toBe(1_000);
    expect(await ended(first)).toMatchObject({ done: 1_000 });
    expect(await ended(second)).toMatchObject({ state: "running", done: 0 });
    await settle(lenderId, events, "delivered");
    expect(await advanceReplays(() => database.em())).toBe(1_000);
    expect(await ended(second)).toMatchObject({ state: "done", done: 1_000 });
  });

  test("repeats a step in another process if the process that took the step dies", async () => {
    const lenderId = await trial.addLender(null);
    const events = await publish(lenderId, "LN-1", 1, 10);
    await settle(lenderId, events, "parked");
    const replay = await start(lenderId, {}, { ratePerSecond: 5 });
    const before = await ended(replay);
    const blocker = await database.pool.connect();
    await blocker.query("begin");
    await blocker.query("select from webhooks.delivery where lender_id = $1 and id = $2 for update", [
      lenderId,
      events[3]!.eventId,
    ]);
    const dying = advanceReplays(() => otherDatabase.em()).catch((error: unknown) => error);
    await until(async () => (await sessionsWaitingForLocks(database.pool)) === 1);
    expect(await advanceReplays(() => database.em()), "no other process takes a step that is under way").toBe(0);
    await endRunningSession(database);
    expect(await dying).toBeInstanceOf(Error);
    await blocker.query("rollback");
    blocker.release();
    expect(await ended(replay)).toEqual(before);
    expect(await countIn(database, lenderId, "parked")).toBe(10);
    expect(await advanceReplays(() => otherDatabase.em())).toBe(5);
    await aSecondLater(replay);
    expect(await advanceReplays(() => otherDatabase.em())).toBe(5);
    expect(await ended(replay)).toMatchObject({ state: "done", done: 10, total: 10 });
  });

  test("skips events that have changed since its start, and events that were published later", async () => {
    const lenderId = await trial.addLender(null);
    const events = await publish(lenderId, "LN-1", 1, 6);
    await settle(lenderId, events.slice(0, 5), "delivered");
    const replay = await start(lenderId, { states: ["delivered"] }, { ratePerSecond: 2 });
    expect(await advanceReplays(() => database.em())).toBe(2);
    // The third event is replayed alone and delivered. The sixth was waiting and is now delivered. One more event is
    // published.
    await replayOne(lenderId, events[2]!.eventId);
    const later = await publish(lenderId, "LN-2", 1, 1);
    await settle(lenderId, [events[2]!, events[5]!, ...later], "delivered");
    await aSecondLater(replay);
    expect(await advanceReplays(() => database.em())).toBe(2);
    expect(await ended(replay)).toMatchObject({ state: "done", done: 4, total: 5 });
    expect(await Promise.all([events[2]!, events[5]!, ...later].map((event) => stateOf(lenderId, event)))).toEqual([
      "delivered",
      "delivered",
      "delivered",
    ]);
  });

  test("finds one event among many in several bounded steps, without a pause between them", async () => {
    const lenderId = await trial.addLender(null);
    await query(database.em(), insertMany, [lenderId, 45_000]);
    const [event] = await publish(lenderId, "LN-1", 1, 1);
    await settle(lenderId, [event!], "delivered");
    const replay = await start(lenderId, { states: ["delivered"], kind: "payment.collected" });
    expect(replay.total).toBe(1);
    expect(await advanceReplays(() => database.em())).toBe(1);
    expect(await ended(replay)).toMatchObject({ state: "done", done: 1 });
  });

  test("is shared by all requests for the same events while it runs", async () => {
    const lenderId = await trial.addLender(null);
    await settle(lenderId, await publish(lenderId, "LN-1", 1, 3), "parked");
    const filter = { loan: "LN-1", createdFrom: new Date(0) };
    const asked = await Promise.all(
      [database, otherDatabase, database, otherDatabase].map((one) =>
        transaction(one.em(), (tx) => startReplay(tx, lenderId, filter, { requestedBy: "lk_1" })),
      ),
    );
    expect(new Set(asked.map(({ id }) => id)).size).toBe(1);
    const other = await start(lenderId, { stream: "LN-1" });
    expect(other.id).not.toBe(asked[0]!.id);
    await advanceReplays(() => database.em());
    expect((await start(lenderId, filter)).id).not.toBe(asked[0]!.id);
    expect(await listReplays(database.em(), lenderId)).toHaveLength(3);
  });

  test("is not started again by a repeat of its request, even after its end", async () => {
    const lenderId = await trial.addLender(null);
    await settle(lenderId, await publish(lenderId, "LN-1", 1, 1), "delivered");
    const id = newId();
    const request = { id, requestedBy: "lk_1" };
    const first = await start(lenderId, { states: ["delivered"] }, request);
    expect(await advanceReplays(() => database.em())).toBe(1);
    expect(await start(lenderId, { states: ["delivered"] }, request)).toMatchObject({ id: first.id, state: "done" });
    expect(await advanceReplays(() => database.em())).toBe(0);
  });

  test("is not started again by a repeat of a request that joined it, even after its end", async () => {
    const lenderId = await trial.addLender(null);
    await settle(lenderId, await publish(lenderId, "LN-1", 1, 1), "delivered");
    const running = await start(lenderId, { states: ["delivered"] }, { id: newId(), requestedBy: "lk_1" });
    const joined = { id: newId(), requestedBy: "lk_1" };
    expect(await start(lenderId, { states: ["delivered"] }, joined)).toMatchObject({ id: running.id });
    expect(await advanceReplays(() => database.em())).toBe(1);
    expect(await start(lenderId, { states: ["delivered"] }, joined)).toMatchObject({ id: running.id, state: "done" });
    expect(await start(lenderId, { states: ["delivered"] }, joined)).toMatchObject({ joinedBy: [joined.id] });
    expect(await listReplays(database.em(), lenderId)).toHaveLength(1);
  });

  test("can be cancelled by its lender only", async () => {
    const [lenderId, otherId] = [await trial.addLender(null), await trial.addLender(null)];
    await settle(lenderId, await publish(lenderId, "LN-1", 1, 3), "parked");
    const replay = await start(lenderId, {}, { ratePerSecond: 1 });
    await advanceReplays(() => database.em());
    const cancel = (of: string) => transaction(database.em(), (tx) => cancelReplay(tx, of, replay.id));
    expect(await cancel(otherId)).toBeUndefined();
    expect(await replayById(database.em(), otherId, replay.id)).toBeUndefined();
    expect(await cancel(lenderId)).toMatchObject({ state: "cancelled", done: 1, finishedAt: expect.any(Date) as Date });
    await aSecondLater(replay);
    expect(await advanceReplays(() => database.em())).toBe(0);
    expect(await countIn(database, lenderId, "parked")).toBe(2);
    expect(await cancel(lenderId)).toMatchObject({ state: "cancelled", done: 1 });
  });

  test("is sent in each loan's sequence, one event of a loan at a time", async () => {
    await using receiver = await openReceiver();
    const lenderId = await trial.addLender(receiver.url);
    const events = [...(await publish(lenderId, "LN-1", 1, 20)), ...(await publish(lenderId, "LN-2", 1, 20))];
    await settle(lenderId, events, "parked");
    await start(lenderId, {});
    await using _dispatcher = trial.dispatch();
    await advanceReplays(() => database.em());
    await receiver.arrived(40);
    for (const loan of ["LN-1", "LN-2"]) {
      const arrived = receiver.received.filter((request) => request.loan === loan).map(({ sequence }) => sequence);
      expect(arrived).toEqual(Array.from({ length: 20 }, (_, index) => index + 1));
    }
    expect(receiver.atOnce.perLoan).toBe(1);
    await until(async () => (await countIn(database, lenderId, "delivered")) === 40);
  });
});

async function publish(lenderId: string, loan: string, from: number, to: number): Promise<NumberedEvent[]> {
  const events = eventsOn(lenderId, loan, from, to);
  await trial.publish(events);
  return events;
}

function replayOne(lenderId: string, eventId: string) {
  return transaction(database.em(), (tx) => replayDelivery(tx, lenderId, eventId));
}

function start(lenderId: string, filter: ReplayFilter, request: Partial<ReplayRequest> = {}): Promise<Replay> {
  return transaction(database.em(), (tx) => startReplay(tx, lenderId, filter, { requestedBy: "lk_1", ...request }));
}

async function ended({ tenantId: lenderId, id }: Replay): Promise<Replay | undefined> {
  return replayById(database.em(), lenderId, id);
}

/** Ends the pause between two steps, as if a second had passed. */
async function aSecondLater({ tenantId: lenderId, id }: Replay): Promise<void> {
  await query(database.em(), endPause, [lenderId, id]);
}

function settle(lenderId: string, events: readonly NumberedEvent[], state: string): Promise<void> {
  return settleAs(database, lenderId, events, state);
}

async function stateOf(lenderId: string, event: NumberedEvent): Promise<string | undefined> {
  return (await rowOf(database, lenderId, event))?.state;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

const insertMany = statement(
  "webhooks-trial.insert-many",
  `insert into webhooks.delivery (lender_id, id, endpoint_id, loan, sequence, kind, state, settled_at)
   select $1, overlay(gen_random_uuid()::text placing left(webhooks.first_id(now())::text, 13) from 1 for 13)::uuid,
     (select id from webhooks.endpoint where lender_id = $1), 'LN-M', number, 'case.updated', 'delivered', now()
   from generate_series(1, $2::integer) number`,
);

const endPause = statement(
  "webhooks-trial.end-pause",
  `update webhooks.replay set next_step_at = now() where lender_id = $1 and id = $2`,
);

const roundTimes = statement(
  "webhooks-trial.round-times",
  `with whole as materialized (
     select id, date_trunc('milliseconds', created_at) as created_at from webhooks.delivery where lender_id = $1
   )
   update webhooks.delivery d set created_at = whole.created_at
   from whole where d.lender_id = $1 and d.id = whole.id`,
);
