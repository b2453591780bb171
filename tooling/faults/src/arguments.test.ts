import { expect, test } from "vitest";
import { readArguments, usage, UsageError, type Wish } from "./arguments.ts";
import { faults } from "./faults.ts";

function wish(...args: string[]): Wish {
  const read = readArguments(args, faults, 4_000_123);
  if (read === "help") throw new Error("This was to be no question for help.");
  return read;
}

test("without a name every fault that this checkout can play is meant, at length, with a seed of the moment", () => {
  expect(wish()).toEqual({
    faults: faults.filter(({ isByNameOnly }) => isByNameOnly !== true),
    seed: 123,
    isQuick: false,
    rounds: undefined,
    atATime: 1,
    resumes: false,
    json: false,
  });
});

test("names, numbers and forms are read", () => {
  const { faults: named, ...rest } = wish(
    "kill-servers",
    "--seed",
    "7",
    "--rounds",
    "3",
    "--quick",
    "--json",
    "--resume",
  );
  expect(named.map(({ name }) => name)).toEqual(["kill-servers"]);
  expect(rest).toEqual({ seed: 7, isQuick: true, rounds: 3, atATime: 3, resumes: true, json: true });
});

test("a fault that needs a cluster is played only by its name", () => {
  expect(wish().faults.map(({ name }) => name)).not.toContain("kill-nodes");
  expect(wish("lost-worker", "kill-nodes").faults.map(({ name }) => name)).toEqual(["kill-nodes", "lost-worker"]);
});

test.each([
  [["kill-cats"], "There is no fault named kill-cats."],
  [["--seed", "x"], '--seed takes a whole number from 0 on, not "x".'],
  [["--rounds", "0"], '--rounds takes a whole number from 1 on, not "0".'],
  [["--loud"], "Unknown option '--loud'"],
])("%j is not understood", (args, message) => {
  expect(() => wish(...args)).toThrow(UsageError);
  expect(() => wish(...args)).toThrow(message);
});

test("help names every fault with its sentence", () => {
  expect(readArguments(["--help"], faults, 0)).toBe("help");
  for (const { name, sentence } of faults) {
    expect(usage(faults)).toContain(name);
    expect(usage(faults)).toContain(sentence);
  }
});

test("each fault has a name and a sentence of its own", () => {
  expect(new Set(faults.map(({ name }) => name)).size).toBe(faults.length);
  for (const { name, sentence } of faults) {
    expect(name).toMatch(/^[a-z]+(-[a-z]+)*$/);
    expect(sentence).toMatch(/^[A-Z].+\.$/);
  }
});
