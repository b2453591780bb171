import { createDatabase, type Database, migrate } from "@collections/database";
import { type PermitAsk, type PermitGrant, takePermits } from "./permit.ts";
import { rateLimitsSchema } from "./schema.ts";
import { afterFile, testDatabase } from "@collections/testing";
import { setTimeout as sleep } from "node:timers/promises";
import { beforeAll, expect, test } from "vitest";
import { createPermits, type Permits } from "./permits.ts";

const MINUTE = { windowMs: 60_000, aheadMs: 2_000, timeoutMs: 5_000 };
const BRIEF = { windowMs: 500, aheadMs: 40, timeoutMs: 5_000 };
const QUOTA = 6_000;

let url: string;

beforeAll(async () => {
  const schemas = [rateLimitsSchema];
  ({ url } = await testDatabase("rate-limits", async (url) => void (await migrate({ url, schemas }))));
});

/** What one process holds of the limits; `asks` are its questions so far. Killed, it asks and gives back no more. */
async function aProcess(
  rules = MINUTE,
): Promise<Permits & { asks: PermitAsk[]; database: Database; kill: () => void }> {
  let killed = false;
  const database = await createDatabase({ url, schemas: [rateLimitsSchema], poolMax: 2 });
  const asks: PermitAsk[] = [];
  const permits = createPermits({
    aheadMs: rules.aheadMs,
    async take(batch) {
      if (killed) throw new Error("killed");
      asks.push(...batch);
      return takePermits(database.em(), batch, rules);
    },
  });
  afterFile(async () => {
    await permits.close();
    await database.close();
  });
  return { ...permits, asks, database, kill: () => void (killed = true) };
}

/** The limit as the database knows it now. */
async function remainingOf({ database }: { database: Database }, subject: string): Promise<number> {
  const ask = { subject, limit: "confirm", quota: QUOTA, need: 0, ahead: 0, unused: undefined };
  const [grant] = await takePermits(database.em(), [ask], MINUTE);
  return grant!.remaining;
}

test("at 95 % of its limit nobody is refused, in whatever turns two processes are asked, and at 100 % nobody passes", async () => {
  const processes = [await aProcess(), await aProcess()];
  let granted = 0;
  async function send(count: number): Promise<number> {
    let refused = 0;
    for (let sent = 0; sent < count; sent += 1) {
      const process = processes[Math.floor(sent / 37) % 2]!;
      const leave = await process.take("busy", "confirm", QUOTA);
      if (leave.granted) granted += 1;
      else refused += 1;
    }
    return refused;
  }
  expect(await send(0.95 * QUOTA)).toBe(0);
  await send(QUOTA);
  expect(granted).toBeLessThanOrEqual(QUOTA);
  const questions = processes.flatMap(({ asks }) => asks);
  expect(questions.length).toBeLessThan(granted / 10);
});

test("in no window do three greedy processes use more than the quota together, though one of them dies again and again", async () => {
  const uses: { from: number; to: number }[] = [];
  const endAt = performance.now() + 2_500;
  async function greedy(livesMs: number): Promise<void> {
    for (let permits = await aProcess(BRIEF); performance.now() < endAt;) {
      const bornAt = performance.now();
      while (performance.now() < Math.min(endAt, bornAt + livesMs)) {
        const from = performance.now();
        const leaves = await Promise.all([1, 2, 3].map(() => permits.take("greedy", "confirm", 1_000)));
        const to = performance.now();
        uses.push(...leaves.filter(({ granted }) => granted).map(() => ({ from, to })));
        await sleep(0);
      }
      permits.kill();
      permits = await aProcess(BRIEF);
    }
  }
  await Promise.all([greedy(Infinity), greedy(Infinity), greedy(300)]);
  expect(uses.length).toBeGreaterThan(1_000);
  uses.sort((a, b) => a.from - b.from);
  let first = 0;
  for (const [place, { from }] of uses.entries()) {
    const end = from + BRIEF.windowMs;
    while (first < uses.length && uses[first]!.from < end) first += 1;
    const surely = uses.slice(place, first).filter(({ to }) => to < end);
    expect(surely.length).toBeLessThanOrEqual(1_000);
  }
});

test("what a client does not use comes back, when it goes quiet and when the process stops", async () => {
  const process = await aProcess({ ...MINUTE, aheadMs: 100 });
  for (let sent = 0; sent < 50; sent += 1) await process.take("quiet", "confirm", QUOTA);
  await expect.poll(() => remainingOf(process, "quiet")).toBe(QUOTA - 50);

  const stopping = await aProcess();
  for (let sent = 0; sent < 50; sent += 1) await stopping.take("stopping", "confirm", QUOTA);
  expect(await remainingOf(stopping, "stopping")).toBeLessThan(QUOTA - 50);
  await stopping.close();
  expect(await remainingOf(stopping, "stopping")).toBe(QUOTA - 50);
});

