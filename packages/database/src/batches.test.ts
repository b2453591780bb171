import { setImmediate as nextTurn, setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import { inBatches } from "./batches.ts";

test("a lone item leaves at once, and what arrives meanwhile leaves as one batch", async () => {
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
  await delay(1);
  const rest = Promise.all([double(2), double(3), double(4)]);
  expect(await first).toBe(2);
  expect(await rest).toEqual([4, 6, 8]);
  expect(batches).toEqual([[1], [2, 3, 4]]);
});

test("no batch is larger and no more are under way than allowed", async () => {
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
  expect(await Promise.all(items.map(echo))).toEqual(items);
  expect(Math.max(...seen.map((batch) => batch.items))).toBe(8);
  expect(Math.max(...seen.map((batch) => batch.underWay))).toBe(2);
});

test("a few wait for the batch that is under way, many leave beside it", async () => {
  const batches: number[][] = [];
  const arrivals: (() => void)[] = [];
  const echo = inBatches<number, number>({
    maxItems: 8,
    maxUnderWay: 2,
    fewest: 3,
    async run(items) {
      batches.push(items);
      await new Promise<void>((resolve) => arrivals.push(resolve));
      return items;
    },
  });
  const answers = [echo(1)];
  await delay(1);
  answers.push(echo(2), echo(3));
  await delay(5);
  expect(batches).toEqual([[1]]);
  answers.push(echo(4));
  await delay(5);
  expect(batches).toEqual([[1], [2, 3, 4]]);
  for (const arrive of arrivals) arrive();
  expect(await Promise.all(answers)).toEqual([1, 2, 3, 4]);
});

test("behind a batch of several, those that it has answered leave together once more", async () => {
  const batches: number[] = [];
  const echo = inBatches<number, number>({
    maxItems: 8,
    maxUnderWay: 2,
    fewest: 8,
    async run(items) {
      batches.push(items.length);
      await delay(30);
      return items;
    },
  });
  const askTwice = async (client: number) => {
    await echo(client);
    // No two of them in one turn of the event loop.
    for (let turn = 0; turn < client; turn += 1) await nextTurn();
    await echo(client);
  };
  await Promise.all([0, 1, 2, 3].map(askTwice));
  expect(batches).toEqual([4, 4]);
});

test("a batch that takes longer than usual holds nobody up", async () => {
  const batches: number[][] = [];
  let arrive = (): void => {};
  const echo = inBatches<number, number>({
    maxItems: 8,
    maxUnderWay: 2,
    fewest: 3,
    run(items) {
      batches.push(items);
      return items[0] === 1 ? new Promise((resolve) => (arrive = () => resolve(items))) : Promise.resolve(items);
    },
  });
  const stuck = echo(1);
  await delay(1);
  expect(await echo(2)).toBe(2);
  expect(await echo(3)).toBe(3);
  expect(batches).toEqual([[1], [2], [3]]);
  arrive();
  expect(await stuck).toBe(1);
});

test("items of different kinds never share a batch, and who waits longest leaves first", async () => {
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
  expect(await Promise.all(items.map(echo))).toEqual(items);
  expect(batches).toEqual([["a1", "a2"], ["b1", "b2"], ["a3"]]);
});

test("items that lock the same are never under way in two batches, and hold up nobody else", async () => {
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
  // Two lots: what waits with a batch as it leaves, and what comes while it is under way.
  const answers = ["a1", "a2", "a3", "b1"].map(echo);
  await delay(1);
  answers.push(echo("a4"), echo("b2"));
  await delay(1);
  expect(batches).toEqual([["a1", "a2"], ["b1"]]);
  arrivals[1]!();
  await delay(1);
  expect(batches.slice(2)).toEqual([["b2"]]);
  arrivals[0]!();
  await delay(1);
  expect(batches.slice(3)).toEqual([["a3", "a4"]]);
  for (const arrive of arrivals) arrive();
  expect(await Promise.all(answers)).toEqual(["a1", "a2", "a3", "b1", "a4", "b2"]);
});

test("a crowd behind one lock does not go before who waits for no lock", async () => {
  const batches: string[][] = [];
  const arrivals: (() => void)[] = [];
  const echo = inBatches<string, string>({
    maxItems: 2,
    maxUnderWay: 2,
    fewest: 2,
    lockOf: (item) => item[0],
    async run(items) {
      batches.push(items);
      await new Promise<void>((resolve) => arrivals.push(resolve));
      return items;
    },
  });
  const answers = ["a1", "a2", "a3", "a4", "b1"].map(echo);
  await delay(1);
  expect(batches).toEqual([["a1", "a2"]]);
  arrivals[0]!();
  await expect.poll(() => batches[1]).toEqual(["b1", "a3"]);
  arrivals[1]!();
  await expect.poll(() => batches[2]).toEqual(["a4"]);
  arrivals[2]!();
  expect(await Promise.all(answers)).toEqual(["a1", "a2", "a3", "a4", "b1"]);
});

test("a batch that has failed leaves what it has locked to the next one", async () => {
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
  const outcomes = await Promise.allSettled(["a1", "a2"].map(echo));
  expect(outcomes.map(({ status }) => status)).toEqual(["rejected", "fulfilled"]);
});

test("one bad item fails alone", async () => {
  const echo = inBatches<number, number>({
    maxItems: 8,
    maxUnderWay: 1,
    run: (items) => (items.includes(3) ? Promise.reject(new Error("three")) : Promise.resolve(items)),
  });
  const outcomes = await Promise.allSettled([1, 2, 3, 4].map(echo));
  expect(outcomes.map(({ status }) => status)).toEqual(["fulfilled", "fulfilled", "rejected", "fulfilled"]);
});

test("a batch that has not one outcome for each item fails, and is not done again", async () => {
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

test("when the database is away the whole batch is told so, without asking it again for each", async () => {
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
  "what would wait too long is turned away at once",
  async (locks) => {
    let finish = (): void => {};
    const stalled = inBatches<number, number>({
      ...locks,
      maxItems: 1,
      maxUnderWay: 1,
      run: (items) => new Promise((resolve) => (finish = () => resolve(items))),
    });
    const first = stalled(0);
    await delay(5);
    const crowd = Array.from({ length: 5_001 }, (_, index) => stalled(index));
    await expect(crowd.at(-1)).rejects.toMatchObject({ code: "OVERLOADED", waiting: 5_000 });
    finish();
    expect(await first).toBe(0);
  },
);

test("items of a kind wait for company of their own kind, beside a batch of another kind", async () => {
  const batches: string[][] = [];
  const arrivals: (() => void)[] = [];
  const echo = inBatches<string, string>({
    maxItems: 8,
    maxUnderWay: 4,
    fewest: 3,
    kindOf: (item) => item[0],
    async run(items) {
      batches.push(items);
      await new Promise<void>((resolve) => arrivals.push(resolve));
      return items;
    },
  });
  const answers = [echo("a1")];
  await delay(1);
  answers.push(echo("b1"), echo("a2"), echo("a3"));
  await delay(5);
  expect(batches).toEqual([["a1"], ["b1"]]);
  answers.push(echo("b2"), echo("a4"));
  await delay(5);
  expect(batches).toEqual([["a1"], ["b1"], ["a2", "a3", "a4"]]);
  arrivals[1]!();
  await delay(5);
  expect(batches.at(-1)).toEqual(["b2"]);
  for (const arrive of arrivals) arrive();
  expect(await Promise.all(answers)).toEqual(["a1", "b1", "a2", "a3", "b2", "a4"]);
});

test("items of a kind are served while and after a batch of theirs takes longer than usual", async () => {
  let slow = true;
  const echo = inBatches<string, string>({
    maxItems: 8,
    maxUnderWay: 2,
    fewest: 3,
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
  await delay(120);
  expect(await echo("a3")).toBe("a3");
  const others = Promise.all([echo("a4"), echo("b1")]);
  expect(await Promise.all(first)).toEqual(["a1", "a2"]);
  expect(await others).toEqual(["a4", "b1"]);
  expect(await Promise.all([echo("a5"), echo("b2")])).toEqual(["a5", "b2"]);
});

test("batches of one kind never hold all slots", async () => {
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

test("batches that take longer than usual give their slots to other kinds, up to a limit", async () => {
  const batches: string[] = [];
  const arrivals = new Map<string, () => void>();
  const echo = inBatches<string, string>({
    maxItems: 1,
    maxUnderWay: 2,
    maxUnderWayOfKind: 1,
    maxBesidesLate: 1,
    kindOf: (item) => item[0],
    async run(items) {
      batches.push(...items);
      await new Promise<void>((resolve) => arrivals.set(items[0]!, resolve));
      return items;
    },
  });
  const answers = ["a1", "a2", "b1", "c1", "d1"].map(echo);
  // "a2" waits for its own kind. "c1" leaves once "a1" and "b1" are late, beyond the two slots.
  await expect.poll(() => batches).toEqual(["a1", "b1", "c1"]);
  arrivals.get("c1")!();
  await expect.poll(() => batches).toEqual(["a1", "b1", "c1", "d1"]);
  // Only the first late batch gives its slot: three are under way, so nothing leaves beside "d1".
  arrivals.get("a1")!();
  await expect.poll(() => batches).toEqual(["a1", "b1", "c1", "d1", "a2"]);
  for (const arrive of arrivals.values()) arrive();
  expect(await Promise.all(answers)).toEqual(["a1", "a2", "b1", "c1", "d1"]);
});
