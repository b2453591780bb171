import { emptyDatabase } from "@collections/testing";
import { afterAll, expect, test } from "vitest";
import { createDatabase, forLenders, lenderStatement, newId, query } from "../index.ts";

const sent: { name: string | undefined; text: string }[] = [];
const { url } = await emptyDatabase();
const database = await createDatabase({ url, schemas: [], onStatement: (statement) => sent.push(statement) });
afterAll(() => database.close());
await database.pool.query("create table toy (lender_id uuid, name text, primary key (lender_id, name))");

const find = lenderStatement(
  "test.find-toys",
  { ofOne: "t.lender_id = $3", ofMany: "t.lender_id = k.lender_id" },
  (isTheLenders) => `select t.name from toy t join unnest($1::uuid[], $2::text[]) as k (lender_id, name)
    on ${isTheLenders} and t.name = k.name order by t.name`,
);

test("forLenders uses ofOne for keys of one lender, and ofMany for keys of several lenders", async () => {
  const [mine, yours] = [newId(), newId()];
  await database.pool.query("insert into toy values ($1, 'ball'), ($1, 'kite'), ($2, 'ball')", [mine, yours]);
  sent.length = 0;
  const namesOf = (lenderIds: string[], names: string[]) =>
    query<{ name: string }>(database.em(), ...forLenders(find, [lenderIds, names])).then((rows) =>
      rows.map(({ name }) => name),
    );
  expect(await namesOf([mine, mine], ["ball", "kite"])).toEqual(["ball", "kite"]);
  expect(await namesOf([yours, yours], ["ball", "kite"])).toEqual(["ball"]);
  expect(await namesOf([mine, yours, yours], ["kite", "ball", "kite"])).toEqual(["ball", "kite"]);
  expect(sent.map(({ name }) => name)).toEqual(["test.find-toys", "test.find-toys", "test.find-toys-of-many"]);
  expect(find.ofOne.text).toContain("t.lender_id = $3");
  expect(find.ofMany.text).not.toContain("$3");
});
