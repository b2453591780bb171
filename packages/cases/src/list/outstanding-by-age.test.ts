import { newId, transaction } from "@collections/database";
import { currency } from "@collections/money";
import { genericPlan } from "@collections/testing";
import { expect, test } from "vitest";
import { AGES, bucketOf, insertCases, outstandingByAge } from "../index.ts";
import { casesDatabase } from "../../tests/cases-database.ts";
import { exampleCase } from "../../tests/example-case.ts";
import { selectEnd, selectSums } from "./outstanding-by-age.ts";

const database = await casesDatabase();
const NOW = new Date("2026-11-20T09:00:00Z");
const INR = currency("INR");

async function add(...cases: Parameters<typeof exampleCase>[0][]): Promise<void> {
  for (const one of cases) await transaction(database.em(), (tx) => insertCases(tx, [exampleCase(one)], [], NOW));
}

test("adds up open current cases by currency and age", async () => {
  const lenderId = newId();
  const [JPY, huge] = [currency("JPY"), 4_000_000_000_000_000_000n];
  await add(
    { lenderId, dpd: 0, outstandingMinor: 100n },
    { lenderId, dpd: 45, outstandingMinor: huge },
    { lenderId, dpd: 60, outstandingMinor: huge, status: "assigned", assignedFieldPartnerId: newId() },
    { lenderId, dpd: null, outstandingMinor: 5n },
    { lenderId, dpd: 45, currency: JPY, outstandingMinor: 300n },
    { lenderId, dpd: 45, status: "withdrawn", closedAt: NOW, closeReason: "withdrawn" },
    { lenderId, dpd: 45, isCurrent: false },
    { dpd: 45 },
  );
  expect(await outstandingByAge(database.em(), lenderId)).toEqual([
    { age: "0", currency: INR, cases: 1, unassigned: 1, outstandingMinor: 100n },
    { age: "31-60", currency: INR, cases: 2, unassigned: 1, outstandingMinor: 2n * huge },
    { age: null, currency: INR, cases: 1, unassigned: 1, outstandingMinor: 5n },
    { age: "31-60", currency: JPY, cases: 1, unassigned: 1, outstandingMinor: 300n },
  ]);
  expect(await outstandingByAge(database.em(), newId())).toEqual([]);
});

test("names an age as `bucketOf` does", async () => {
  for (const dpd of [0, 1, 30, 31, 60, 61, 90, 91, 400]) {
    const lenderId = newId();
    await add({ lenderId, dpd });
    const [{ age } = { age: null }] = await outstandingByAge(database.em(), lenderId);
    expect(AGES).toContain(age);
    expect({ dpd, age }).toEqual({ dpd, age: bucketOf({ dpd, bucket: null }) });
  }
});

test("reads each case once, in steps of 20,000", async () => {
  const lenderId = newId();
  await database.pool.query(
    `insert into cases.collection_case (lender_id, id, source_loan_number, cycle, is_current, status, field_work,
       work_begun, settled_by_lender, tags, currency, placed_minor, outstanding_minor, total_collected_minor,
       excess_minor, borrower_name, borrower_phone, alternate_phones, addresses, consent, metadata, sequence,
       created_at, updated_at, dpd)
     select $1, gen_random_uuid(), 'LN-' || n, 1, true, 'new', 'open', false, false, '{}', 'INR', 1, 1, 0, 0, 'Asha Rao',
       '+919800000001', '{}', '[]', '{}', '{}', 1, now(), now(), n % 2
     from generate_series(1, 40001) n`,
    [lenderId],
  );
  expect(await outstandingByAge(database.em(), lenderId)).toEqual([
    { age: "0", currency: INR, cases: 20_000, unassigned: 20_000, outstandingMinor: 20_000n },
    { age: "1-30", currency: INR, cases: 20_001, unassigned: 20_001, outstandingMinor: 20_001n },
  ]);
});

test.each([selectEnd, selectSums])(
  "$name reads the primary key in every plan",
  { tags: "one-node-plan" },
  async (one) => {
    const values = one === selectEnd ? "null, null" : "null, null, null";
    const plan = await genericPlan(database.pool, one.text, values);
    expect(plan).not.toContain("Seq Scan");
    expect(plan).toMatch(/collection_case_pkey.*\n *Index Cond: \(\(lender_id = .*id > /);
  },
);
