import { setImmediate as turn } from "node:timers/promises";
import { expect, test } from "vitest";
import { closedLoop } from "./closed-loop.ts";

test("each client waits for an answer before it sends its next request", async () => {
  const underWay = [0, 0, 0];
  let most = 0;
  const clients = underWay.map((_, index) => async () => {
    underWay[index]! += 1;
    most = Math.max(most, ...underWay);
    await turn();
    underWay[index]! -= 1;
  });
  const result = await closedLoop(clients, { count: 100 });
  expect(result.completed).toBe(100);
  expect(most).toBe(1);
  expect(result.perSecond).toBeCloseTo((100 / result.elapsedMs) * 1_000);
});

test("counts requests that are still open at the end of the load", async () => {
  let done = 0;
  const client = async () => {
    await turn();
    done += 1;
  };
  const { completed, elapsedMs } = await closedLoop([client, client], { durationMs: 20 });
  expect(completed).toBe(done);
  expect(elapsedMs).toBeGreaterThanOrEqual(20);
});

test("a failing client ends the load with its error", async () => {
  await expect(closedLoop([() => Promise.reject(new Error("refused"))], { count: 3 })).rejects.toThrow("refused");
});
