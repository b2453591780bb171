import type { TestTagDefinition } from "vitest/config";

declare module "vitest" {
  interface TestTags {
    tags: keyof typeof LEFT_OUT_ON_CLUSTER;
  }
}

/** Tags of the tests that the mode "citus" leaves out, with the reason. The run's summary counts the tests of each. */
export const LEFT_OUT_ON_CLUSTER = {
  "one-node-plan": "looks at the plan or the buffers of one PostgreSQL; pnpm citus:audit checks a cluster's plans",
  "own-server": "starts a PostgreSQL or a pooler of its own, so a cluster would make no difference",
  "forged-rows": "writes rows by SQL that Citus refuses and the product never sends",
  "many-lenders": "sends the queries for several lenders at once, which are never sent on a cluster",
  "without-citus": "is about a PostgreSQL without the extension citus, or with a stand-in for it",
} as const;

/** The tags for vitest's configuration: in the mode "citus" they skip their tests. */
export function testTags(mode: string): TestTagDefinition[] {
  return Object.entries(LEFT_OUT_ON_CLUSTER).map(([name, description]) => ({
    name: name as keyof typeof LEFT_OUT_ON_CLUSTER,
    description,
    skip: mode === "citus",
  }));
}
