import { newId, transaction } from "@collections/database";
import { expect, test } from "vitest";
import { dayCounts, insertCases } from "../index.ts";
import { casesDatabase } from "../../tests/cases-database.ts";
import { exampleCase } from "../../tests/example-case.ts";

const database = await casesDatabase();
const NOW = new Date("2026-11-20T09:00:00Z");
const DAY = { day: "2026-11-20", from: new Date("2026-11-20T00:00:00Z"), to: new Date("2026-11-21T00:00:00Z") };

async function unassignedOf(lenderId: string) {
  return (await dayCounts(database.em(), lenderId, [DAY])).unassigned;
}

test("counts open current cases of one lender without a field partner", async () => {
  const lenderId = newId();
  const cases = [
    exampleCase({ lenderId }),
    exampleCase({ lenderId, status: "on_hold", statusBeforeHold: "new" }),
    exampleCase({ lenderId, status: "assigned", assignedFieldPartnerId: newId() }),
    exampleCase({ lenderId, status: "withdrawn", closedAt: NOW, closeReason: "withdrawn" }),
    exampleCase({ lenderId, isCurrent: false }),
    exampleCase(),
  ];
  for (const one of cases) await transaction(database.em(), (tx) => insertCases(tx, [one], [], NOW));
  expect(await unassignedOf(lenderId)).toEqual({ count: 2, isComplete: true });
});

test("reads the newest 20,000 unassigned cases, and reports more", async () => {
  const lenderId = newId();
  const add = (count: number) =>
    database.pool.query(
      `insert into cases.collection_case (lender_id, id, source_loan_number, cycle, is_current, status, field_work,
         work_begun, settled_by_lender, tags, currency, placed_minor, outstanding_minor, total_collected_minor,
         excess_minor, borrower_name, borrower_phone, alternate_phones, addresses, consent, metadata, sequence,
         created_at, updated_at)
       select $1, gen_random_uuid(), 'LN-' || gen_random_uuid(), 1, true, 'new', 'open', false, false, '{}', 'INR', 1, 1,
         0, 0, 'Asha Rao', '+919800000001', '{}', '[]', '{}', '{}', 1, now(), now()
       from generate_series(1, $2::integer)`,
      [lenderId, count],
    );
  await add(19_999);
  expect(await unassignedOf(lenderId)).toEqual({ count: 19_999, isComplete: true });
  await add(2);
  expect(await unassignedOf(lenderId)).toEqual({ count: 20_000, isComplete: false });
});
