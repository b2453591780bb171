import type { TestTagDefinition } from "vitest/config";

declare module "vitest" {
  interface TestTags {
    tags: keyof typeof LEFT_OUT_ON_CLUSTER;
  }
}

/** The tags of tests that the mode "citus" skips, with the reason. The run's summary counts the tests of each tag. */
export const LEFT_OUT_ON_CLUSTER = {
  "one-node-plan":
    "checks the plans, buffers, texts or number of queries of one PostgreSQL; on a cluster, pnpm citus:audit counts the commands, and no test checks the plans",
  "own-server": "starts its own PostgreSQL or pooler; to test faults on a cluster: pnpm faults kill-nodes lost-worker",
  "many-lenders": "sends queries for several lenders at once, which the service never sends on a cluster",
  "refused-query": "sends, on purpose, a query that names no lender and locks rows, which Citus refuses",
  "without-citus": "tests a PostgreSQL without the extension citus, or with a substitute for it",
} as const;

/** Returns the tags for vitest's configuration. In the mode "citus", tests with these tags are skipped. */
export function testTags(mode: string): TestTagDefinition[] {
  return Object.entries(LEFT_OUT_ON_CLUSTER).map(([name, description]) => ({
    name: name as keyof typeof LEFT_OUT_ON_CLUSTER,
    description,
    skip: mode === "citus",
  }));
}
