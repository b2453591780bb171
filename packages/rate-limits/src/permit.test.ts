import { migrate } from "@collections/database";
import { createDatabase, type Database } from "@collections/entities";
import { testDatabase } from "@collections/testing";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, expect, test } from "vitest";
import { forgetPermits, type PermitRequest, type PermitGrant, takePermits } from "./permit.ts";
import { rateLimitsSchema } from "./schema.ts";

const schemas = [rateLimitsSchema];
const { url } = await testDatabase("rate-limits", async (url) => void (await migrate({ url, schemas })));
const database = await createDatabase({ url, schemas });
const elsewhere = await createDatabase({ url, schemas });
afterAll(async () => {
  await database.close();
  await elsewhere.close();
});

/** Long times, so that no test depends on how fast this machine is: the tests make stored uses older. */
const HOUR = { windowMs: 3_600_000, aheadMs: 600_000, timeoutMs: 300_000 };

function aRequest(subject: string, fields: Partial<PermitRequest> = {}): PermitRequest {
  return { subject, limit: "confirm", quota: 6, need: 1, ahead: 0, unused: undefined, ...fields };
}

async function take(request: PermitRequest, on: Database = database, rules = HOUR): Promise<PermitGrant> {
  const [grant] = await takePermits(on.em(), [request], rules);
  return grant!;
}

/** Makes the stored uses of one subject older by `ms`, as if that much time had passed. */
async function pass(subject: string, ms: number): Promise<void> {
  const shifted = "array(select at - $2 from unnest(at_ms) with ordinality as u (at, place) order by place)";
  await database.pool.query(`update rate_limits.permit_window set at_ms = ${shifted} where subject = $1`, [
    subject,
    ms,
  ]);
}

test("takePermits grants exactly the quota, and more only an hour after the first use", async () => {
  for (const remaining of [5, 4, 3, 2, 1, 0]) {
    expect(await take(aRequest("six"))).toMatchObject({ granted: 1, ahead: 0, remaining });
    await pass("six", 300_000);
  }
  expect(await take(aRequest("six", { need: 3 }))).toMatchObject({ granted: 0, remaining: 0 });
  const { freesInMs } = await take(aRequest("six"));
  expect(freesInMs).toBeGreaterThan(1_500_000);
  expect(freesInMs).toBeLessThanOrEqual(1_800_000);
  await pass("six", freesInMs - 200_000);
  expect(await take(aRequest("six"))).toMatchObject({ granted: 0 });
  await pass("six", 200_000);
  expect(await take(aRequest("six", { need: 2 }))).toMatchObject({ granted: 1, remaining: 0 });
});

test("takePermits counts each subject and each limit separately", async () => {
  const requests = [aRequest("b", { need: 6 }), aRequest("a"), aRequest("b", { limit: "health" })];
  const grants = await takePermits(database.em(), requests, HOUR);
  expect(grants.map(({ granted, remaining }) => [granted, remaining])).toEqual([
    [6, 0],
    [1, 5],
    [1, 5],
  ]);
});

test("a prefetched permit counts as used until it is given back, or until an hour after it expires", async () => {
  const many = (fields: Partial<PermitRequest>) => aRequest("ahead", { quota: 6_000, ahead: 1_000, ...fields });
  const first = await take(many({}));
  expect(first).toMatchObject({ granted: 1, ahead: 59, remaining: 5_940 });
  await pass("ahead", 3_300_000);
  expect(await take(many({ ahead: 0 }))).toMatchObject({ remaining: 5_939 });
  await pass("ahead", 600_000);
  expect(await take(many({ ahead: 0 }))).toMatchObject({ remaining: 5_939 });
  await pass("ahead", 600_000);
  expect(await take(many({ ahead: 0 }))).toMatchObject({ remaining: 5_997 });

  const second = await take(aRequest("returned", { quota: 6_000, ahead: 1_000 }));
  const unused = { count: 50, aheadAt: second.aheadAt };
  expect(await take(aRequest("returned", { quota: 6_000, need: 0, unused }))).toMatchObject({ remaining: 5_990 });
});

