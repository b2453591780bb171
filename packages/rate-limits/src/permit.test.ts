import { createDatabase, type Database, migrate } from "@collections/database";
import { testDatabase } from "@collections/testing";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, expect, test } from "vitest";
import { forgetPermits, type PermitAsk, type PermitGrant, takePermits } from "./permit.ts";
import { rateLimitsSchema } from "./schema.ts";

const schemas = [rateLimitsSchema];
const { url } = await testDatabase("rate-limits", async (url) => void (await migrate({ url, schemas })));
const database = await createDatabase({ url, schemas });
const elsewhere = await createDatabase({ url, schemas });
afterAll(async () => {
  await database.close();
  await elsewhere.close();
});

const MINUTE = { windowMs: 60_000, aheadMs: 2_000, timeoutMs: 5_000 };

function anAsk(subject: string, fields: Partial<PermitAsk> = {}): PermitAsk {
  return { subject, limit: "confirm", quota: 6, need: 1, ahead: 0, unused: undefined, ...fields };
}

async function take(ask: PermitAsk, on: Database = database, rules = MINUTE): Promise<PermitGrant> {
  const [grant] = await takePermits(on.em(), [ask], rules);
  return grant!;
}

/** Makes as much time pass for one subject. */
async function pass(subject: string, ms: number): Promise<void> {
  const shifted = "array(select at - $2 from unnest(at_ms) with ordinality as u (at, place) order by place)";
  await database.pool.query(`update rate_limits.permit_window set at_ms = ${shifted} where subject = $1`, [
    subject,
    ms,
  ]);
}

test("a quota is granted to the last permit and no further, until a minute after its first use", async () => {
  for (const remaining of [5, 4, 3, 2, 1, 0]) {
    expect(await take(anAsk("six"))).toMatchObject({ granted: 1, ahead: 0, remaining });
    await pass("six", 1_000);
  }
  expect(await take(anAsk("six", { need: 3 }))).toMatchObject({ granted: 0, remaining: 0 });
  const { freesInMs } = await take(anAsk("six"));
  expect(freesInMs).toBeGreaterThan(53_000);
  expect(freesInMs).toBeLessThanOrEqual(54_000);
  await pass("six", freesInMs - 1_000);
  expect(await take(anAsk("six"))).toMatchObject({ granted: 0 });
  await pass("six", 1_000);
  expect(await take(anAsk("six", { need: 2 }))).toMatchObject({ granted: 1, remaining: 0 });
});

test("each subject and each limit is counted by itself", async () => {
  const asks = [anAsk("b", { need: 6 }), anAsk("a"), anAsk("b", { limit: "health" })];
  const grants = await takePermits(database.em(), asks, MINUTE);
  expect(grants.map(({ granted, remaining }) => [granted, remaining])).toEqual([
    [6, 0],
    [1, 5],
    [1, 5],
  ]);
});

test("permits taken ahead are a hundredth of what is left, and count from the end of their time unless they come back", async () => {
  const many = (fields: Partial<PermitAsk>) => anAsk("ahead", { quota: 6_000, ahead: 1_000, ...fields });
  const first = await take(many({}));
  expect(first).toMatchObject({ granted: 1, ahead: 59, remaining: 5_940 });
  await pass("ahead", 59_900);
  expect(await take(many({ ahead: 0 }))).toMatchObject({ remaining: 5_939 });
  await pass("ahead", 1_000);
  expect(await take(many({ ahead: 0 }))).toMatchObject({ remaining: 5_939 });
  await pass("ahead", 1_200);
  expect(await take(many({ ahead: 0 }))).toMatchObject({ remaining: 5_997 });

  const second = await take(anAsk("returned", { quota: 6_000, ahead: 1_000 }));
  const unused = { count: 50, aheadAt: second.aheadAt };
  expect(await take(anAsk("returned", { quota: 6_000, need: 0, unused }))).toMatchObject({ remaining: 5_990 });
});

