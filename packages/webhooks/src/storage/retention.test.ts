import { newId, readSnapshot, transaction, type Tx } from "@collections/database";
import { describe, expect, test } from "vitest";
import { eventAt, type LongRun, openLongRun } from "../../tests/weeks.ts";
import { emit } from "../emit.ts";
import { upsertEndpoint } from "../endpoint/register-endpoint.ts";
import { deliveryById } from "../insight/delivery-log.ts";
import { eventsOf } from "./event.ts";
import { lease } from "../dispatch/lease.ts";
import { startReplay } from "../replay/start-replay.ts";
import { maintainPartitions, partitionStates } from "./partitions.ts";
import { deliveryTotals, holdEvents, lastSequences, sequenceProblems } from "../insight/verification.ts";

const LONG_AGO = { daysAgo: 60, state: "delivered", settledDaysAgo: 60 } as const;
const LATELY = { daysAgo: 2, state: "delivered", settledDaysAgo: 2 } as const;

describe("retention", () => {
  test("deletes events, deliveries and attempts older than 35 days, and nothing younger", async () => {
    const run = await openLongRun();
    await run.publish("LN-1", 1, LONG_AGO);
    const kept = [
      await run.publish("LN-1", 2, { daysAgo: 34, state: "delivered", settledDaysAgo: 34 }),
      await run.publish("LN-1", 3, LATELY),
    ];
    expect(await maintainPartitions(run.database.em())).toMatchObject({ forgotten: 1, dropped: 8 });

    expect(await idsIn(run, "event")).toEqual(kept);
    expect(await idsIn(run, "delivery")).toEqual(kept);
    expect(await run.sql("select delivery_id as id from webhooks.attempt order by id")).toHaveLength(2);
    const [now] = await partitionStates(run.database.em());
    expect(await run.sql("select name from webhooks.partitions_of('event') where lower is null")).toMatchObject([
      { name: expect.stringMatching(/^event_before_\d{8}$/) },
    ]);
    expect(now!.keptFrom!.getTime()).toBeLessThan(Date.now() - 35 * 86_400_000);
    expect(now!.isDropPending).toBe(false);
    expect(await maintainPartitions(run.database.em())).toEqual({ made: 0, forgotten: 0, dropped: 0, isHeldUp: false });
  });

  test("keeps an event of any age until 30 days after its delivery was settled", async () => {
    const run = await openLongRun();
    const waiting = await run.publish("LN-1", 1, { daysAgo: 65, state: "waiting" });
    const retrying = await run.publish("LN-2", 1, { daysAgo: 65, state: "retrying" });
    const parked = await run.publish("LN-3", 1, { daysAgo: 65, state: "parked", settledDaysAgo: 29 });
    await run.publish("LN-4", 1, { daysAgo: 65, state: "parked", settledDaysAgo: 31 });
    await run.publish("LN-5", 1, { daysAgo: 50, state: "delivered", settledDaysAgo: 50 });
    // A second call of maintainPartitions follows below, with a limit one week later. It deletes the events that this
    // call keeps.
    await maintainPartitions(run.database.em(), { keepDays: 42 });

    expect(await idsIn(run, "event")).toEqual([waiting, retrying, parked].toSorted());
    const detail = await deliveryById(run.database.em(), run.lenderId, parked, new Date());
    expect(detail).toMatchObject({ state: "parked", body: expect.stringContaining("LN-3"), log: [{ number: 1 }] });
    const { deliveries } = await lease(run.database.em(), {
      lenderId: run.lenderId,
      count: 5,
      afterLoan: "",
      timeoutMs: 600_000,
      firstAttemptsOnly: false,
    });
    expect(deliveries).toMatchObject([{ deliveryId: waiting, body: expect.stringContaining("LN-1") }]);

    await run.sql("update webhooks.delivery set state = 'delivered', settled_at = now() - interval '31 days'");
    expect(await maintainPartitions(run.database.em())).toMatchObject({ forgotten: 3 });
    expect(await idsIn(run, "event")).toEqual([]);
    expect(await idsIn(run, "delivery")).toEqual([]);
  });

  test("deletes events that have no delivery because their tenant had no endpoint", async () => {
    const run = await openLongRun();
    const tenantId = newId();
    const emitAged = async (daysAgo: number, sequence: number): Promise<string> => {
      const event = eventAt(tenantId, "INV-1", sequence, new Date(Date.now() - daysAgo * 86_400_000));
      await transaction(run.database.em(), (tx) => emit(tx, [event]));
      return event.eventId;
    };
    await emitAged(60, 1);
    const kept = await emitAged(2, 2);
    await run.sql("select webhooks.advance_retention('event', 35)");
    expect(await deliveryTotals(run.database.em(), tenantId)).toMatchObject({ published: 0, withoutEndpoint: 1 });
    await transaction(run.database.em(), (tx) => upsertEndpoint(tx, { tenantId, url: null }));
    const replay = (tx: Tx) => startReplay(tx, tenantId, {}, { requestedBy: "operator" });
    expect(await transaction(run.database.em(), replay)).toMatchObject({ total: 1 });

    expect(await maintainPartitions(run.database.em())).toMatchObject({ dropped: 8 });
    expect(await idsIn(run, "event")).toEqual([kept]);
    expect(await idsIn(run, "event_without_endpoint")).toEqual([]);
    expect(await idsIn(run, "delivery")).toEqual([kept]);
    expect(await lastSequences(run.database.em(), tenantId, ["INV-1"])).toEqual(new Map([["INV-1", 2n]]));
  });

  test("rejects keepDays below 32, because the retries and 30 days as a parked event take that long", async () => {
    const run = await openLongRun();
    await expect(maintainPartitions(run.database.em(), { keepDays: 31 })).rejects.toThrow(/32 days at least/);
  });

  test("continues after an interruption", async () => {
    const run = await openLongRun();
    await run.publish("LN-1", 1, LONG_AGO);
    await run.publish("LN-1", 2, LATELY);
    await run.sql("select webhooks.advance_retention('event', 35)");
    expect(await partitionStates(run.database.em())).toMatchObject([{ isDropPending: true }, { isDropPending: false }]);
    await expectTrueBooks(run, { published: 2 });
    await run.sql("delete from webhooks.delivery where sequence = 1");
    await expectTrueBooks(run, { published: 1 });
    expect(await maintainPartitions(run.database.em())).toMatchObject({ dropped: 8 });
    await expectTrueBooks(run, { published: 1 });
  });
});

