import { beforeAll, expect, test } from "vitest";
import { hotStatements } from "../registry/hot-statements.ts";
import { migratedCatalog } from "../lint/migrated-catalog.ts";
import { readRegistry, type Registry } from "../registry/registry.ts";
import { type Finding, isFault } from "./report.ts";
import { UnusableClusterError, makeScratchDatabase } from "./scratch-database.ts";
import { STOPPED } from "./verdicts.ts";

let registry: Registry;
let url: string;

beforeAll(async () => {
  registry = await readRegistry();
  ({ url } = await migratedCatalog(registry));
});

test("every name in the list of hot statements belongs to a registered statement", () => {
  const names = new Set(registry.statements.map(({ name }) => name));
  expect(hotStatements.flatMap(({ names: hot }) => hot).filter((name) => !names.has(name))).toEqual([]);
});

const routed: Finding = {
  name: "shop.one",
  hash: "0",
  verdict: "routed",
  isRefused: false,
  isPulled: false,
  commands: 1,
  nodes: 1,
  copies: 0,
  prepared: 0,
  hotPaths: [],
  violations: [],
};

test.each<[string, Partial<Finding>, boolean]>([
  ["a routed statement", {}, false],
  ["a fan-out", { commands: 32, nodes: 2 }, false],
  ["a refused statement", { isRefused: true }, true],
  ["a routed statement of a hot path", { hotPaths: ["a mint"] }, false],
  ["two commands on a hot path", { hotPaths: ["a mint"], commands: 2 }, true],
  ["a COPY on a hot path", { hotPaths: ["a mint"], copies: 1 }, true],
  ["a hot statement that stopped before its first command", { hotPaths: ["a mint"], verdict: STOPPED }, true],
  ["an INSERT on a hot path that would send a COPY", { hotPaths: ["a mint"], isPulled: true }, true],
])("isFault of %s is %s", (_case, finding, expected) => {
  expect(isFault({ ...routed, ...finding })).toBe(expected);
});

test("makeScratchDatabase rejects a PostgreSQL without Citus", { tags: "without-citus" }, async () => {
  const attempt = makeScratchDatabase(url);
  await expect(attempt).rejects.toThrow(UnusableClusterError);
  await expect(attempt).rejects.toThrow("The extension citus is not installed in this database");
});
