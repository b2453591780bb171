import { expect, test } from "vitest";
import { isUnavailable, oneAfterAnother } from "./index.ts";

test("works on every item in order, and throws what failed at the end", async () => {
  const seen: number[] = [];
  const lost = Object.assign(new Error("connection to the remote node failed"), { code: "08006" });
  const outcome: unknown = await oneAfterAnother([1, 2, 3, 4], async (number) => {
    seen.push(number);
    if (number % 2 === 1) throw lost;
  }).catch((error: unknown) => error);
  expect(seen).toEqual([1, 2, 3, 4]);
  expect(outcome).toMatchObject({ message: "2 of 4 items failed.", errors: [lost, lost] });
  expect(isUnavailable(outcome)).toBe(true);
});

test("does not throw when nothing fails", async () => {
  await expect(oneAfterAnother([1, 2], async () => {})).resolves.toBeUndefined();
});
