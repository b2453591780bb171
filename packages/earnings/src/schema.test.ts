import { migrate } from "@collections/database";
import { createDatabase } from "@collections/entities";
import { directUrl, genericPlan, testDatabase } from "@collections/testing";
import { afterAll, expect, test } from "vitest";
import { selectByBooking } from "./earnings-by-booking.ts";
import { selectOfBookings } from "./read-earnings.ts";
import { lockOfBookings, selectPending, upsertCredited } from "./write-earnings.ts";
import { EarningEntity, earningsSchema } from "./schema.ts";

const schemas = [earningsSchema];
const { url } = await testDatabase("earnings", async (at) => void (await migrate({ url: at, schemas })));
const database = await createDatabase({ url: directUrl(url), schemas, poolMax: 1 });
afterAll(() => database.close());

const noOtherColumns = Array.from({ length: 19 }, () => "'{}'").join(", ");

const byBooking = /using earning_of_payment (.|\n)*using earning_of_one_reversal (.|\n)*using earning_of_balance /;

const byCase = /using earning_pending .*\n.*lender_id = .*case_id = /;

// Each plan is prepared on empty tables. This is the worst case, because PostgreSQL then expects a sequential scan to
// cost no more than an index scan.
test.each([
  { ...selectPending.ofOne, values: "'{}', '{}', null", finds: byCase },
  { ...selectPending.ofMany, values: "'{}', '{}'", finds: byCase },
  { ...lockOfBookings, values: "null, '{}'", finds: byBooking },
  { ...selectOfBookings, values: "null, '{}'", finds: byBooking },
  { ...selectByBooking, values: "null, null, null", finds: byBooking },
  { ...upsertCredited.ofOne, values: `null, ${noOtherColumns}`, finds: /Conflict Arbiter Indexes: earning_pkey/ },
  { ...upsertCredited.ofMany, values: `'{}', ${noOtherColumns}`, finds: /Conflict Arbiter Indexes: earning_pkey/ },
])(
  "the plan of $name, prepared on an empty table, uses the index",
  { tags: "one-node-plan" },
  async ({ text, values, finds }) => {
    const plan = await genericPlan(database.pool, text, values);
    expect(plan).not.toContain("Seq Scan");
    expect(plan).toMatch(finds);
  },
);

test("MikroORM can read the entity from its table", async () => {
  expect(await database.em().find(EarningEntity, {})).toEqual([]);
});
