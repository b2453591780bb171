import { createDatabase, inSchema, migrate, newId, SchemaElsewhereError, type Table } from "@collections/database";
import { directUrl, emptyDatabase, testDatabase } from "@collections/testing";
import { afterAll, expect, test } from "vitest";
import { leaseHeads, leaseHeadsOfMany, releaseLeases, selectBacklogs } from "./dispatch/lease.ts";
import { recordDeliveredOfMany } from "./dispatch/record-delivered.ts";
import { settleDeliveries } from "./dispatch/record-results.ts";
import { PARTITIONED } from "./storage/retention.ts";
import { webhooksSchema } from "./schema.ts";

const { url } = await testDatabase("webhooks", async (at) => {
  await migrate({ url: at, schemas: [webhooksSchema], jobs: true });
});
const database = await createDatabase({ url: directUrl(url), schemas: [webhooksSchema], poolMax: 1 });
afterAll(() => database.close());

const uuid = newId();
const noResults = Array.from({ length: 8 }, () => "'{}'").join(", ");

const byKey = String.raw`pkey Index Cond: \(\(lender_id = .* AND \(id (?:= |>= .* AND \(id <= )`;
const byEndpoint = String.raw`waiting Index Cond: \(+endpoint_id = `;
const byLoan = String.raw`retrying_loan Index Cond: \(\(endpoint_id = .* AND \(loan = .* AND \(sequence < `;

// Empty tables are the worst case: every index then looks as good to the planner as the right one.
test.each([
  { ...leaseHeads, values: `'${uuid}', '${uuid}', 25000, '', 32, false, 5000, 5` },
  { ...leaseHeadsOfMany, values: `'{}', '${uuid}', 25000, '{}', '{}', '{}', 5000, 5` },
  { ...releaseLeases, values: `'${uuid}', '{}', '{}'` },
  { ...settleDeliveries, values: `'${uuid}', ${noResults}` },
  { ...recordDeliveredOfMany, values: Array.from({ length: 9 }, () => "'{}'").join(", ") },
  { ...selectBacklogs.ofAll, values: "" },
])(
  "the query $name, prepared on empty tables, reads no whole table and restricts each index by the expected columns",
  { tags: "one-node-plan" },
  async ({ text, values }) => {
    const plan = await genericPlan(text, values);
    expect(plan).not.toMatch(/Seq Scan on (delivery|event)/);
    const scans = [...plan.matchAll(/using (?:delivery|event_(?:first|default))_(\w+) on .*\n\s*(.*)/g)];
    expect(scans.length).toBeGreaterThan(0);
    for (const [, index, condition] of scans) {
      expect(`${index} ${condition}`).toMatch(new RegExp(`^(${byKey}|${byEndpoint}|${byLoan})`));
    }
  },
);

test("migrate refuses another schema name unless the webhooks are further ones", async () => {
  const at = directUrl((await emptyDatabase()).url);
  await migrate({ url: at, schemas: [webhooksSchema] });
  const refused = migrate({ url: at, schemas: [inSchema(webhooksSchema, "acme_webhooks")] });
  await expect(refused).rejects.toThrow(SchemaElsewhereError);
  await expect(refused).rejects.toThrow("keep their name: webhooksSchema. If acme_webhooks shall have further tables");
  const further = inSchema(webhooksSchema, "acme_webhooks", { another: true });
  expect((await migrate({ url: at, schemas: [further] })).applied).toHaveLength(webhooksSchema.migrations.length);
});

test("the columns of every table are those of its definition", async () => {
  const types: Readonly<Record<string, string>> = { "timestamp with time zone": "timestamptz" };
  for (const defined of webhooksSchema.tables ?? []) {
    const table = defined as Table<Record<string, unknown>>;
    const { rows } = await database.pool.query<{ name: string; type: string; nullable: boolean }>(
      `select attname as name, format_type(atttypid, atttypmod) as type, not attnotnull as nullable from pg_attribute
       where attrelid = $1::regclass and attnum > 0 and not attisdropped order by attname`,
      [table.name],
    );
    const columns = table.properties.map((property) => ({
      name: table.column(property),
      type: table.type(property),
      nullable: table.isNullable(property),
    }));
    const byName = columns.toSorted((a, b) => (a.name < b.name ? -1 : 1));
    expect(byName).toEqual(rows.map((row) => ({ ...row, type: types[row.type] ?? row.type })));
  }
});

test("retention has a row for each partitioned table", async () => {
  const { rows } = await database.pool.query("select from webhooks.retention");
  expect(rows).toHaveLength(PARTITIONED.length);
});

test("no index of the delivery table has a column of the lease in its key or its condition", async () => {
  const { rows } = await database.pool.query<{ definition: string }>(
    "select indexdef as definition from pg_indexes where schemaname = 'webhooks' and tablename = 'delivery'",
  );
  expect(rows.length).toBeGreaterThan(1);
  for (const { definition } of rows) expect(definition).not.toMatch(/claim_id|leased_until/);
});

async function genericPlan(text: string, values: string): Promise<string> {
  await database.pool.query("set plan_cache_mode = force_generic_plan");
  await database.pool.query(`prepare trial as ${text}`);
  const execute = values === "" ? "execute trial" : `execute trial (${values})`;
  const { rows } = await database.pool.query<{ "QUERY PLAN": string }>(`explain ${execute}`);
  await database.pool.query("deallocate trial");
  return rows.map((row) => row["QUERY PLAN"]).join("\n");
}