test("a client that comes rarely holds nothing, and a small limit is never held ahead", async () => {
  const process = await aProcess();
  await process.take("rare", "confirm", QUOTA);
  for (let sent = 0; sent < 60; sent += 1) await process.take("small", "import", 60);
  expect(await remainingOf(process, "rare")).toBe(QUOTA - 1);
  expect(process.asks).toHaveLength(61);
  expect(await process.take("small", "import", 60)).toMatchObject({ granted: false, remaining: 0 });
});

/** Permits whose questions the test answers by hand, on a clock that the test moves. */
function aScripted() {
  const questions: { asks: PermitAsk[]; answer(grants: PermitGrant[]): void; fail(error: Error): void }[] = [];
  const clock = { nowMs: 0 };
  const permits = createPermits({
    aheadMs: 2_000,
    clockMs: () => clock.nowMs,
    take(asks) {
      const { promise, resolve, reject } = Promise.withResolvers<PermitGrant[]>();
      questions.push({ asks, answer: resolve, fail: reject });
      return promise;
    },
  });
  afterFile(() => permits.close());
  async function question(number: number) {
    await expect.poll(() => questions.length).toBe(number);
    return questions[number - 1]!;
  }
  return { permits, question, questions, clock };
}

function aGrant(fields: Partial<PermitGrant>): PermitGrant {
  return { granted: 0, ahead: 0, aheadAt: 0n, remaining: 0, freesInMs: 40_000, ...fields };
}

test("everybody who comes while a question is on its way shares the next one, and each is answered in turn", async () => {
  const { permits, question, questions } = aScripted();
  const first = permits.take("a", "confirm", 6);
  const { asks, answer } = await question(1);
  expect(asks).toMatchObject([{ subject: "a", need: 1 }]);
  const others = [permits.take("a", "confirm", 6), permits.take("b", "confirm", 6), permits.take("a", "confirm", 6)];
  answer([aGrant({ granted: 1, remaining: 1 })]);
  expect(await first).toMatchObject({ granted: true, remaining: 1 });
  const second = await question(2);
  expect(second.asks.map(({ subject, need }) => [subject, need])).toEqual([
    ["b", 1],
    ["a", 2],
  ]);
  second.answer([aGrant({ granted: 1, remaining: 5 }), aGrant({ granted: 1 })]);
  expect(await Promise.all(others)).toEqual([
    { granted: true, remaining: 0, freesInMs: 40_000 },
    { granted: true, remaining: 5, freesInMs: 40_000 },
    { granted: false, remaining: 0, freesInMs: 40_000 },
  ]);
  expect(questions).toHaveLength(2);
});

test("a refusal stands for a quarter of a second, or until more is allowed", async () => {
  const { permits, question, questions, clock } = aScripted();
  const refused = permits.take("a", "confirm", 6);
  (await question(1)).answer([aGrant({})]);
  expect(await refused).toMatchObject({ granted: false });
  clock.nowMs = 249;
  expect(await permits.take("a", "confirm", 6)).toEqual({ granted: false, remaining: 0, freesInMs: 39_751 });
  expect(questions).toHaveLength(1);
  const raised = permits.take("a", "confirm", 7);
  (await question(2)).answer([aGrant({ granted: 1 })]);
  expect(await raised).toMatchObject({ granted: true });
});

test("permits ahead are used without asking, until their time is over; what is left then goes back once", async () => {
  const { permits, question, questions, clock } = aScripted();
  const first = permits.take("a", "confirm", 6_000);
  (await question(1)).answer([aGrant({ granted: 1, ahead: 8, aheadAt: 77n, remaining: 5_991 })]);
  await first;
  clock.nowMs = 1_000;
  expect(await permits.take("a", "confirm", 6_000)).toMatchObject({ granted: true, remaining: 5_998 });
  expect(questions).toHaveLength(1);
  clock.nowMs = 2_000;
  const late = permits.take("a", "confirm", 6_000);
  const { asks, answer } = await question(2);
  expect(asks).toMatchObject([{ need: 1, ahead: 2, unused: { count: 7, aheadAt: 77n } }]);
  answer([aGrant({ granted: 1, remaining: 5_997 })]);
  expect(await late).toMatchObject({ granted: true });
  const next = permits.take("a", "confirm", 6_000);
  expect((await question(3)).asks).toMatchObject([{ unused: undefined }]);
  (await question(3)).answer([aGrant({ granted: 1 })]);
  await next;
});

test("a question that fails fails those who waited for it, and nobody after them", async () => {
  const { permits, question } = aScripted();
  const [unlucky, alike] = [permits.take("a", "confirm", 6), permits.take("b", "confirm", 6)];
  const away = new Error("the database is away");
  (await question(1)).fail(away);
  await expect(unlucky).rejects.toBe(away);
  await expect(alike).rejects.toBe(away);
  const lucky = permits.take("a", "confirm", 6);
  (await question(2)).answer([aGrant({ granted: 1 })]);
  expect(await lucky).toMatchObject({ granted: true });
});
