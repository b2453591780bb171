import { migrate, newId, transaction } from "@collections/database";
import { createDatabase } from "@collections/entities";
import { directUrl, genericPlan, testDatabase } from "@collections/testing";
import { afterAll, expect, test } from "vitest";
import { anEarning, LATER, NOW } from "../tests/fixture.ts";
import { selectChanged } from "./changed-earnings.ts";
import { addEarnings, changedEarnings, creditEarnings } from "./index.ts";
import { earningsSchema } from "./schema.ts";

const schemas = [earningsSchema];
const { url } = await testDatabase("earnings", async (at) => void (await migrate({ url: at, schemas })));
const database = await createDatabase({ url: directUrl(url), schemas });
afterAll(() => database.close());

test("an earning counts as changed when it was created and when it was credited", async () => {
  const fieldPartnerId = newId();
  const [first, second] = [anEarning({ fieldPartnerId }), anEarning({ fieldPartnerId })];
  await transaction(database.em(), async (tx) => {
    for (const earning of [first, second, anEarning()]) addEarnings(tx, [earning]);
  });
  const since = async (at: Date, after?: string) =>
    (await changedEarnings(database.em(), fieldPartnerId, { since: at, after, limit: 10 })).map(({ id }) => id);
  expect(await since(NOW)).toEqual([first.id, second.id]);
  expect(await since(NOW, first.id)).toEqual([second.id]);
  expect(await since(LATER)).toEqual([]);
  await transaction(database.em(), async (tx) => creditEarnings(tx, [first], LATER));
  expect(await since(LATER)).toEqual([first.id]);
});

test(
  "the plan of the query, prepared on an empty table, uses the index on the field partner",
  { tags: "one-node-plan" },
  async () => {
    const plan = await genericPlan(database.pool, selectChanged.text, `'${newId()}', now(), null, 51`);
    expect(plan).not.toContain("Seq Scan");
    expect(plan).toContain("earning_field_partner");
  },
);
