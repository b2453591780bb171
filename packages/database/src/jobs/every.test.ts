import { expect, test } from "vitest";
import { every } from "./every.ts";

const HOUR_MS = 3_600_000;
const log = { warn() {} };

test("a routine runs again after the number of milliseconds that its work returned", async () => {
  const { promise: thirdRun, resolve } = Promise.withResolvers<void>();
  let runs = 0;
  const routine = every(HOUR_MS, log, "trial", async () => {
    runs += 1;
    if (runs === 3) resolve();
    return runs < 3 ? 1 : undefined;
  });
  await thirdRun;
  await routine.stop();
  expect(runs).toBe(3);
});

test("a routine runs again after the interval when its work failed", async () => {
  const { promise: secondRun, resolve } = Promise.withResolvers<void>();
  let runs = 0;
  const routine = every(1, log, "trial", async () => {
    runs += 1;
    if (runs === 1) throw new Error("once");
    resolve();
  });
  await secondRun;
  await routine.stop();
  expect(runs).toBeGreaterThan(1);
});

test("a routine logs a failed run with its name", async () => {
  const warnings: object[] = [];
  const error = new Error("once");
  const routine = every(HOUR_MS, { warn: (facts) => warnings.push(facts) }, "trial", () => Promise.reject(error));
  await routine.stop();
  expect(warnings).toEqual([{ error, routine: "trial" }]);
});
