import { Client } from "pg";
import { beforeAll, expect, inject, test } from "vitest";
import { migratedCatalog } from "../lint/migrated-catalog.ts";
import { readRegistry, type Registry } from "../registry/registry.ts";
import { audit, isFault, reportText, verdictsOf } from "./report.ts";
import { makeScratchDatabase } from "./scratch-database.ts";
import { hashOf } from "./verdicts.ts";

let registry: Registry;
let url: string;

beforeAll(async () => {
  registry = await readRegistry();
  ({ url } = await migratedCatalog(registry));
});

const statements = [
  { name: "shop.of-one", text: "select id from webhooks.endpoint where lender_id = $1" },
  { name: "shop.of-all", text: "select id from webhooks.endpoint" },
  { name: "shop.reference", text: "select id from lenders.lender where id = $1" },
  { name: "shop.local", text: "select id from field_partners.session where id = $1" },
  { name: "shop.refused", text: "select id from webhooks.event where id = $1 for update" },
  { name: "shop.lock", text: "lock table only webhooks.event in access share mode" },
  {
    name: "shop.copied",
    text: "insert into webhooks.let_go (lender_id, loan, sequence) select * from unnest($1::uuid[], $2::text[], $3::bigint[])",
  },
  {
    name: "shop.inserted",
    text: "insert into webhooks.let_go (lender_id, loan, sequence) values ($1, 'left behind', 1)",
  },
  { name: "shop.stopped", text: "update webhooks.endpoint set state = $2 where lender_id = $1" },
  { name: "shop.one-of-many", text: "select 1" },
];

test("the audit distinguishes routed, scattered, copied and refused statements", async () => {
  const all = { ...registry, statements };
  const report = await audit(url, all);
  expect(Object.fromEntries(verdictsOf(report, all).map(({ name, verdict }) => [name, verdict]))).toEqual({
    "shop.of-one": "routed",
    "shop.of-all": "all shards",
    "shop.reference": "reference",
    "shop.local": "local",
    "shop.refused": "refused 0A000",
    "shop.lock": "local",
    "shop.copied": "routed, by COPY",
    "shop.inserted": "routed",
    "shop.stopped": "routed",
    "shop.one-of-many": "not sent on a cluster",
  });
  expect(verdictsOf(report, all)[0]).toMatchObject({ hash: hashOf(statements[0]!.text) });
  expect(report.findings.filter(isFault).map(({ name }) => name)).toEqual(["shop.refused"]);
  const text = reportText(report);
  expect(text).toContain("shop.refused: 0A000 could not run distributed query with FOR UPDATE/SHARE commands");
  expect(text).toContain("lock-of-many-lenders: say lender_id = $n");
  expect(text).toMatch(/shop\.stopped: 23514/);
});

test("the audit leaves no rows behind", async () => {
  expect(await rowsOf(url, "select 1 from webhooks.let_go where loan = 'left behind'")).toBe(0);
});

test("a scratch database is distributed, and drop removes it from all nodes", async () => {
  const scratch = await makeScratchDatabase(url);
  const name = new URL(scratch.url).pathname.slice(1);
  const nodes = [inject("adminUrl"), ...inject("workerUrls")];
  const databases = () =>
    Promise.all(nodes.map((node) => rowsOf(node, `select 1 from pg_database where datname = '${name}'`)));
  try {
    expect(
      await rowsOf(scratch.url, "select 1 from citus_tables where citus_table_type = 'distributed'"),
    ).toBeGreaterThan(10);
    expect(await databases()).toEqual(nodes.map(() => 1));
  } finally {
    await scratch.drop();
  }
  expect(await databases()).toEqual(nodes.map(() => 0));
});

async function rowsOf(url: string, text: string): Promise<number> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(text)).rows.length;
  } finally {
    await client.end();
  }
}
