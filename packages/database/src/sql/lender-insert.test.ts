import { emptyDatabase } from "@collections/testing";
import { afterAll, beforeEach, expect, test } from "vitest";
import {
  arraysParameter,
  createDatabase,
  insertFor,
  isUniqueViolation,
  lenderInsert,
  newId,
  oneLenderInsert,
  query,
} from "../index.ts";

const sent: { name: string | undefined; text: string }[] = [];
const { url } = await emptyDatabase();
const database = await createDatabase({ url, schemas: [], onStatement: (statement) => sent.push(statement) });
afterAll(() => database.close());
await database.pool.query(
  `create table invoice (lender_id uuid, number text, currency char(3), total bigint, due date, notes jsonb, tags text[],
     made_at timestamptz not null, primary key (lender_id, number))`,
);
beforeEach(async () => {
  await database.pool.query("truncate invoice");
  sent.length = 0;
});

const addInvoices = lenderInsert("test.add-invoices", {
  table: "invoice",
  columns: {
    number: "text",
    currency: "char(3)",
    total: "bigint",
    due: "date",
    notes: "jsonb",
    tags: "text[]",
  },
  equal: { made_at: "$8::timestamptz" },
  ending: "on conflict (lender_id, number) do update set total = excluded.total returning number",
});
const MADE_AT = "2026-11-20T10:00:00.000Z";
const [mine, yours] = [newId(), newId()];

function columnsOf(numbers: readonly string[], total = 250n): unknown[] {
  return [
    numbers,
    numbers.map(() => "INR"),
    numbers.map(() => total),
    numbers.map((_, index) => (index === 0 ? "2026-12-01" : null)),
    numbers.map((number) => JSON.stringify({ of: [number, 'a "b" \\ c'] })),
    arraysParameter(
      "tags",
      numbers.map((_, index) => (index === 0 ? ["paid", 'a,"b"', "\ud800"] : index === 1 ? [] : null)),
    ),
    MADE_AT,
  ];
}

async function stored() {
  const { rows } = await database.pool.query(
    "select *, due::text as due from invoice order by lender_id = $1 desc, number",
    [mine],
  );
  return rows;
}

test.each([
  ["a cluster", addInvoices.ofOne, mine],
  ["plain PostgreSQL", addInvoices.ofMany, [mine, mine, mine]],
])("lenderInsert inserts a row for each element of the arrays, by the text for %s", async (_, text, lender) => {
  const values = [lender, ...columnsOf(["A", "B", "C"])];
  expect(await query(database.em(), text, values)).toEqual([{ number: "A" }, { number: "B" }, { number: "C" }]);
  const made = { lender_id: mine, currency: "INR", total: "250", made_at: "2026-11-20 10:00:00+00" };
  expect(await stored()).toEqual([
    {
      ...made,
      number: "A",
      due: "2026-12-01",
      notes: { of: ["A", 'a "b" \\ c'] },
      tags: ["paid", 'a,"b"', "\ufffd"],
    },
    { ...made, number: "B", due: null, notes: { of: ["B", 'a "b" \\ c'] }, tags: [] },
    { ...made, number: "C", due: null, notes: { of: ["C", 'a "b" \\ c'] }, tags: null },
  ]);
});

test("on plain PostgreSQL, insertFor sends the lenders as an array, even if there is only one", async () => {
  await query(database.em(), ...insertFor(database.em(), addInvoices, [[mine], ...columnsOf(["A"])]));
  await query(database.em(), ...insertFor(database.em(), addInvoices, [[mine, yours], ...columnsOf(["A", "B"], 900n)]));
  expect(sent.map(({ name }) => name)).toEqual(["test.add-invoices-of-many", "test.add-invoices-of-many"]);
  expect(await stored()).toMatchObject([
    { lender_id: mine, number: "A", total: "900" },
    { lender_id: yours, number: "B", total: "900" },
  ]);
});

test("the SQL of lenderInsert has no cast or function around a set-returning function, because Citus would evaluate it too early", () => {
  const values = addInvoices.ofOne.text.slice(addInvoices.ofOne.text.indexOf("values"));
  const sets = [
    String.raw`unnest\(\$\d::\w+\[\]\)`,
    String.raw`\(\$\d::char\(3\)\[\]\)\[generate_subscripts\(\$\d::char\(3\)\[\], 1\)\]`,
    String.raw`\(jsonb_populate_recordset\(null::invoice, \$\d::jsonb\)\)\.tags`,
    String.raw`\$\d::\w+`,
  ].join("|");
  expect(values).toMatch(new RegExp(`^values \\((?:(?:${sets})(?:, |(?=\\))))+\\)`));
});

test("isUniqueViolation recognizes the unique violation of an insert", async () => {
  const insert = oneLenderInsert("test.add-invoice-numbers", {
    table: "invoice",
    columns: { number: "text" },
    equal: { made_at: "now()" },
  });
  await query(database.em(), insert, [mine, ["A", "B"]]);
  const again = query(database.em(), insert, [mine, ["C", "A"]]);
  await expect(again).rejects.toSatisfy(isUniqueViolation);
  expect(await stored()).toHaveLength(2);
});
