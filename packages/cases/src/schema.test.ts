import { migrate, newId, query, statement, transaction } from "@collections/database";
import { createDatabase } from "@collections/entities";
import { directUrl, genericPlan, testDatabase } from "@collections/testing";
import { afterAll, expect, test } from "vitest";
import { CASE_STATUSES, CLOSE_REASONS } from "./case/case-status.ts";
import { exampleCase } from "../tests/example-case.ts";
import { lockCurrent, lockFree, lockImported } from "./case/lock-cases.ts";
import { INDEXES } from "./list/counted-indexes.ts";
import { selectOfText, selectOfTextAndMore, selectPromisedByDay, SOURCES } from "./list/search-cases.ts";
import { selectCounts } from "./visit/day-counts.ts";
import { selectHistory } from "./visit/loan-history.ts";
import { PROMISE_STATES } from "./visit/promise-to-pay.ts";
import { selectOpenPromises, selectPromisesOfVisits } from "./visit/read-visits.ts";
import { casesSchema } from "./schema.ts";
import { DISPOSITIONS } from "./case/disposition.ts";
import { insertCases, retire, updateImported, writeBalance, writePayments, writeStates } from "./case/write-cases.ts";

const { url } = await testDatabase("cases", async (url) => void (await migrate({ url, schemas: [casesSchema] })));
const database = await createDatabase({ url: directUrl(url), schemas: [casesSchema] });
afterAll(() => database.close());

