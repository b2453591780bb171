import { migrate } from "@collections/database";
import { createDatabase, type Database } from "@collections/entities";
import { type PermitRequest, type PermitGrant, takePermits } from "./permit.ts";
import { rateLimitsSchema } from "./schema.ts";
import { afterFile, testDatabase } from "@collections/testing";
import { setTimeout as sleep } from "node:timers/promises";
import { beforeAll, expect, test, vi } from "vitest";
import { createPermits, type Permits } from "./permits.ts";

/** Long times, so that neither the window nor a prefetched permit ends during a test, however slow this machine is. */
const HOUR = { windowMs: 3_600_000, aheadMs: 600_000, timeoutMs: 300_000 };
const BRIEF = { windowMs: 500, aheadMs: 40, timeoutMs: 300_000 };
const MANY_USES = 3_000;
const QUOTA = 6_000;

let url: string;

beforeAll(async () => {
  const schemas = [rateLimitsSchema];
  ({ url } = await testDatabase("rate-limits", async (url) => void (await migrate({ url, schemas }))));
});

/** Imitates a process. `requests` are its requests so far. After `kill` it sends nothing and gives nothing back. */
async function aProcess(
  rules = HOUR,
): Promise<Permits & { requests: PermitRequest[]; database: Database; kill: () => void }> {
  let killed = false;
  const database = await createDatabase({ url, schemas: [rateLimitsSchema], poolMax: 2 });
  const requests: PermitRequest[] = [];
  const permits = createPermits({
    aheadMs: rules.aheadMs,
    async take(batch) {
      if (killed) throw new Error("killed");
      requests.push(...batch);
      return takePermits(database.em(), batch, rules);
    },
  });
  afterFile(async () => {
    await permits.close();
    await database.close();
  });
  return { ...permits, requests, database, kill: () => void (killed = true) };
}

/** Returns the number of remaining permits of the subject in the database. */
async function remainingOf({ database }: { database: Database }, subject: string): Promise<number> {
  const request = { subject, limit: "confirm", quota: QUOTA, need: 0, ahead: 0, unused: undefined };
  const [grant] = await takePermits(database.em(), [request], HOUR);
  return grant!.remaining;
}

test("two processes grant every use up to 95 % of the quota, and none beyond 100 %", async () => {
  const processes = [await aProcess(), await aProcess()];
  let granted = 0;
  async function send(count: number): Promise<number> {
    let denied = 0;
    for (let sent = 0; sent < count; sent += 1) {
      const process = processes[Math.floor(sent / 37) % 2]!;
      const result = await process.take("busy", "confirm", QUOTA);
      if (result.granted) granted += 1;
      else denied += 1;
    }
    return denied;
  }
  expect(await send(0.95 * QUOTA)).toBe(0);
  await send(QUOTA);
  expect(granted).toBeLessThanOrEqual(QUOTA);
  const requests = processes.flatMap(({ requests }) => requests);
  expect(requests.length).toBeLessThan(granted / 10);
});

test("three processes never exceed the quota in a window, even if one of them is killed repeatedly", async () => {
  const uses: { from: number; to: number }[] = [];
  async function greedy(livesMs: number): Promise<void> {
    for (let permits = await aProcess(BRIEF); uses.length < MANY_USES;) {
      const bornAt = performance.now();
      while (uses.length < MANY_USES && performance.now() < bornAt + livesMs) {
        const from = performance.now();
        const results = await Promise.all([1, 2, 3].map(() => permits.take("greedy", "confirm", 1_000)));
        const to = performance.now();
        uses.push(...results.filter(({ granted }) => granted).map(() => ({ from, to })));
        await sleep(0);
      }
      permits.kill();
      permits = await aProcess(BRIEF);
    }
  }
  await Promise.all([greedy(Infinity), greedy(Infinity), greedy(300)]);
  uses.sort((a, b) => a.from - b.from);
  let first = 0;
  for (const [place, { from }] of uses.entries()) {
    const end = from + BRIEF.windowMs;
    while (first < uses.length && uses[first]!.from < end) first += 1;
    const certainlyInWindow = uses.slice(place, first).filter(({ to }) => to < end);
    expect(certainlyInWindow.length).toBeLessThanOrEqual(1_000);
  }
});

test("a process gives unused permits back when the subject sends no more requests, and when the process stops", async () => {
  const process = await aProcess({ ...HOUR, aheadMs: 100 });
  for (let sent = 0; sent < 50; sent += 1) await process.take("quiet", "confirm", QUOTA);
  await expect.poll(() => remainingOf(process, "quiet")).toBe(QUOTA - 50);

  const stopping = await aProcess();
  for (let sent = 0; sent < 50; sent += 1) await stopping.take("stopping", "confirm", QUOTA);
  expect(await remainingOf(stopping, "stopping")).toBeLessThan(QUOTA - 50);
  await stopping.close();
  await expect.poll(() => remainingOf(stopping, "stopping")).toBe(QUOTA - 50);
});

