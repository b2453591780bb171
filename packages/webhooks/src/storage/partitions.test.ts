import { createDatabase, migrate, newId, query, statement, transaction } from "@collections/database";
import { afterFile, directUrl, emptyDatabase } from "@collections/testing";
import { describe, expect, test } from "vitest";
import { eventAt, type LongRun, openFresh, openLongRun } from "../../tests/weeks.ts";
import { selectAttempts } from "../insight/delivery-log.ts";
import { emit } from "../emit.ts";
import { registerEndpoint } from "../endpoint/register-endpoint.ts";
import { laterBy } from "./id-time.ts";
import { lease, leaseHeads, leaseHeadsOfMany } from "../dispatch/lease.ts";
import { maintainPartitions, partitionStates } from "./partitions.ts";
import { webhooksSchema } from "../schema.ts";
import { deliveryTotals, sequenceProblems } from "../insight/verification.ts";

const DAY_MS = 86_400_000;
const WEEK_MS = 7 * DAY_MS;

describe("partitions", () => {
  test("are created four weeks ahead, without a gap, and only once if several processes create them", async () => {
    const { database, url, sql } = await openFresh();
    const other = await createDatabase({ url, schemas: [webhooksSchema] });
    afterFile(() => other.close());
    const kept = await Promise.all([database, other, database, other].map((one) => maintainPartitions(one.em())));
    expect(kept.map(({ isHeldUp }) => isHeldUp)).toEqual([false, false, false, false]);
    for (const { relation, madeTo, partitions, unplaced } of await partitionStates(database.em())) {
      expect(madeTo.getTime()).toBeGreaterThan(Date.now() + 4 * WEEK_MS);
      expect(madeTo.getTime()).toBeLessThanOrEqual(Date.now() + 5 * WEEK_MS);
      expect({ partitions, unplaced }).toEqual({ partitions: 4, unplaced: 0 });
      const bounds = await sql<{ lower: string; upper: string }>(
        "select lower, upper from webhooks.partitions_of($1) order by upper",
        [relation],
      );
      expect(bounds.map(({ lower }) => lower)).toEqual([null, ...bounds.slice(0, -1).map(({ upper }) => upper)]);
    }
    expect(await maintainPartitions(other.em())).toMatchObject({ made: 0 });
  });

  test("contain the rows that were written before the partitions were created", async () => {
    const { database, sql } = await openFresh();
    const lenderId = newId();
    await transaction(database.em(), (tx) => registerEndpoint(tx, { tenantId: lenderId, url: null }));
    const soon = eventAt(lenderId, "LN-1", 1, new Date(Date.now() + 3 * WEEK_MS));
    const late = eventAt(lenderId, "LN-1", 2, new Date(Date.now() + 9 * WEEK_MS));
    await transaction(database.em(), async (tx) => emit(tx, [soon, late], { trusted: true }));
    expect(await partitionStates(database.em())).toMatchObject([{ relation: "event", unplaced: 2 }, { unplaced: 0 }]);

    await maintainPartitions(database.em());
    expect(await partitionStates(database.em())).toMatchObject([{ relation: "event", unplaced: 1 }, { unplaced: 0 }]);
    const places = await sql("select id, tableoid::regclass::text as place, body from webhooks.event order by id");
    expect(places).toEqual([
      { id: soon.eventId, place: expect.stringMatching(/^webhooks\.event_\d{8}(_\d+)?$/), body: soon.body },
      { id: late.eventId, place: expect.stringMatching(/^webhooks\.event_default(_\d+)?$/), body: late.body },
    ]);
  });

  test("are dropped by the next call of maintainPartitions if a long read uses the table, and other queries are not blocked", async () => {
    const run = await openLongRun();
    await run.publish("LN-1", 1, { daysAgo: 60, state: "delivered", settledDaysAgo: 60 });
    const reader = await run.database.pool.connect();
    await reader.query("begin; select from webhooks.event");
    const held = maintainPartitions(run.database.em());
    await run.publish("LN-1", 2, { daysAgo: 0, state: "waiting" });
    expect(await held).toMatchObject({ isHeldUp: true });
    await reader.query("commit");
    reader.release();
    expect(await partitionStates(run.database.em())).toMatchObject([{ isDropPending: true }, {}]);
    expect(await maintainPartitions(run.database.em())).toMatchObject({ dropped: 8, isHeldUp: false });
    expect(await deliveryTotals(run.database.em())).toMatchObject({ published: 1, waiting: 1 });
  });

  test("are created and dropped while events are emitted and leased, without a lost event or an error", async () => {
    const run = await openLongRun();
    const em = () => run.database.em();
    for (let week = 1; week <= 9; week++) {
      await run.publish(`old-${week}`, 1, {
        daysAgo: week * 7,
        state: week % 2 ? "waiting" : "delivered",
        settledDaysAgo: 40,
      });
    }
    let isOver = false;
    let made = 0;
    const leased = new Set<string>();
    const busy = Array.from({ length: 4 }, async (_, writer) => {
      for (let sequence = 1; !isOver || sequence <= 50; sequence++) {
        const event = eventAt(run.lenderId, `LN-${writer}`, sequence, new Date());
        await transaction(em(), async (tx) => emit(tx, [event], { trusted: true }));
        made += 1;
        const heads = await lease(em(), {
          lenderId: run.lenderId,
          count: 8,
          afterLoan: "",
          firstAttemptsOnly: false,
          timeoutMs: 600_000,
        });
        for (const { deliveryId, body } of heads.deliveries) {
          expect(JSON.parse(body)).toMatchObject({ eventId: deliveryId });
          leased.add(deliveryId);
        }
      }
    });
    // Each call deletes one more week, and creates the partitions of one more week.
    for (const keepDays of [56, 49, 42, 35]) {
      while ((await maintainPartitions(em(), { keepDays })).isHeldUp);
      await run.sql("select webhooks.make_partitions('event', $1)", [13 - Math.floor(keepDays / 7)]);
    }
    isOver = true;
    await Promise.all(busy);

    expect(await sequenceProblems(em())).toEqual([]);
    const { published, waiting, delivered } = await deliveryTotals(em());
    expect(published).toBe(waiting + delivered);
    const old = await run.sql<{ loan: string }>(
      "select source_loan_number as loan from webhooks.event where kind = 'case.updated' and source_loan_number like 'old%' order by id desc",
    );
    expect(old.map(({ loan }) => loan)).toEqual(["old-1", "old-2", "old-3", "old-4", "old-5", "old-7", "old-9"]);
    expect(published).toBe(made + old.length);
    expect(leased.size).toBe(5 + 4);
  });
});

