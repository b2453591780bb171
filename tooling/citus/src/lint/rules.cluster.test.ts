import { beforeAll, expect, inject, test } from "vitest";
import { runEach } from "../audit/audit.ts";
import { migratedCatalog } from "./migrated-catalog.ts";
import { readRegistry } from "../registry/registry.ts";
import { ruleExamples } from "./rule-examples.ts";

const numbered = ruleExamples.map((example, index) => ({ ...example, place: index + 1 }));

let url: string;

beforeAll(async () => {
  ({ url } = await migratedCatalog(await readRegistry()));
});

test.each(numbered)(
  "example $place, which breaks $rule, has the documented effect on a cluster: $onCluster",
  async ({ broken, onCluster }) => {
    expect(await whatHappens(broken)).toBe(onCluster);
  },
);

test.each(numbered)("a cluster accepts the remedy for $rule in example $place", async ({ accepted }) => {
  expect(await whatHappens(accepted)).toBe("accepts");
});

async function whatHappens(text: string): Promise<string> {
  const [outcome] = await runEach(url, [{ name: "example", text }]);
  const { isRefused, failure, copies, nodes } = outcome!;
  if (isRefused) return "refuses";
  if (failure) return failure.message;
  if (copies > 0 && text.startsWith("insert")) return "copies";
  return text.endsWith("for update") && nodes === inject("workerUrls").length ? "locks-all-nodes" : "accepts";
}