test("a process prefetches no permits for a subject with few uses, nor for a small quota", async () => {
  const process = await aProcess();
  await process.take("rare", "confirm", QUOTA);
  for (let sent = 0; sent < 60; sent += 1) await process.take("small", "import", 60);
  expect(await remainingOf(process, "rare")).toBe(QUOTA - 1);
  expect(process.requests).toHaveLength(61);
  expect(await process.take("small", "import", 60)).toMatchObject({ granted: false, remaining: 0 });
});

/** Creates permits with a fake database and a fake clock: the test answers the queries and sets the time. */
function scriptedPermits() {
  const queries: { requests: PermitRequest[]; answer(grants: PermitGrant[]): void; fail(error: Error): void }[] = [];
  const clock = { nowMs: 0 };
  // Without its interval: only the test's clock passes.
  vi.useFakeTimers({ toFake: ["setInterval"] });
  const permits = createPermits({
    aheadMs: 2_000,
    clockMs: () => clock.nowMs,
    take(requests) {
      const { promise, resolve, reject } = Promise.withResolvers<PermitGrant[]>();
      queries.push({ requests, answer: resolve, fail: reject });
      return promise;
    },
  });
  vi.useRealTimers();
  afterFile(() => permits.close());
  async function query(number: number) {
    await expect.poll(() => queries.length).toBe(number);
    return queries[number - 1]!;
  }
  return { permits, query, queries, clock };
}

function aGrant(fields: Partial<PermitGrant>): PermitGrant {
  return { granted: 0, ahead: 0, aheadAt: 0n, remaining: 0, freesInMs: 40_000, ...fields };
}

test("uses that arrive during a query share the next query, and are answered in order", async () => {
  const { permits, query, queries } = scriptedPermits();
  const first = permits.take("a", "confirm", 6);
  const { requests, answer } = await query(1);
  expect(requests).toMatchObject([{ subject: "a", need: 1 }]);
  const others = [permits.take("a", "confirm", 6), permits.take("b", "confirm", 6), permits.take("a", "confirm", 6)];
  answer([aGrant({ granted: 1, remaining: 1 })]);
  expect(await first).toMatchObject({ granted: true, remaining: 1 });
  const second = await query(2);
  expect(second.requests.map(({ subject, need }) => [subject, need])).toEqual([
    ["b", 1],
    ["a", 2],
  ]);
  second.answer([aGrant({ granted: 1, remaining: 5 }), aGrant({ granted: 1 })]);
  expect(await Promise.all(others)).toEqual([
    { granted: true, remaining: 0, freesInMs: 40_000 },
    { granted: true, remaining: 5, freesInMs: 40_000 },
    { granted: false, remaining: 0, freesInMs: 40_000 },
  ]);
  expect(queries).toHaveLength(2);
});

test("a process caches a denial for 250 ms, or until the quota is raised", async () => {
  const { permits, query, queries, clock } = scriptedPermits();
  const denied = permits.take("a", "confirm", 6);
  (await query(1)).answer([aGrant({})]);
  expect(await denied).toMatchObject({ granted: false });
  clock.nowMs = 249;
  expect(await permits.take("a", "confirm", 6)).toEqual({ granted: false, remaining: 0, freesInMs: 39_751 });
  expect(queries).toHaveLength(1);
  const raised = permits.take("a", "confirm", 7);
  (await query(2)).answer([aGrant({ granted: 1 })]);
  expect(await raised).toMatchObject({ granted: true });
});

test("a process uses prefetched permits without a query until they expire, and gives the unused ones back once", async () => {
  const { permits, query, queries, clock } = scriptedPermits();
  const first = permits.take("a", "confirm", 6_000);
  (await query(1)).answer([aGrant({ granted: 1, ahead: 8, aheadAt: 77n, remaining: 5_991 })]);
  await first;
  clock.nowMs = 1_000;
  expect(await permits.take("a", "confirm", 6_000)).toMatchObject({ granted: true, remaining: 5_998 });
  expect(queries).toHaveLength(1);
  clock.nowMs = 2_000;
  const late = permits.take("a", "confirm", 6_000);
  const { requests, answer } = await query(2);
  expect(requests).toMatchObject([{ need: 1, ahead: 2, unused: { count: 7, aheadAt: 77n } }]);
  answer([aGrant({ granted: 1, remaining: 5_997 })]);
  expect(await late).toMatchObject({ granted: true });
  const next = permits.take("a", "confirm", 6_000);
  expect((await query(3)).requests).toMatchObject([{ unused: undefined }]);
  (await query(3)).answer([aGrant({ granted: 1 })]);
  await next;
});

test("a failed query rejects the uses that waited for it, but no later uses", async () => {
  const { permits, query } = scriptedPermits();
  const [unlucky, alike] = [permits.take("a", "confirm", 6), permits.take("b", "confirm", 6)];
  const away = new Error("the database is unavailable");
  (await query(1)).fail(away);
  await expect(unlucky).rejects.toBe(away);
  await expect(alike).rejects.toBe(away);
  const lucky = permits.take("a", "confirm", 6);
  (await query(2)).answer([aGrant({ granted: 1 })]);
  expect(await lucky).toMatchObject({ granted: true });
});
