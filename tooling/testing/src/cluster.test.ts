import { expect, inject, test } from "vitest";
import { clusterUrls, ClusterError, createClusterDatabase, type NodeFacts, nodeFaults, onNode } from "./cluster.ts";

const COORDINATOR = "postgres://postgres:secret@one:5432/postgres";
const WORKER = "postgres://postgres:secret@two/postgres";

test("clusterUrls reads the coordinator and the workers from CITUS_URLS", () => {
  expect(clusterUrls({ CITUS_URLS: ` ${COORDINATOR}, ${WORKER},` })).toEqual([COORDINATOR, WORKER]);
});

test.each([
  ["not set", {}, "CITUS_URLS is not set. Example: CITUS_URLS=postgres://"],
  ["empty", { CITUS_URLS: " , " }, "CITUS_URLS is not set. Example: CITUS_URLS=postgres://"],
  ["a coordinator without workers", { CITUS_URLS: COORDINATOR }, "CITUS_URLS names one node; expected a coordinator"],
  ["a list with the same node twice", { CITUS_URLS: `${WORKER},${WORKER}` }, "CITUS_URLS names two:5432 twice."],
  [
    "a list with a text that is not a URL",
    { CITUS_URLS: `${COORDINATOR},two:5432` },
    '"two:5432" in CITUS_URLS is not a postgres:// URL.',
  ],
])("clusterUrls rejects CITUS_URLS if it is %s", (_case, env, message) => {
  expect(() => clusterUrls(env)).toThrow(message);
  expect(() => clusterUrls(env)).toThrow(ClusterError);
});

const SOUND: NodeFacts = {
  role: "postgres",
  isSuperuser: true,
  citus: "13.2-1",
  isPreloaded: true,
  maxPreparedTransactions: 200,
};

test.each<[string, Partial<NodeFacts>, string[]]>([
  ["nothing", {}, []],
  [
    "a superuser",
    { role: "app", isSuperuser: false, isPreloaded: false },
    ["two:5432: the role app is not a superuser"],
  ],
  ["the extension", { citus: null, isPreloaded: false }, ["two:5432: the extension citus is not installed"]],
  ["the library", { isPreloaded: false }, ["two:5432: shared_preload_libraries lacks citus."]],
  ["prepared transactions", { maxPreparedTransactions: 0 }, ["two:5432: max_prepared_transactions is 0."]],
  ["two things", { citus: null, maxPreparedTransactions: 0 }, ["two:5432: the extension", "two:5432: max_prepared"]],
])("nodeFaults reports every fault of a node without %s", (_case, facts, expected) => {
  const faults = nodeFaults("two:5432", { ...SOUND, ...facts });
  expect(faults).toEqual(expected.map((text) => expect.stringContaining(text)));
});

// Nothing listens on port 1.
test("createClusterDatabase names a node that does not answer, without showing the password of its URL", async () => {
  const creation = createClusterDatabase(["postgres://postgres:secret@127.0.0.1:1/postgres"], "never_made");
  await expect(creation).rejects.toThrow(
    /cluster:\n {2}127\.0\.0\.1:1: cannot connect \(connect ECONNREFUSED 127\.0\.0\.1:1\)\. Check CITUS_URLS\.$/,
  );
});

test(
  "createClusterDatabase rejects a PostgreSQL without the extension citus, and creates nothing",
  { tags: "without-citus" },
  async () => {
    const url = inject("adminUrl");
    const creation = createClusterDatabase([url], "never_made");
    await expect(creation).rejects.toThrow("the extension citus is not installed on this server.");
    const found = await onNode(url, (client) => client.query("select from pg_database where datname = 'never_made'"));
    expect(found.rowCount).toBe(0);
  },
);