describe("the totals and sequences after retention", () => {
  test("are read in a transaction during which no partition is dropped", async () => {
    const run = await openLongRun();
    const id = await run.publish("LN-1", 1, { daysAgo: 60, state: "waiting" });
    await readSnapshot(run.database.em(), async (tx) => {
      await holdEvents(tx);
      expect(await maintainPartitions(run.database.em())).toMatchObject({ isHeldUp: true });
      expect(await deliveryTotals(tx)).toMatchObject({ published: 1, waiting: 1 });
    });
    expect(await maintainPartitions(run.database.em())).toMatchObject({ isHeldUp: false });
    expect(await idsIn(run, "event")).toEqual([id]);
  });

  test("include the last number of each loan, even of a loan without remaining events", async () => {
    const run = await aRunWithRetention();
    await expectTrueBooks(run, { published: 4 });
    expect(await lastSequences(run.database.em(), run.lenderId, ["gone", "half", "new", "unknown"])).toEqual(
      new Map([
        ["gone", 2n],
        ["half", 3n],
        ["new", 1n],
      ]),
    );
    expect(await eventsOf(run.database.em(), run.lenderId, "half")).toHaveLength(2);
  });

  test.each([
    ["the first remaining event is missing", "delete from webhooks.event where sequence = 2", ["half gap 1 3"]],
    ["all remaining events are missing", "delete from webhooks.event where sequence in (2, 3)", []],
  ])("show that %s", async (_what, change, problems) => {
    const run = await aRunWithRetention();
    await run.sql(change);
    expect(await problemsOf(run)).toEqual(problems);
    const { published, delivered, waiting } = await deliveryTotals(run.database.em(), run.lenderId);
    expect(published).toBeLessThan(delivered + waiting);
  });

  test("show a gap after deleted events, a repeated number, and an old waiting delivery without its event", async () => {
    const run = await aRunWithRetention();
    await run.publish("half", 5, LATELY);
    await run.publish("gone", 2, LATELY);
    await run.publish("new", 1, LATELY);
    expect(await problemsOf(run)).toEqual(["gone duplicate 2 2", "half gap 3 5", "new duplicate 1 1"]);
    await run.sql("delete from webhooks.event where source_loan_number = 'stuck'");
    const { published, delivered, waiting } = await deliveryTotals(run.database.em());
    expect(delivered + waiting - published).toBe(1);
  });
});

/**
 * Opens a database after retention. All events of loan "gone" are deleted, and the first event of loan "half". The
 * event of loan "stuck" is old and still waits. The event of loan "new" is new.
 */
async function aRunWithRetention(): Promise<LongRun> {
  const run = await openLongRun();
  await run.publish("gone", 1, LONG_AGO);
  await run.publish("gone", 2, LONG_AGO);
  await run.publish("half", 1, LONG_AGO);
  await run.publish("half", 2, LATELY);
  await run.publish("half", 3, LATELY);
  await run.publish("stuck", 1, { daysAgo: 60, state: "waiting" });
  await run.publish("new", 1, LATELY);
  await maintainPartitions(run.database.em());
  return run;
}

async function expectTrueBooks(run: LongRun, expected: { published: number }): Promise<void> {
  expect(await problemsOf(run)).toEqual([]);
  for (const lenderId of [run.lenderId, undefined]) {
    const { published, delivered, waiting, retrying, parked } = await deliveryTotals(run.database.em(), lenderId);
    expect({ published, tracked: delivered + waiting + retrying + parked }).toEqual({
      ...expected,
      tracked: expected.published,
    });
  }
}

async function problemsOf(run: LongRun): Promise<string[]> {
  const problems = await sequenceProblems(run.database.em(), run.lenderId);
  expect(await sequenceProblems(run.database.em())).toEqual(problems);
  return problems.map(({ stream: loan, fault, after, found }) => `${loan} ${fault} ${after} ${found}`);
}

async function idsIn({ sql }: LongRun, table: "event" | "delivery" | "event_without_endpoint"): Promise<string[]> {
  return (await sql<{ id: string }>(`select id from webhooks.${table} order by id`)).map(({ id }) => id);
}