const byLoan = /Index Cond: \(\(lender_id = .*source_loan_number = /;
const byId = /collection_case_pkey.*\n *Index Cond: \(\(lender_id = .*id >= .*id <= /;

// The plans are made on an empty table. This is the worst case, because PostgreSQL then expects a sequential scan to
// cost no more than an index scan.
test.each([
  { ...lockCurrent.ofOne, finds: byLoan },
  { ...lockCurrent.ofMany, finds: byLoan },
  { ...lockFree.ofOne, finds: byLoan },
  { ...lockFree.ofMany, finds: byLoan },
  { ...lockImported.ofOne, finds: byLoan },
  { ...retire.ofOne, finds: byId },
  { ...writePayments.ofOne, finds: byId },
  { ...writePayments.ofMany, finds: byId },
  { ...writeStates.ofOne, finds: byId },
  { ...writeBalance.ofOne, finds: byId },
  { ...updateImported.ofOne, finds: /Conflict Arbiter Indexes: collection_case_pkey/ },
  { ...SOURCES.lender.select, finds: /collection_case_pkey.*\n *Index Cond: \(\(lender_id = .*id > / },
  { ...SOURCES.holder.select, finds: /collection_case_assigned_field_partner_id_id_idx/ },
  { ...SOURCES.unassigned.select, finds: /case_unassigned/ },
  {
    ...SOURCES.groups.select,
    finds: /search_state_of_group .*\n *Index Cond: \(\(lender_id = .*status_group = .*case_id > /,
  },
  {
    ...SOURCES.bands.select,
    finds: /search_state_of_group_and_dpd .*\n *Index Cond: \(\(lender_id = .*status_group = .*dpd_band = /,
  },
  { ...SOURCES.branch.select, finds: /case_of_branch/ },
  { ...SOURCES.postalCode.select, finds: /case_of_postal_code/ },
  ...[
    {
      index: INDEXES.status,
      finds: /search_state_of_group .*\n *Index Cond: \(\(lender_id = .*status_group = .*case_id > /,
    },
    { index: INDEXES.status, finds: /rare_case_pkey.*\n *Index Cond: \(\(lender_id = .*status = .*case_id > / },
    {
      index: INDEXES.groupAndDpd,
      finds: /search_state_of_group_and_dpd .*\n *Index Cond: \(\(lender_id = .*status_group = .*dpd_band >= /,
    },
    {
      index: INDEXES.groupAndVisit,
      finds: /search_state_of_group_and_visit .*\n *Index Cond: \(\(lender_id = .*status_group = .*visited_at < /,
    },
    {
      index: INDEXES.dpdAndVisit,
      finds: /search_state_of_dpd_and_visit .*\n *Index Cond: \(\(lender_id = .*dpd_band = .*visited_at < /,
    },
    { index: INDEXES.keys, finds: /case_of_filters(.|\n)*case_of_loan_end/ },
  ].flatMap(({ index: { count, select }, finds }) => [
    { ...count, finds },
    { ...select, finds },
  ]),
  ...[selectOfText, selectOfTextAndMore].map((select) => ({
    ...select,
    finds: /collection_case_pkey(.|\n)*One-Time Filter.*InitPlan(.|\n)*case_of_filters(.|\n)*case_of_loan_end/,
  })),
  {
    ...selectPromisedByDay,
    finds:
      /promise_lender_id_case_id_idx.*\n *Index Cond: \(\(lender_id = .*case_id > (.|\n)*One-Time Filter.*InitPlan/,
  },
  {
    ...selectPromisesOfVisits,
    finds: /promise_lender_id_visit_id_idx.*\n *Index Cond: \(.*visit_id >= .*visit_id <= /,
  },
  {
    ...selectHistory,
    finds: /source_loan_number = any(.|\n)*visit_lender_id_case_id(.|\n)*promise_lender_id_visit_id_idx/i,
  },
  {
    ...selectCounts,
    finds: /Only Scan using visit_ended(.|\n)*Only Scan using visit_long(.|\n)*case_unassigned(.|\n)*promise_due/,
  },
  { ...selectOpenPromises, finds: /promise_lender_id_case_id_idx.*\n *Index Cond: \(.*case_id >= .*case_id <= / },
])(
  "$name uses its index, even in a plan that was made on an empty table",
  { tags: "one-node-plan" },
  async ({ text, finds }) => {
    const parameters = new Set(text.match(/\$\d+/g)).size;
    const values = Array.from({ length: parameters }, () => "null").join(", ");
    const plan = await genericPlan(database.pool, text, values);
    expect(plan).not.toContain("Seq Scan");
    expect(plan).toMatch(finds);
  },
);

const indexedColumns = statement(
  "test.indexed-columns",
  `select distinct a.attname as name
   from pg_index i
   join pg_depend d on d.classid = 'pg_class'::regclass and d.objid = i.indexrelid and d.refobjid = i.indrelid
   join pg_attribute a on a.attrelid = i.indrelid and a.attnum = d.refobjsubid
   where i.indrelid = 'cases.collection_case'::regclass
   union
   select a.attname from pg_index i join pg_attribute a on a.attrelid = i.indrelid and a.attnum = any (i.indkey)
   where i.indrelid = 'cases.collection_case'::regclass
   order by name`,
);

test("no index names a column that a confirmation changes, so that the update stays heap-only", async () => {
  const rows = await query<{ name: string }>(database.em(), indexedColumns, []);
  expect(rows.map(({ name }) => name)).toEqual([
    "addresses",
    "assigned_field_partner_id",
    "borrower_name",
    "branch_code",
    "cycle",
    "erased_at",
    "id",
    "is_current",
    "lender_id",
    "source_loan_number",
  ]);
});

const allowedValues = statement(
  "test.allowed-values",
  `select pg_get_constraintdef(oid) as definition from pg_constraint
   where contype = 'c' and connamespace = 'cases'::regnamespace
   union all
   select unnest(regexp_split_to_array(prosrc, '\\m(?:and|or)\\M')) from pg_proc
   where pronamespace = 'cases'::regnamespace and proname = 'valid_case'`,
);

test("the checks allow every case status, close reason, disposition and promise state", async () => {
  const rows = await query<{ definition: string }>(database.em(), allowedValues, []);
  const lists = rows.map(({ definition }) => [...definition.matchAll(/'([^']+)'/g)].map(([, value]) => value));
  for (const values of [CASE_STATUSES, CLOSE_REASONS, DISPOSITIONS, PROMISE_STATES]) {
    expect(lists).toContainEqual([...values]);
  }
});

test("the table rejects an outstanding amount below 0", async () => {
  const wrong = exampleCase({ outstandingMinor: -1n });
  await expect(transaction(database.em(), (tx) => insertCases(tx, [wrong], [], new Date()))).rejects.toMatchObject({
    code: "23514",
  });
});

test("a loan has at most one current case", async () => {
  const first = exampleCase();
  const second = { ...first, id: newId(), cycle: 2 };
  const leftOver = await transaction(database.em(), (tx) => insertCases(tx, [first, second], [], new Date()));
  expect(leftOver).toEqual([second]);
});
