import { expect, test } from "vitest";
import { flatnessOf, quantile, type Sample } from "./flatness.ts";

const CALM: Sample = {
  atS: 0,
  serverMiB: 200,
  workerMiB: 180,
  serverFiles: 40,
  workerFiles: 30,
  connections: 12,
  waiting: 5,
  confirmations: 3_000,
  confirmP50Ms: 8,
  confirmP95Ms: 20,
  listP50Ms: 15,
};

function samples(change: (minute: number) => Partial<Sample>): Sample[] {
  return Array.from({ length: 60 }, (_, minute) => ({ ...CALM, atS: minute * 60, ...change(minute) }));
}

function growing(change: (minute: number) => Partial<Sample>): string[] {
  return flatnessOf(samples(change)).flatMap(({ measure, isFlat }) => (isFlat ? [] : [measure]));
}

test("flatnessOf reports constant samples as flat, even if checkpoints disturb a few of them", () => {
  expect(growing(() => ({}))).toEqual([]);
  expect(growing((minute) => (minute % 10 === 0 ? { confirmP95Ms: 900, waiting: 5_000 } : {}))).toEqual([]);
});

test.each([
  ["server memory, MiB", (minute: number) => ({ serverMiB: 200 + minute * 4 })],
  ["worker memory, MiB", (minute: number) => ({ workerMiB: 180 + minute * 4 })],
  ["server open files", (minute: number) => ({ serverFiles: 40 + minute })],
  ["worker open files", (minute: number) => ({ workerFiles: 30 + minute })],
  ["database connections", (minute: number) => ({ connections: 12 + Math.floor(minute / 6) })],
  ["events waiting", (minute: number) => ({ waiting: minute * 50 })],
  ["confirmation p50, ms", (minute: number) => ({ confirmP50Ms: 8 + minute / 3 })],
  ["confirmation p95, ms", (minute: number) => ({ confirmP95Ms: 20 + minute * 2 })],
  ["list p50, ms", (minute: number) => ({ listP50Ms: 15 + minute })],
])("flatnessOf reports growth of no other value if this value grows: %s", (measure, change) => {
  expect(growing(change)).toEqual([measure]);
});

test("flatnessOf ignores samples without answers, but reports growth if most samples have none", () => {
  const silent = { confirmations: 0, confirmP50Ms: 0, confirmP95Ms: 0 };
  expect(growing((minute) => (minute < 30 && minute % 2 === 0 ? silent : {}))).toEqual([]);
  expect(growing((minute) => (minute < 55 ? silent : {}))).toEqual(["confirmation p50, ms", "confirmation p95, ms"]);
});

test("flatnessOf throws a RangeError if there are too few samples", () => {
  expect(() => flatnessOf([CALM, CALM])).toThrow(RangeError);
});

test("quantile returns 0 for no values, and a single value unchanged", () => {
  expect([quantile([], 0.5), quantile([7], 0.95), quantile([3, 1, 2], 0.5)]).toEqual([0, 7, 2]);
});
