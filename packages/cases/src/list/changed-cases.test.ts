import { migrate, newId, transaction } from "@collections/database";
import { createDatabase } from "@collections/entities";
import { directUrl, genericPlan, testDatabase } from "@collections/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { changedCases, selectChanged } from "./changed-cases.ts";
import { exampleCase } from "../../tests/example-case.ts";
import { forgetGoneCases, goneCaseIds } from "./gone-case.ts";
import { lockCase } from "../case/lock-cases.ts";
import type { LockedCase } from "../case/locked-case.ts";
import { casesSchema } from "../schema.ts";
import { insertCases, writeCases, writeCaseStates } from "../case/write-cases.ts";

const { url } = await testDatabase("cases", async (url) => void (await migrate({ url, schemas: [casesSchema] })));
const database = await createDatabase({ url: directUrl(url), schemas: [casesSchema] });
afterAll(() => database.close());

const NOW = new Date("2026-11-20T10:00:00Z");
const MANY = 20_000;
const HOUR_MS = 3_600_000;
const LENDER = newId();
const BUSY = newId();

/**
 * Inserts cases that alternately belong to the field partner BUSY and to others. One case in a thousand has changed
 * today.
 */
beforeAll(async () => {
  await database.pool.query(
    `insert into cases.collection_case (lender_id, id, source_loan_number, cycle, is_current, status, field_work,
       work_begun, settled_by_lender, tags, currency, placed_minor, outstanding_minor, total_collected_minor,
       excess_minor, borrower_name, borrower_phone, alternate_phones, addresses, consent, metadata,
       assigned_field_partner_id, sequence, created_at, updated_at)
     select $1, gen_random_uuid(), 'LN-' || n, 1, true, 'assigned', 'open', false, false, '{}', 'INR', n, n, 0, 0,
       'Asha Rao', '+919800000001', '{}', '[]', '{}', '{}',
       case when n % 2 = 0 then $2::uuid else gen_random_uuid() end, 1, $3,
       case when n % 2000 = 0 then $3::timestamptz else $3::timestamptz - interval '1 day' end
     from generate_series(1, 2 * $4::integer) n`,
    [LENDER, BUSY, NOW, MANY],
  );
  await database.pool.query("vacuum analyze cases.collection_case");
});

test(`changedCases returns each of ${MANY} cases once, in pages of 100`, async () => {
  const seen = new Set<string>();
  let after: string | undefined;
  for (let hasNext = true; hasNext;) {
    const page = await changedCases(database.em(), BUSY, { since: null, first: 100, after }, NOW);
    for (const { id } of page.items) seen.add(id);
    after = page.items.at(-1)?.id;
    ({ hasNext } = page);
  }
  expect(seen.size).toBe(MANY);
});

test("changedCases returns only the changed cases, in one page", async () => {
  const since = new Date(NOW.getTime() - HOUR_MS);
  const { items, hasNext } = await changedCases(database.em(), BUSY, { since, first: 100 }, NOW);
  expect(items).toHaveLength(MANY / 1_000);
  expect(hasNext).toBe(false);
});

test(
  "the query for changed cases uses the index on the field partner, without sorting, even in a plan that was made on an empty table",
  {
    tags: "one-node-plan",
  },
  async () => {
    const values = `'${BUSY}', null, '${NOW.toISOString()}', null, null, '${NOW.toISOString()}', 101`;
    const plan = await genericPlan(database.pool, selectChanged.text, values);
    expect(plan).not.toContain("Seq Scan");
    expect(plan).toContain("collection_case_assigned_field_partner_id_id_idx");
    // The index has the same order as the list, so no sort is needed and the query stops when the page is full.
    expect(plan).not.toContain("Sort");
  },
);

test("a gone case is stored for 31 days after it was unassigned, reassigned or replaced by a new cycle", async () => {
  const [asha, ravi] = [newId(), newId()];
  const [unassigned, reassigned, kept] = [await caseOf(asha), await caseOf(asha), await caseOf(asha)];
  await write(unassigned, { assignedFieldPartnerId: null });
  await write(reassigned, { assignedFieldPartnerId: ravi });
  await write(kept, { lastDisposition: "OTHER" });
  await transaction(database.em(), async (tx) => {
    writeCases(tx, [{ ...(await lock(tx, kept)), status: "in_progress" }], NOW);
  });
  const replaced = await caseOf(asha);
  await transaction(database.em(), async (tx) => {
    await insertCases(tx, [{ ...replaced, id: newId(), cycle: 2 }], [await lock(tx, replaced)], NOW);
  });

  const hourAgo = new Date(Date.now() - HOUR_MS);
  const gone = await goneCaseIds(database.em(), asha, { since: hourAgo, first: 100 });
  expect(gone).toEqual({ items: [unassigned.id, reassigned.id, replaced.id].toSorted(), hasNext: false });
  expect(await goneCaseIds(database.em(), ravi, { since: hourAgo, first: 100 })).toMatchObject({ items: [] });
  expect(await goneCaseIds(database.em(), asha, { since: new Date(), first: 100 })).toMatchObject({ items: [] });
  const second = await goneCaseIds(database.em(), asha, { since: hourAgo, first: 1, after: gone.items[0] });
  expect(second).toEqual({ items: [gone.items[1]], hasNext: true });

  const forget = (days: number) =>
    transaction(database.em(), (tx) => forgetGoneCases(tx, new Date(Date.now() + days * 24 * HOUR_MS)));
  expect(await forget(30)).toBe(0);
  expect(await forget(32)).toBe(3);
});

async function caseOf(fieldPartnerId: string) {
  const theCase = exampleCase({ status: "assigned", assignedFieldPartnerId: fieldPartnerId });
  await transaction(database.em(), (tx) => insertCases(tx, [theCase], [], NOW));
  return theCase;
}

function write(theCase: LockedCase, fields: Partial<LockedCase>): Promise<void> {
  return transaction(database.em(), async (tx) => {
    writeCaseStates(tx, [{ ...(await lock(tx, theCase)), ...fields }], NOW);
  });
}

async function lock(tx: Parameters<typeof lockCase>[0], { lenderId, id: caseId }: LockedCase): Promise<LockedCase> {
  return (await lockCase(tx, { lenderId, caseId }))!;
}
