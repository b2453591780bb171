import { directUrl, genericPlan, testDatabase } from "@collections/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createDatabase, newestOfEachKind, query, statement } from "../index.ts";

const { url } = await testDatabase("newest-of-each-kind", () => Promise.resolve());
const database = await createDatabase({ url: directUrl(url), schemas: [] });
afterAll(() => database.close());

const notes = statement(
  "test.notes",
  newestOfEachKind({
    table: "public.note",
    columns: "a.id, a.kind",
    kind: "kind",
    where: "a.customer = $1::integer",
    inPage: "a.id < $2::integer",
    prefix: "$3::text",
    limit: "$4::integer",
  }),
);

beforeAll(async () => {
  await database.pool.query(`create table public.note (id integer, customer integer, kind text);
    create index note_kind on public.note (customer, kind, id);
    insert into public.note
      select n, n % 2, (array['a.x', 'b', 'a.y', null, 'a'])[1 + n % 5] from generate_series(1, 1000) n;
    insert into public.note values (2000, 3, 'b'), (2001, 4, null)`);
});

/** Returns the ids of the notes, found by a query that reads all rows. */
async function expected(customer: number, before: number, prefix: string, limit: number): Promise<number[]> {
  const { rows } = await database.pool.query<{ id: number }>(
    `select id from public.note where customer = $1 and id < $2 and starts_with(kind, $3) order by id desc limit $4`,
    [customer, before, prefix, limit],
  );
  return rows.map(({ id }) => id);
}

test.each([
  [0, 5_000, "", 7],
  [0, 5_000, "a", 1_000],
  [1, 500, "a.", 50],
  [1, 500, "b", 1],
  [1, 500, "c", 50],
  [3, 5_000, "", 50],
  [4, 5_000, "", 50],
  [5, 5_000, "", 50],
])("customer %i before id %i with the prefix %j and limit %i gets the newest rows", async (...values) => {
  const rows = await query<{ id: number }>(database.em(), notes, values);
  expect(rows.map(({ id }) => id)).toEqual(await expected(...values));
});

// EXPLAIN does not show how the further kinds are selected, because that is inside the recursive part.
test("the first kind and the rows of each kind are found by the index", { tags: "one-node-plan" }, async () => {
  const plan = await genericPlan(database.pool, notes.text, "1, 5000, '', 10");
  expect(plan).toMatch(/note_kind(.|\n)*note_kind.*\n *Index Cond: .*kind >= .*kind <= .*id < /);
  expect(plan).not.toContain("Seq Scan");
});
