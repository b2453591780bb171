import { migrate, newId } from "@collections/database";
import { createDatabase } from "@collections/entities";
import { directUrl, genericPlan, testDatabase } from "@collections/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { casesSchema } from "../schema.ts";
import { countOwnCases, selectOwnCases } from "./select-own-cases.ts";

const { url } = await testDatabase("cases", async (url) => void (await migrate({ url, schemas: [casesSchema] })));
const database = await createDatabase({ url: directUrl(url), schemas: [casesSchema] });
afterAll(() => database.close());

type Value = string | number | boolean | readonly string[] | null;

const MY_CASES = 2_000;
const LENDER = newId();
/**
 * The field partners. Cases are assigned to them in turn, so that every disk page of the table has cases of each field
 * partner.
 */
const PEOPLE = Array.from({ length: 10 }, () => newId());
const ME = PEOPLE[0]!;

/** Inserts cases of one lender, each with an open promise. A tenth of them are assigned to ME, the rest to other field partners. */
beforeAll(async () => {
  await database.pool.query(
    `insert into cases.collection_case (lender_id, id, source_loan_number, cycle, is_current, status, field_work,
       work_begun, settled_by_lender, tags, currency, placed_minor, outstanding_minor, total_collected_minor,
       excess_minor, dpd, borrower_name, borrower_phone, alternate_phones, addresses, consent, metadata,
       assigned_field_partner_id, sequence, created_at, updated_at)
     select $1, gen_random_uuid(), 'LN-' || n, 1, true, 'assigned', 'open', false, false, '{}', 'INR', n, n, 0, 0,
       n % 120, 'Asha Rao', '+919800000001', '{}',
       jsonb_build_array(jsonb_build_object('latitude', 19 + n % 100 / 100.0, 'longitude', 72.8, 'city', 'Pune')),
       '{}', '{}', ($2::uuid[])[1 + n % $3::integer], 1, now(), now()
     from generate_series(1, $4::integer) n`,
    [LENDER, PEOPLE, PEOPLE.length, MY_CASES * PEOPLE.length],
  );
  await database.pool.query(
    `with visits as (
       insert into cases.visit (lender_id, id, case_id, field_partner_id, started_at, start_received_at)
       select lender_id, gen_random_uuid(), id, assigned_field_partner_id, now(), now() from cases.collection_case
       returning lender_id, id, case_id)
     insert into cases.promise (lender_id, id, case_id, visit_id, amount_minor, currency, due_on, state, created_at)
     select lender_id, gen_random_uuid(), case_id, id, 1, 'INR', '2026-11-20', 'open', now() from visits`,
  );
  await database.pool.query("vacuum analyze cases.collection_case");
  await database.pool.query("vacuum analyze cases.promise");
});

test.each<[string, Record<number, Value>]>([
  ["without a filter", {}],
  ["by a lender", { 6: [LENDER] }],
  ["by a search", { 10: ["asha"], 11: "asha" }],
  ["by promised days", { 19: true, 20: "2026-11-01", 21: "2026-11-30" }],
  ["near a place", { 14: 19.5, 15: 72.8, 16: 0.1, 17: 0.1, 18: 10_000, 23: "near" }],
])(
  "the query for a list %s uses the indexes on the field partner and on the case of a promise",
  { tags: "one-node-plan" },
  async (_title, changes) => {
    const at = "2026-11-20T10:00:00Z";
    const values: Value[] = [ME, null, at, [LENDER], ["2026-11-20"], ...Array.from({ length: 21 }, () => null), 21];
    values[10] = "";
    values[11] = ["2026-11-20"];
    values[18] = false;
    values[21] = [];
    values[22] = "priority";
    for (const [position, value] of Object.entries(changes)) values[Number(position) - 1] = value;
    const options = "analyze, timing off, buffers off, summary off";
    const plan = await genericPlan(database.pool, selectOwnCases.text, values.map(literal).join(", "), options);
    expect(plan).toContain("collection_case_assigned_field_partner_id_id_idx");
    expect(plan).toContain("promise_lender_id_case_id_idx");
    expect(plan).not.toContain("Seq Scan");
  },
);

test("the query for the counts of a list uses the index on the field partner", { tags: "one-node-plan" }, async () => {
  const values: Value[] = [
    ME,
    null,
    "2026-11-20T10:00:00Z",
    [LENDER],
    ["2026-11-20"],
    ...Array.from({ length: 17 }, () => null),
  ];
  values[10] = "";
  values[11] = ["2026-11-20"];
  values[18] = false;
  values[21] = [];
  const options = "analyze, timing off, buffers off, summary off";
  const plan = await genericPlan(database.pool, countOwnCases.text, values.map(literal).join(", "), options);
  expect(plan).toContain("collection_case_assigned_field_partner_id_id_idx");
  expect(plan).not.toContain("Seq Scan on collection_case");
});

function literal(value: Value): string {
  if (value === null) return "null";
  return typeof value === "object" ? `'{${value.join(",")}}'` : `'${value}'`;
}
