import { expect, test } from "vitest";
import { readArguments, usage, UsageError, type Options } from "./arguments.ts";
import { faults } from "./faults.ts";

function options(...args: string[]): Options {
  const read = readArguments(args, faults, 4_000_123);
  if (read === "help") throw new Error("Unexpected: the arguments were read as --help.");
  return read;
}

test("no arguments mean every long fault without cluster and pooler", () => {
  expect(options()).toEqual({
    faults: faults.filter(({ isByNameOnly, pooler }) => isByNameOnly !== true && pooler !== "needed"),
    seed: 123,
    isQuick: false,
    rounds: undefined,
    atATime: 1,
    usesPooler: false,
    resumes: false,
    json: false,
  });
});

test("pnpm faults reads the names of faults and the options from the command line", () => {
  const { faults: named, ...rest } = options(
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
  expect(rest).toEqual({
    seed: 7,
    isQuick: true,
    rounds: 3,
    atATime: 3,
    usesPooler: false,
    resumes: true,
    json: true,
  });
});

test("pnpm faults selects a fault that needs a cluster only if the command line names it", () => {
  expect(options().faults.map(({ name }) => name)).not.toContain("kill-nodes");
  expect(options("lost-worker", "kill-nodes").faults.map(({ name }) => name)).toEqual(["kill-nodes", "lost-worker"]);
});

test("pnpm faults --pooler pgbouncer adds the pooler's faults and leaves migrations out", () => {
  const { faults: selected, usesPooler } = options("--pooler", "pgbouncer");
  expect(usesPooler).toBe(true);
  const names = selected.map(({ name }) => name);
  expect(names).toEqual(expect.arrayContaining(["kill-pooler", "freeze-pooler", "kill-servers", "restart-postgres"]));
  expect(names.filter((name) => ["kill-migration", "kill-nodes", "lost-worker"].includes(name))).toEqual([]);
});

test.each([
  [["--pooler", "pgcat"], '--pooler must be "pgbouncer", got "pgcat".'],
  [["kill-pooler"], "kill-pooler needs --pooler pgbouncer."],
  [["kill-nodes", "--pooler", "pgbouncer"], "kill-nodes cannot run with --pooler."],
  [["kill-cats"], "There is no fault named kill-cats."],
  [["--seed", "x"], '--seed must be a whole number from 0, got "x".'],
  [["--rounds", "0"], '--rounds must be a whole number from 1, got "0".'],
  [["--loud"], "Unknown option '--loud'"],
])("pnpm faults rejects the arguments %j", (args, message) => {
  expect(() => options(...args)).toThrow(UsageError);
  expect(() => options(...args)).toThrow(message);
});

test("--help lists every fault with its description", () => {
  expect(readArguments(["--help"], faults, 0)).toBe("help");
  for (const { name, sentence } of faults) {
    expect(usage(faults)).toContain(name);
    expect(usage(faults)).toContain(sentence);
  }
});

test("every fault has a unique name and description", () => {
  expect(new Set(faults.map(({ name }) => name)).size).toBe(faults.length);
  for (const { name, sentence } of faults) {
    expect(name).toMatch(/^[a-z]+(-[a-z]+)*$/);
    expect(sentence).toMatch(/^[A-Z].+\.$/);
  }
});
