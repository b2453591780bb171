import { setImmediate as nextTurn } from "node:timers/promises";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { inBatches } from "./batches.ts";

// Whether a batch takes longer than usual must not depend on the speed of this machine.
beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] }));
afterEach(() => void vi.useRealTimers());

/** Lets `ms` pass on the fake clock, with the work that becomes due. */
async function pass(ms: number): Promise<void> {
  await settled();
  await vi.advanceTimersByTimeAsync(ms);
  await settled();
}

/** Lets the batches start and end that need no time. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 10; turn += 1) await nextTurn();
}

/** A run of this many milliseconds on the fake clock. */
function delay(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

test("items that arrive while a single item is processed form the next batch together", async () => {
  const batches: number[][] = [];
  const double = inBatches<number, number>({
    maxItems: 64,
    maxUnderWay: 1,
    async run(items) {
      batches.push(items);
      await delay(5);
      return items.map((item) => item * 2);
    },
  });
  const first = double(1);
  await settled();
  const rest = Promise.all([double(2), double(3), double(4)]);
  await pass(5);
  await pass(5);
  expect(await first).toBe(2);
  expect(await rest).toEqual([4, 6, 8]);
  expect(batches).toEqual([[1], [2, 3, 4]]);
});

test("inBatches limits the items of a batch to maxItems and the batches that run at a time to maxUnderWay", async () => {
  let underWay = 0;
  const seen: { items: number; underWay: number }[] = [];
  const echo = inBatches<number, number>({
    maxItems: 8,
    maxUnderWay: 2,
    async run(items) {
      underWay += 1;
      seen.push({ items: items.length, underWay });
      await delay(1);
      underWay -= 1;
      return items;
    },
  });
  const items = Array.from({ length: 100 }, (_, index) => index);
  const answers = Promise.all(items.map(echo));
  await pass(100);
  expect(await answers).toEqual(items);
  expect(Math.max(...seen.map((batch) => batch.items))).toBe(8);
  expect(Math.max(...seen.map((batch) => batch.underWay))).toBe(2);
});

test("while a batch runs, a second batch starts only when minItems items wait", async () => {
  const batches: number[][] = [];
  const arrivals: (() => void)[] = [];
  const echo = inBatches<number, number>({
    maxItems: 8,
    maxUnderWay: 2,
    minItems: 3,
    async run(items) {
      batches.push(items);
      await new Promise<void>((resolve) => arrivals.push(resolve));
      return items;
    },
  });
  const answers = [echo(1)];
  await settled();
  answers.push(echo(2), echo(3));
  await pass(5);
  expect(batches).toEqual([[1]]);
  answers.push(echo(4));
  await pass(5);
  expect(batches).toEqual([[1], [2, 3, 4]]);
  for (const arrive of arrivals) arrive();
  expect(await Promise.all(answers)).toEqual([1, 2, 3, 4]);
});

test("clients whose items shared a batch share the next batch too, although their next items arrive at slightly different times", async () => {
  const batches: number[] = [];
  const echo = inBatches<number, number>({
    maxItems: 8,
    maxUnderWay: 2,
    minItems: 8,
    async run(items) {
      batches.push(items.length);
      await delay(30);
      return items;
    },
  });
  const askTwice = async (client: number) => {
    await echo(client);
    // The clients send their second items in different turns of the event loop.
    for (let turn = 0; turn < client; turn += 1) await nextTurn();
    await echo(client);
  };
  const asked = Promise.all([0, 1, 2, 3].map(askTwice));
  await pass(30);
  // The second items arrive now, and wait 5 ms for each other.
  await pass(5);
  await pass(30);
  await asked;
  expect(batches).toEqual([4, 4]);
});

test("a single item does not wait for a batch that takes longer than usual", async () => {
  const batches: number[][] = [];
  let arrive = (): void => {};
  const echo = inBatches<number, number>({
    maxItems: 8,
    maxUnderWay: 2,
    minItems: 3,
    run(items) {
      batches.push(items);
      return items[0] === 1 ? new Promise((resolve) => (arrive = () => resolve(items))) : Promise.resolve(items);
    },
  });
  const stuck = echo(1);
  await settled();
  const second = echo(2);
  await pass(99);
  expect(batches).toEqual([[1]]);
  await pass(1);
  expect(await second).toBe(2);
  expect(await echo(3)).toBe(3);
  expect(batches).toEqual([[1], [2], [3]]);
  arrive();
  expect(await stuck).toBe(1);
});

test("a batch has items of only one kind, which is the kind of the item that has waited longest", async () => {
  const batches: string[][] = [];
  const echo = inBatches<string, string>({
    maxItems: 2,
    maxUnderWay: 1,
    kindOf: (item) => item[0],
    async run(items) {
      batches.push(items);
      await delay(1);
      return items;
    },
  });
  const items = ["a1", "b1", "a2", "a3", "b2"];
  const answers = Promise.all(items.map(echo));
  await pass(10);
  expect(await answers).toEqual(items);
  expect(batches).toEqual([["a1", "a2"], ["b1", "b2"], ["a3"]]);
});

test("items with the same lock never run in two batches at a time, and do not delay other items", async () => {
  const batches: string[][] = [];
  const arrivals: (() => void)[] = [];
  const echo = inBatches<string, string>({
    maxItems: 2,
    maxUnderWay: 2,
    lockOf: (item) => item[0],
    async run(items) {
      batches.push(items);
      await new Promise<void>((resolve) => arrivals.push(resolve));
      return items;
    },
  });
  // "a3" is waiting when the batch of "a1" and "a2" starts. "a4" arrives while that batch runs.
  const answers = ["a1", "a2", "a3", "b1"].map(echo);
  await settled();
  answers.push(echo("a4"), echo("b2"));
  await settled();
  expect(batches).toEqual([["a1", "a2"], ["b1"]]);
  arrivals[1]!();
  await settled();
  expect(batches.slice(2)).toEqual([["b2"]]);
  arrivals[0]!();
  await settled();
  expect(batches.slice(3)).toEqual([["a3", "a4"]]);
  for (const arrive of arrivals) arrive();
  expect(await Promise.all(answers)).toEqual(["a1", "a2", "a3", "b1", "a4", "b2"]);
});

test("items that waited for a lock run after an item that needs no lock", async () => {
  const batches: string[][] = [];
  const arrivals: (() => void)[] = [];
  const echo = inBatches<string, string>({
    maxItems: 2,
    maxUnderWay: 2,
    minItems: 2,
    lockOf: (item) => item[0],
    async run(items) {
      batches.push(items);
      await new Promise<void>((resolve) => arrivals.push(resolve));
      return items;
    },
  });
  const answers = ["a1", "a2", "a3", "a4", "b1"].map(echo);
  await settled();
  expect(batches).toEqual([["a1", "a2"]]);
  arrivals[0]!();
  await pass(5);
  expect(batches[1]).toEqual(["b1", "a3"]);
  arrivals[1]!();
  await pass(5);
  expect(batches[2]).toEqual(["a4"]);
  arrivals[2]!();
  expect(await Promise.all(answers)).toEqual(["a1", "a2", "a3", "a4", "b1"]);
});

test("a failed batch releases its locks for the next one", async () => {
  const echo = inBatches<string, string>({
    maxItems: 1,
    maxUnderWay: 2,
    lockOf: (item) => item[0],
    async run(items) {
      await delay(1);
      if (items.includes("a1")) throw new Error("the first one");
      return items;
    },
  });
  const settling = Promise.allSettled(["a1", "a2"].map(echo));
  await pass(10);
  const outcomes = await settling;
  expect(outcomes.map(({ status }) => status)).toEqual(["rejected", "fulfilled"]);
});

test("only the bad item of a batch fails", async () => {
  const echo = inBatches<number, number>({
    maxItems: 8,
    maxUnderWay: 1,
    run: (items) => (items.includes(3) ? Promise.reject(new Error("three")) : Promise.resolve(items)),
  });
  const outcomes = await Promise.allSettled([1, 2, 3, 4].map(echo));
  expect(outcomes.map(({ status }) => status)).toEqual(["fulfilled", "fulfilled", "rejected", "fulfilled"]);
});

test("a batch whose run returns fewer outcomes than items fails and is not run again", async () => {
  let runs = 0;
  const short = inBatches<number, number>({
    maxItems: 8,
    maxUnderWay: 1,
    run(items) {
      runs += 1;
      return Promise.resolve(items.slice(1));
    },
  });
  const outcomes = await Promise.allSettled([1, 2, 3].map(short));
  expect(outcomes.map(({ status }) => status)).toEqual(["rejected", "rejected", "rejected"]);
  expect(runs).toBe(1);
});

test("all items of a batch fail after one run when the database is unavailable", async () => {
  let runs = 0;
  const echo = inBatches<number, number>({
    maxItems: 8,
    maxUnderWay: 1,
    run() {
      runs += 1;
      return Promise.reject(Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" }));
    },
  });
  const outcomes = await Promise.allSettled([1, 2, 3].map(echo));
  expect(outcomes.every(({ status }) => status === "rejected")).toBe(true);
  expect(runs).toBe(1);
});

test.for([{ lockOf: undefined }, { lockOf: () => "one" }])(
  "inBatches rejects an item at once with OverloadedError while 5,000 items wait",
  async (locks) => {
    let finish = (): void => {};
    const stalled = inBatches<number, number>({
      ...locks,
      maxItems: 1,
      maxUnderWay: 1,
      run: (items) => new Promise((resolve) => (finish = () => resolve(items))),
    });
    const first = stalled(0);
    await settled();
    const crowd = Array.from({ length: 5_001 }, (_, index) => stalled(index));
    await expect(crowd.at(-1)).rejects.toMatchObject({ code: "OVERLOADED", waiting: 5_000 });
    finish();
    expect(await first).toBe(0);
  },
);

test("minItems applies to each kind separately: items and running batches of another kind do not count", async () => {
  const batches: string[][] = [];
  const arrivals: (() => void)[] = [];
  const echo = inBatches<string, string>({
    maxItems: 8,
    maxUnderWay: 4,
    minItems: 3,
    kindOf: (item) => item[0],
    async run(items) {
      batches.push(items);
      await new Promise<void>((resolve) => arrivals.push(resolve));
      return items;
    },
  });
  const answers = [echo("a1")];
  await settled();
  answers.push(echo("b1"), echo("a2"), echo("a3"));
  await pass(5);
  expect(batches).toEqual([["a1"], ["b1"]]);
  answers.push(echo("b2"), echo("a4"));
  await pass(5);
  expect(batches).toEqual([["a1"], ["b1"], ["a2", "a3", "a4"]]);
  arrivals[1]!();
  await pass(5);
  expect(batches.at(-1)).toEqual(["b2"]);
  for (const arrive of arrivals) arrive();
  expect(await Promise.all(answers)).toEqual(["a1", "b1", "a2", "a3", "b2", "a4"]);
});

test("items are processed while a batch of their kind takes longer than usual, and after that batch has ended", async () => {
  let slow = true;
  const echo = inBatches<string, string>({
    maxItems: 8,
    maxUnderWay: 2,
    minItems: 3,
    kindOf: (item) => item[0],
    async run(items) {
      if (slow) {
        slow = false;
        await delay(200);
      }
      return items;
    },
  });
  const first = [echo("a1"), echo("a2")];
  await pass(120);
  expect(await echo("a3")).toBe("a3");
  const others = Promise.all([echo("a4"), echo("b1")]);
  await pass(100);
  expect(await Promise.all(first)).toEqual(["a1", "a2"]);
  expect(await others).toEqual(["a4", "b1"]);
  expect(await Promise.all([echo("a5"), echo("b2")])).toEqual(["a5", "b2"]);
});

test("at most maxUnderWayOfKind batches of one kind run at a time, so that batches of other kinds can start", async () => {
  const batches: string[] = [];
  const arrivals: (() => void)[] = [];
  const echo = inBatches<string, string>({
    maxItems: 1,
    maxUnderWay: 3,
    maxUnderWayOfKind: 2,
    kindOf: (item) => item[0],
    async run(items) {
      batches.push(...items);
      await new Promise<void>((resolve) => arrivals.push(resolve));
      return items;
    },
  });
  const answers = ["a1", "a2", "a3", "b1"].map(echo);
  await expect.poll(() => batches).toEqual(["a1", "a2", "b1"]);
  arrivals[0]!();
  await expect.poll(() => batches).toEqual(["a1", "a2", "b1", "a3"]);
  for (const arrive of arrivals) arrive();
  expect(await Promise.all(answers)).toEqual(["a1", "a2", "a3", "b1"]);
});

test("up to maxLateUncounted late batches do not count towards maxUnderWay, so that batches of other kinds can start", async () => {
  const batches: string[] = [];
  const arrivals = new Map<string, () => void>();
  const echo = inBatches<string, string>({
    maxItems: 1,
    maxUnderWay: 2,
    maxUnderWayOfKind: 1,
    maxLateUncounted: 1,
    kindOf: (item) => item[0],
    async run(items) {
      batches.push(...items);
      await new Promise<void>((resolve) => arrivals.set(items[0]!, resolve));
      return items;
    },
  });
  const answers = ["a1", "a2", "b1", "c1", "d1"].map(echo);
  // "a2" waits for "a1", because both are of kind "a". "c1" starts as a third batch once "a1" and "b1" are late.
  await pass(100);
  await expect.poll(() => batches).toEqual(["a1", "b1", "c1"]);
  arrivals.get("c1")!();
  await expect.poll(() => batches).toEqual(["a1", "b1", "c1", "d1"]);
  // The limit is two batches, and one late batch is not counted. So at most three batches run at a time, and "a2"
  // starts only after "a1" has ended.
  arrivals.get("a1")!();
  await expect.poll(() => batches).toEqual(["a1", "b1", "c1", "d1", "a2"]);
  for (const arrive of arrivals.values()) arrive();
  expect(await Promise.all(answers)).toEqual(["a1", "a2", "b1", "c1", "d1"]);
});