describe("with a generic plan, a query reads only the partition that it needs", { tags: "one-node-plan" }, () => {
  test.each(["before statistics", "after statistics"])("%s are collected", async (when) => {
    const run = await openLongRun();
    for (let week = 1; week <= 9; week++) {
      await run.publish(`LN-${week}`, 1, { daysAgo: week * 7, state: "delivered", settledDaysAgo: week * 7 });
    }
    const id = await run.publish("LN-0", 1, { daysAgo: daysSinceMiddleOfWeekBeforeLast(), state: "waiting" });
    if (when === "after statistics") await run.sql("vacuum analyze");
    const [week] = await run.sql<{ name: string }>(
      "select name from webhooks.partitions_of('event') where $1 >= lower and $1 < upper",
      [id],
    );
    const leasePlan = await plan(run, leaseHeads.text, [run.lenderId, newId(), 1_000, "", 5, false, 5_000, 5]);
    expect(touched(leasePlan, "event")).toEqual([week!.name]);
    const looks = [`{${run.lenderId}}`, newId(), 1_000, '{""}', "{5}", "{false}", 5_000, 5];
    expect(touched(await plan(run, leaseHeadsOfMany.text, looks), "event")).toEqual([week!.name]);

    const attemptsPlan = await plan(run, selectAttempts.text, [run.lenderId, id, laterBy(-3_600_000, id)]);
    const names = touched(attemptsPlan, "attempt");
    expect(names[0]).toBe(week!.name.replace("event", "attempt"));
    expect(names).toHaveLength(2 + 1 + 4 + 1);
    expect(attemptsPlan).not.toMatch(/pkey/);
  });
});

