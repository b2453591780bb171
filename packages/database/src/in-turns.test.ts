import { expect, test } from "vitest";
import { inTurns } from "./in-turns.ts";

test("inTurns processes the items in order, and lets other work of the process run in between", async () => {
  let turns = 0;
  const ticking = setInterval(() => (turns += 1), 1);
  const order: number[] = [];
  const results = await inTurns([10, 20, 30, 40], (item, index) => {
    const endMs = performance.now() + 25;
    while (performance.now() < endMs);
    order.push(index);
    return item + index;
  });
  clearInterval(ticking);
  expect(results).toEqual([10, 21, 32, 43]);
  expect(order).toEqual([0, 1, 2, 3]);
  expect(turns).toBeGreaterThanOrEqual(3);
});

test("inTurns rejects with the error of the first item that throws", async () => {
  const worked: number[] = [];
  const failing = inTurns([1, 2, 3], (item) => {
    worked.push(item);
    if (item === 2) throw new Error("two");
  });
  await expect(failing).rejects.toThrow("two");
  expect(worked).toEqual([1, 2]);
});
