import { createDatabase, migrate, newId } from "@collections/database";
import { directUrl, testDatabase } from "@collections/testing";
import { afterAll, expect, test } from "vitest";
import { COUNT, READ } from "./replay-scope.ts";
import { webhooksSchema } from "../schema.ts";

const { url } = await testDatabase("webhooks", async (at) => {
  await migrate({ url: at, schemas: [webhooksSchema], jobs: true });
});
const database = await createDatabase({ url: directUrl(url), schemas: [webhooksSchema], poolMax: 1 });
afterAll(() => database.close());

const uuid = newId();
const stretch = `'${uuid}', '${uuid}', '${uuid}', null, '{}', null, null, null`;

const BY_KEY = /^pkey Index Cond: \(\(lender_id = \$1\) AND \(id (> \$2\) AND \(id <= \$3|= ANY \(\(InitPlan)/;
const PARKED =
  /^parked Index Cond: \(\(ROW\(endpoint_id, id\) > ROW\(.*, \$2\)\) AND \(ROW\(endpoint_id, id\) <= ROW\(.*, \$3\)\)\)$/;

// The worst case: with empty tables, every index looks as good to the planner as the right one.
test.each([
  { ...COUNT.all, values: stretch, way: BY_KEY },
  { ...COUNT.parked, values: stretch, way: PARKED },
  { ...COUNT.ofLoan, values: `${stretch}, 'LN-1'`, way: BY_KEY },
  { ...READ.all, values: `${stretch}, 20000, 51`, way: BY_KEY },
  { ...READ.parked, values: `${stretch}, 20000, 51`, way: PARKED },
  { ...READ.ofLoan, values: `${stretch}, 20000, 51, 'LN-1'`, way: BY_KEY },
])(
  "the query $name, prepared on empty tables, reads a range of its index and sorts nothing",
  { tags: "one-node-plan" },
  async ({ text, values, way }) => {
    const plan = await genericPlan(text, values);
    expect(plan).not.toMatch(/Seq Scan/);
    const [, index, condition] = /using delivery_(\w+) on .*\n\s*(.*)/.exec(plan)!;
    expect(`${index} ${condition}`).toMatch(way);
  },
);

async function genericPlan(text: string, values: string): Promise<string> {
  await database.pool.query("set plan_cache_mode = force_generic_plan");
  await database.pool.query(`prepare trial as ${text}`);
  const { rows } = await database.pool.query<{ "QUERY PLAN": string }>(`explain execute trial (${values})`);
  await database.pool.query("deallocate trial");
  return rows.map((row) => row["QUERY PLAN"]).join("\n");
}
