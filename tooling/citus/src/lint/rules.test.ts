import { beforeAll, expect, test } from "vitest";
import type { Catalog } from "./catalog.ts";
import { lint, violationText } from "./lint.ts";
import { migratedCatalog } from "./migrated-catalog.ts";
import { readRegistry } from "../registry/registry.ts";
import { ruleExamples } from "./rule-examples.ts";
import { rules } from "./rules.ts";

const numbered = ruleExamples.map((example, index) => ({ ...example, place: index + 1 }));

let catalog: Catalog;

beforeAll(async () => {
  ({ catalog } = await migratedCatalog(await readRegistry()));
});

test("every rule has an example", () => {
  expect(new Set(ruleExamples.map(({ rule }) => rule))).toEqual(new Set(Object.keys(rules)));
});

test.each(numbered)("the linter finds $rule in example $place", async ({ rule, broken }) => {
  const found = await lint([{ name: "example", text: broken }], catalog);
  expect(found.map(({ rule }) => rule)).toContain(rule);
});

test.each(numbered)("the linter accepts the remedy for $rule in example $place", async ({ accepted }) => {
  expect(await lint([{ name: "example", text: accepted }], catalog)).toEqual([]);
});

test("a violation names the statement, the rule and the remedy", () => {
  expect(violationText({ name: "webhooks.due", rule: "empty-select-list" })).toBe(
    "webhooks.due breaks empty-select-list: a sub-select with an empty list (exists (select from …)) fails with a syntax " +
      "error if it is executed separately. Instead, write select 1.",
  );
});
