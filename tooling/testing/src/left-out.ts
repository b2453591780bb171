import type { TestTagDefinition } from "vitest/config";

declare module "vitest" {
  interface TestTags {
    tags: keyof typeof LEFT_OUT_ON_CLUSTER;
  }
}

/** The tags of tests that the mode "citus" skips, with the reason. The run's summary counts the tests of each tag. */
export const LEFT_OUT_ON_CLUSTER = {
  "one-node-plan":
    "looks at the plans, the buffers, the texts or the number of queries of one PostgreSQL; pnpm citus:audit counts a cluster's commands, and no test sees its plans",
  "own-server": "starts its own PostgreSQL or pooler; pnpm faults kill-nodes lost-worker tests faults on a cluster",
  "many-lenders": "sends the queries for several lenders at once, which are never sent on a cluster",
  "refused-query": "sends a query on purpose that names no lender and locks rows, which Citus refuses",
  "without-citus": "is about a PostgreSQL without the extension citus, or with a substitute for it",
} as const;

/** The tags for vitest's configuration: in the mode "citus" they skip their tests. */
export function testTags(mode: string): TestTagDefinition[] {
  return Object.entries(LEFT_OUT_ON_CLUSTER).map(([name, description]) => ({
    name: name as keyof typeof LEFT_OUT_ON_CLUSTER,
    description,
    skip: mode === "citus",
  }));
}
