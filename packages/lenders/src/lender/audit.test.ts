import { migrate, newId, transaction } from "@collections/database";
import { createDatabase } from "@collections/entities";
import { genericPlan, testDatabase } from "@collections/testing";
import { afterAll, expect, test } from "vitest";
import { actsOnLenders, actsOnLoan, recordAct } from "../index.ts";
import { lendersSchema } from "../schema.ts";
import { selectByAct, selectByActor, selectOfLender, selectOfLoan } from "./audit.ts";

const schemas = [lendersSchema];
const { url } = await testDatabase("lenders", async (url) => void (await migrate({ url, schemas })));
const database = await createDatabase({ url, schemas });
afterAll(() => database.close());

test("actsOnLoan returns the actions on one loan of one lender, newest first", async () => {
  const [lenderId, other] = [newId(), newId()];
  await transaction(database.em(), async (tx) => {
    recordAct(tx, { lenderId, act: "case.hold", reason: "first", data: { loan: "LN-1" } });
    recordAct(tx, { lenderId, act: "case.release", data: { loan: "LN-1" } });
    recordAct(tx, { lenderId, act: "case.hold", data: { loan: "LN-2" } });
    recordAct(tx, { lenderId, act: "lender.suspended", reason: "LN-1" });
    recordAct(tx, { lenderId: other, act: "case.hold", data: { loan: "LN-1" } });
  });
  expect(await actsOnLoan(database.em(), lenderId, "LN-1")).toMatchObject([
    { act: "case.release", reason: null },
    { act: "case.hold", reason: "first" },
  ]);
  expect(await actsOnLoan(database.em(), lenderId, "LN-1", 1)).toHaveLength(1);
});

test("actsOnLenders returns pages of the actions on some lenders, newest first", async () => {
  const [lenderId, other, stranger] = [newId(), newId(), newId()];
  const days = [1, 2, 3].map((day) => new Date(Date.UTC(2026, 10, day)));
  await transaction(database.em(), async (tx) => {
    for (const at of days) recordAct(tx, { lenderId, act: "case.hold", data: { loan: "LN-1" } }, at);
    for (const id of [other, stranger]) recordAct(tx, { lenderId: id, act: "lender.updated" }, days[2]);
  });
  const list = (filter: object) => actsOnLenders(database.em(), [lenderId, other], { limit: 10, ...filter });
  const all = await list({});
  expect(all.map((entry) => [entry.lenderId, entry.act])).toEqual([
    [other, "lender.updated"],
    ...days.map(() => [lenderId, "case.hold"]),
  ]);
  const [first, ...rest] = all;
  expect(await list({ limit: 1 })).toEqual([first]);
  expect(await list({ before: first!.id })).toEqual(rest);
  expect(await list({ act: "lender." })).toEqual([first]);
  expect(await list({ since: days[1] })).toHaveLength(3);
});

test.each([
  { ...selectOfLoan, values: "null, null, null", finds: /audit_entry_of_loan/ },
  {
    ...selectOfLender,
    values: "null, null, null, null, null",
    finds: /audit_entry_pkey.*\n *Index Cond: .*id < /,
  },
  {
    ...selectByAct,
    values: "null, null, null, null, null, null",
    finds: /audit_entry_of_kind(.|\n)*audit_entry_of_kind.*\n *Index Cond: .*act >= .*act <= .*id < /,
  },
  {
    ...selectByActor,
    values: "null, null, null, null, null, null, null",
    finds: /audit_entry_of_actor(.|\n)*audit_entry_of_actor.*\n *Index Cond: .*actor = .*act >= .*act <= .*id < /,
  },
])(
  "$name uses its index, even in a plan that was made on an empty table",
  { tags: "one-node-plan" },
  async ({ text, values, finds }) => {
    const plan = await genericPlan(database.pool, text, values);
    expect(plan).toMatch(finds);
    expect(plan).not.toContain("Seq Scan");
  },
);
