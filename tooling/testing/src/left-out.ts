import type { TestTagDefinition } from "vitest/config";

declare module "vitest" {
  interface TestTags {
    tags: keyof typeof LEFT_OUT_ON_CLUSTER;
  }
}

/** Tags of the tests that the mode "citus" leaves out, with the reason. The run's summary counts the tests of each. */
export const LEFT_OUT_ON_CLUSTER = {
  "one-node-plan":
    "looks at the plan, the buffers or the texts of one PostgreSQL; pnpm citus:audit counts a cluster's commands, and no test sees its plans",
  "own-server":
    "starts a PostgreSQL or a pooler of its own; pnpm faults kill-nodes lost-worker plays faults on a cluster",
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