test("the upgrade to partitions copies no rows, and keeps all rows and rights", async () => {
  const url = directUrl((await emptyDatabase()).url);
  // The database before the upgrade also gets these migrations, because `emit` needs their columns.
  const { migrations } = webhooksSchema;
  const needed = new Set(["0009-named-endpoints", "0011-without-endpoint"]);
  const early = [...migrations.slice(0, 2), ...migrations.filter(({ name }) => needed.has(name))];
  const before = { ...webhooksSchema, entities: [], readOnly: [], migrations: early };
  await migrate({ url, schemas: [before] });
  const database = await createDatabase({ url, schemas: [webhooksSchema] });
  afterFile(() => database.close());
  const lenderId = newId();
  await transaction(database.em(), (tx) => registerEndpoint(tx, { tenantId: lenderId, url: null }));
  const events = [1, 2].map((sequence) =>
    eventAt(lenderId, "LN-1", sequence, new Date(Date.now() - sequence * 10 * WEEK_MS)),
  );
  await transaction(database.em(), async (tx) => emit(tx, events, { trusted: true }));
  const file = "select pg_relation_filenode($1::regclass) as file";
  const { rows: fileBefore } = await database.pool.query(file, ["webhooks.event"]);
  await database.pool.query("grant select, insert on webhooks.event to pg_monitor");

  expect(await migrate({ url, schemas: [webhooksSchema] })).toMatchObject({
    applied: expect.arrayContaining(["webhooks/0003-partitions"]),
  });
  expect((await database.pool.query(file, ["webhooks.event_first"])).rows).toEqual(fileBefore);
  expect(await query(database.em(), selectBodies, [])).toEqual(events.map(({ body }) => ({ body })));
  const { rows } = await database.pool.query(
    "select has_table_privilege('pg_monitor', 'webhooks.event', 'select, insert') and not has_table_privilege('pg_monitor', 'webhooks.event', 'update') as same",
  );
  expect(rows).toEqual([{ same: true }]);
  const { rows: indexes } = await database.pool.query(
    `select count(*)::int as count from pg_index where indrelid = 'webhooks.event_first'::regclass`,
  );
  expect(indexes).toEqual([{ count: 2 }]);
});

const selectBodies = statement("partitions-test.bodies", `select body from webhooks.event order by sequence`);

async function plan({ database }: LongRun, text: string, values: readonly unknown[]): Promise<string> {
  const client = await database.pool.connect();
  const literals = values.map((value) => (typeof value === "string" ? `'${value}'` : String(value)));
  await client.query(`set plan_cache_mode = force_generic_plan; prepare trial as ${text}; begin`);
  const { rows } = await client.query<{ "QUERY PLAN": string }>(
    `explain (analyze) execute trial (${literals.join(", ")})`,
  );
  await client.query("rollback; deallocate trial");
  client.release();
  return rows.map((row) => row["QUERY PLAN"]).join("\n");
}

/**
 * Returns the number of days since the middle of the week before last. For an event in the first hour of a week, the
 * queries would rightly read the previous partition too, because they look back by an hour.
 */
function daysSinceMiddleOfWeekBeforeLast(): number {
  const daysSinceEpoch = Date.now() / DAY_MS;
  const sinceMonday = (daysSinceEpoch + 3) % 7;
  return sinceMonday + 10.5;
}

/** Returns the partitions that the plan has scanned. */
function touched(text: string, table: string): string[] {
  const scans = text.matchAll(new RegExp(String.raw`Scan.* on (${table}_\w+) .*\(actual `, "g"));
  return [...scans].map(([, name]) => name!).toSorted();
}
