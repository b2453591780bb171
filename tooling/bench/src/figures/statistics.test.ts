import { expect, test } from "vitest";
import { quantile, spreadOf } from "./statistics.ts";

test("the spread of rounds is their middle one and their ends, in whatever order they came", () => {
  expect(spreadOf([900, 1_000, 400])).toEqual({ median: 900, min: 400, max: 1_000 });
  expect(spreadOf([3, 1])).toEqual({ median: 2, min: 1, max: 3 });
});

test("a quantile lies between two values in proportion", () => {
  const hundred = Array.from({ length: 101 }, (_, index) => index);
  expect(quantile(hundred, 0.99)).toBe(99);
  expect(quantile([10, 20], 0.25)).toBe(12.5);
  expect(quantile([7], 0.99)).toBe(7);
});

test("nothing measured has no quantile", () => {
  expect(() => quantile([], 0.5)).toThrow("Nothing was measured.");
});
