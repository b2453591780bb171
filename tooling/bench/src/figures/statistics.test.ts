import { expect, test } from "vitest";
import { quantile, spreadOf } from "./statistics.ts";

test("spreadOf returns median, minimum and maximum of unsorted rounds", () => {
  expect(spreadOf([900, 1_000, 400])).toEqual({ median: 900, min: 400, max: 1_000 });
  expect(spreadOf([3, 1])).toEqual({ median: 2, min: 1, max: 3 });
});

test("quantile interpolates between two values", () => {
  const hundred = Array.from({ length: 101 }, (_, index) => index);
  expect(quantile(hundred, 0.99)).toBe(99);
  expect(quantile([10, 20], 0.25)).toBe(12.5);
  expect(quantile([7], 0.99)).toBe(7);
});

test("quantile throws for no values", () => {
  expect(() => quantile([], 0.5)).toThrow("There are no values to take a quantile of.");
});