test("what comes back after its time, or after a crash of PostgreSQL, gives nobody more than the quota", async () => {
  const { aheadAt } = await take(anAsk("late", { quota: 6_000, ahead: 1_000 }));
  const unused = { count: 59, aheadAt };
  await pass("late", 62_100);
  expect(
    await take(anAsk("late", { quota: 6_000, need: 0, unused: { ...unused, aheadAt: aheadAt - 62_100n } })),
  ).toEqual(expect.objectContaining({ remaining: 6_000 }));
  await database.pool.query("truncate rate_limits.permit_window");
  expect(await take(anAsk("late", { quota: 6_000, need: 0, unused }))).toMatchObject({ remaining: 6_000 });
});

test("a quota that was lowered grants nothing until it fits, and a raised one at once", async () => {
  await take(anAsk("changed", { quota: 100, need: 50 }));
  expect(await take(anAsk("changed", { quota: 10 }))).toMatchObject({ granted: 0, remaining: 0 });
  expect(await take(anAsk("changed", { quota: 51 }))).toMatchObject({ granted: 1, remaining: 0 });
});

test("two processes that ask for the same limits in opposite orders never wait in a circle", async () => {
  const asks = Array.from({ length: 20 }, (_, index) => anAsk(`crossed-${index}`, { quota: 1_000_000 }));
  const rounds = Array.from({ length: 50 }, (_, round) => [
    takePermits(database.em(), asks, MINUTE),
    takePermits(elsewhere.em(), asks.toReversed(), MINUTE),
    ...(round % 10 === 0 ? [forgetPermits(database.em(), 0)] : []),
  ]);
  await expect(Promise.all(rounds.flat())).resolves.toHaveLength(105);
});

test("in no window are there more uses than the quota, whoever asks, however often", async () => {
  const rules = { windowMs: 400, aheadMs: 20, timeoutMs: 5_000 };
  const uses: { from: number; to: number }[] = [];
  const until = performance.now() + 1_300;
  async function greedy(on: Database, seed: number): Promise<void> {
    for (let round = seed; performance.now() < until; round += 1) {
      const from = performance.now();
      const { granted } = await take(anAsk("greedy", { quota: 20, need: 1 + (round % 4) }), on, rules);
      for (let use = 0; use < granted; use += 1) uses.push({ from, to: performance.now() });
      await sleep((round * 7) % 13);
    }
  }
  await Promise.all([0, 1, 2, 3].map((seed) => greedy(seed % 2 ? database : elsewhere, seed)));
  for (const { from } of uses) {
    const surelyInWindow = uses.filter((use) => use.from >= from && use.to < from + rules.windowMs);
    expect(surelyInWindow.length).toBeLessThanOrEqual(20);
  }
  expect(uses.length).toBeGreaterThan(40);
});

test("a window is not shorter than it says, not even by a part of a millisecond", async () => {
  const rules = { windowMs: 20, aheadMs: 1, timeoutMs: 5_000 };
  const uses: { from: number; to: number }[] = [];
  while (uses.length < 50) {
    const from = performance.now();
    const { granted } = await take(anAsk("to the moment", { quota: 1 }), database, rules);
    if (granted) uses.push({ from, to: performance.now() });
  }
  const apartMs = uses.slice(1).map(({ to }, place) => to - uses[place]!.from);
  expect(Math.min(...apartMs)).toBeGreaterThanOrEqual(rules.windowMs);
});

test("who asked for nothing in two windows is forgotten", async () => {
  await take(anAsk("gone"));
  await take(anAsk("here"));
  await database.pool.query(
    "update rate_limits.permit_window set taken_at = now() - interval '121 s' where subject = 'gone'",
  );
  await forgetPermits(database.em(), MINUTE.windowMs);
  const { rows } = await database.pool.query<{ subject: string }>(
    "select subject from rate_limits.permit_window where subject in ('gone', 'here')",
  );
  expect(rows).toEqual([{ subject: "here" }]);
});
