import { emptyDatabase } from "@collections/testing";
import { Client } from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { checkByFunction } from "./check-by-function.ts";

const { url } = await emptyDatabase();
const client = new Client({ connectionString: url });

beforeAll(async () => {
  await client.connect();
  await client.query(`create schema billing;
    create table billing.invoice (total bigint check (total > 0), currency char(3), state text,
      constraint known_state check (state in ('open', 'paid')))`);
  const statements = checkByFunction({
    table: "billing.invoice",
    name: "valid_invoice",
    columns: { total: "bigint", currency: "text", state: "text" },
    body: "return total > 0 and state in ('open', 'paid') and currency ~ '^[A-Z]{3}$';",
    replaces: ["invoice_total_check", "known_state"],
  });
  for (const statement of statements) await client.query(statement);
});
afterAll(() => client.end());

function add(total: number | null, currency: string | null, state: string | null): Promise<unknown> {
  return client.query("insert into billing.invoice values ($1, $2, $3)", [total, currency, state]);
}

test("checkByFunction replaces the constraints by one, which allows null as the replaced ones did", async () => {
  await add(1, "INR", "open");
  await add(null, "INR", "paid");
  await add(1, null, null);
  const { rows } = await client.query(
    "select conname, convalidated from pg_constraint where conrelid = 'billing.invoice'::regclass and contype = 'c'",
  );
  expect(rows).toEqual([{ conname: "valid_invoice", convalidated: false }]);
});

test.each([
  [0, "INR", "open"],
  [1, "INR", "lost"],
  [1, "in", "paid"],
  [0, null, null],
])("a row of checkByFunction that breaks the rule is refused: %s, %s, %s", async (total, currency, state) => {
  await expect(add(total, currency, state)).rejects.toMatchObject({ code: "23514", constraint: "valid_invoice" });
});
