import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Outcome } from "./audit.ts";
import { readRegistry, type Registry } from "../registry/registry.ts";
import { hashOf, outdated, outdatedText, readVerdicts, STOPPED, verdictOf, writeVerdicts } from "./verdicts.ts";

let folder: string;
let statements: Registry["statements"];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "verdicts-"));
  ({ statements } = await readRegistry());
});

afterAll(() => rm(folder, { recursive: true, force: true }));

test("the file with the recorded verdicts is readable, even if some verdicts are outdated", async () => {
  const verdicts = await readVerdicts();
  expect(verdicts).not.toEqual([]);
  const text = outdatedText(outdated(statements, verdicts));
  if (text !== "") process.stderr.write(`${text}\n`);
});

test("readVerdicts returns what writeVerdicts has written, sorted by name", async () => {
  const file = join(folder, "verdicts.txt");
  const long = { name: "webhooks.lease", hash: hashOf("select 1"), verdict: "all shards, by COPY" };
  const short = { name: "cases.one", hash: hashOf("select 2"), verdict: "routed" };
  await writeVerdicts([long, short], file);
  expect(await readVerdicts(file)).toEqual([short, long]);
  expect(await readFile(file, "utf8")).toContain("pnpm citus:audit --record");
});

test("readVerdicts returns an empty list if the file is missing", async () => {
  expect(await readVerdicts(join(folder, "missing.txt"))).toEqual([]);
});

test("a statement needs a new verdict if its text changes, but not if only its spacing changes", () => {
  const statements = [
    { name: "same", text: "select 1,\n  2" },
    { name: "changed", text: "select 3" },
    { name: "new", text: "select 4" },
  ];
  const verdicts = [
    { name: "same", hash: hashOf("select 1, 2"), verdict: "local" },
    { name: "changed", hash: hashOf("select 2"), verdict: "local" },
    { name: "gone", hash: hashOf("select 5"), verdict: "local" },
  ];
  const found = outdated(statements, verdicts);
  expect(found).toEqual({ unjudged: ["changed", "new"], gone: ["gone"] });
  expect(outdatedText(found)).toBe(
    "2 statements have no current verdict of a cluster: changed, new.\n" +
      "1 verdict is on a statement that no longer exists: gone.\n" +
      "Renew the verdicts on a cluster of Citus: pnpm citus:audit --record postgres://…@coordinator:5432/postgres",
  );
  expect(outdatedText({ unjudged: [], gone: [] })).toBe("");
});

const none: Outcome = { name: "one", isRefused: false, isPulled: false, commands: 0, nodes: 0, copies: 0, prepared: 0 };

test.each([
  ["routed", { commands: 1, nodes: 1 }, ["lender"]],
  ["routed", { commands: 1, nodes: 1 }, ["lender", "reference"]],
  ["routed, by COPY", { commands: 1, nodes: 1, isPulled: true }, ["lender"]],
  ["2 commands on one node", { commands: 2, nodes: 1 }, ["lender"]],
  ["2 commands on 2 nodes", { commands: 2, nodes: 2 }, ["lender", "local"]],
  ["all shards", { commands: 5, nodes: 3 }, ["lender"]],
  ["all shards, by COPY", { commands: 6, nodes: 2, copies: 2 }, ["lender"]],
  ["reference", { commands: 1, nodes: 1 }, ["reference"]],
  [STOPPED, { failure: { sqlState: "22P02", message: "invalid input syntax" } }, ["lender"]],
  ["local", {}, ["local"]],
  ["local", {}, []],
  ["refused 0A000", { isRefused: true, failure: { sqlState: "0A000", message: "no" } }, ["lender"]],
] as const)("verdictOf returns the verdict: %s", (verdict, outcome, placements) => {
  expect(verdictOf({ ...none, ...outcome }, new Set(placements), 4)).toBe(verdict);
});