test("permits given back too late, or after a crash of PostgreSQL, do not add to the quota", async () => {
  const { aheadAt } = await take(aRequest("late", { quota: 6_000, ahead: 1_000 }));
  const unused = { count: 59, aheadAt };
  await pass("late", 4_200_100);
  expect(
    await take(aRequest("late", { quota: 6_000, need: 0, unused: { ...unused, aheadAt: aheadAt - 4_200_100n } })),
  ).toEqual(expect.objectContaining({ remaining: 6_000 }));
  await database.pool.query("truncate rate_limits.permit_window");
  expect(await take(aRequest("late", { quota: 6_000, need: 0, unused }))).toMatchObject({ remaining: 6_000 });
});

test("a lowered quota grants nothing while the permits in use exceed it, and a raised quota applies at once", async () => {
  await take(aRequest("changed", { quota: 100, need: 50 }));
  expect(await take(aRequest("changed", { quota: 10 }))).toMatchObject({ granted: 0, remaining: 0 });
  expect(await take(aRequest("changed", { quota: 51 }))).toMatchObject({ granted: 1, remaining: 0 });
});

test("two processes that request the same limits in opposite orders do not deadlock", async () => {
  const requests = Array.from({ length: 20 }, (_, index) => aRequest(`crossed-${index}`, { quota: 1_000_000 }));
  const rounds = Array.from({ length: 50 }, (_, round) => [
    takePermits(database.em(), requests, HOUR),
    takePermits(elsewhere.em(), requests.toReversed(), HOUR),
    ...(round % 10 === 0 ? [forgetPermits(database.em(), 0)] : []),
  ]);
  await expect(Promise.all(rounds.flat())).resolves.toHaveLength(105);
});

test("no window has more uses than the quota while several clients take permits constantly", async () => {
  const rules = { windowMs: 400, aheadMs: 20, timeoutMs: 300_000 };
  const uses: { from: number; to: number }[] = [];
  async function greedy(on: Database, seed: number): Promise<void> {
    for (let round = seed; uses.length <= 60; round += 1) {
      const from = performance.now();
      const { granted } = await take(aRequest("greedy", { quota: 20, need: 1 + (round % 4) }), on, rules);
      for (let use = 0; use < granted; use += 1) uses.push({ from, to: performance.now() });
      await sleep((round * 7) % 13);
    }
  }
  await Promise.all([0, 1, 2, 3].map((seed) => greedy(seed % 2 ? database : elsewhere, seed)));
  for (const { from } of uses) {
    const certainlyInWindow = uses.filter((use) => use.from >= from && use.to < from + rules.windowMs);
    expect(certainlyInWindow.length).toBeLessThanOrEqual(20);
  }
});

test("a window is never shorter than windowMs, not even by a fraction of a millisecond", async () => {
  const rules = { windowMs: 20, aheadMs: 1, timeoutMs: 300_000 };
  const uses: { from: number; to: number }[] = [];
  while (uses.length < 50) {
    const from = performance.now();
    const { granted } = await take(aRequest("to the moment", { quota: 1 }), database, rules);
    if (granted) uses.push({ from, to: performance.now() });
  }
  const apartMs = uses.slice(1).map(({ to }, place) => to - uses[place]!.from);
  expect(Math.min(...apartMs)).toBeGreaterThanOrEqual(rules.windowMs);
});

test("forgetPermits deletes subjects without a request in the last two windows", async () => {
  await take(aRequest("gone"));
  await take(aRequest("here"));
  await database.pool.query(
    "update rate_limits.permit_window set taken_at = now() - interval '7201 s' where subject = 'gone'",
  );
  await forgetPermits(database.em(), HOUR.windowMs);
  const { rows } = await database.pool.query<{ subject: string }>(
    "select subject from rate_limits.permit_window where subject in ('gone', 'here')",
  );
  expect(rows).toEqual([{ subject: "here" }]);
});
