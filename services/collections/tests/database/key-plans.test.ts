/** @module-tag one-node-plan */
import { type CaseSearch, searchCases } from "@collections/cases";
import { BEFORE_ALL_IDS, migrate, namedStatements, newId } from "@collections/database";
import { createDatabase, type Database } from "@collections/entities";
import { directUrl, testDatabase } from "@collections/testing";
import type { Client } from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { jobsSchema, schemas } from "../../src/schemas.ts";
import { type ExecutedQuery, PLANS, scansOfEveryPlan } from "./fixtures/every-plan.ts";
import { queriesDuring } from "./fixtures/sent-statements.ts";

/** The number of cases. A quarter of them has each key: more than a search reads by an index. */
const ROWS = 40_000;
/** The number of cases with two keys, one in a thousand. */
const FOUND = ROWS / 1_000;
/** The number of cases with a promise for PROMISED. A quarter of them has each key. */
const WITH_PROMISE = ROWS / 500;
/** The most rows that a query may read. */
const MOST_READ = 2 * WITH_PROMISE;
const LENDER = newId();
const HOLDER = newId();
const PROMISED = "2026-11-26";

const holder: CaseSearch = { holderId: HOLDER };
const branch: CaseSearch = { branchCode: "COMMON" };
const postalCode: CaseSearch = { postalCode: "411 045" };
const name: CaseSearch = { text: "asha" };
const promise: CaseSearch = { promiseDue: { from: PROMISED, to: PROMISED } };

/** Pairs of filters with the numbers of the cases that match both, by `fill`. */
const PAIRS: readonly (readonly [title: string, search: CaseSearch, isFound: (n: number) => boolean])[] = [
  ["a field partner and a branch", { ...holder, ...branch }, (n) => n % 1_000 === 990],
  ["a field partner and a postal code", { ...holder, ...postalCode }, (n) => n % 1_000 === 991],
  ["a field partner and a name", { ...holder, ...name }, (n) => n % 1_000 === 992],
  ["a branch and a postal code", { ...branch, ...postalCode }, (n) => n % 1_000 === 993],
  ["a branch and a name", { ...branch, ...name }, (n) => n % 1_000 === 994],
  ["a postal code and a name", { ...postalCode, ...name }, (n) => n % 1_000 === 995],
  ["a field partner and a promise", { ...holder, ...promise }, (n) => n % 500 === 250 && kindOf(n) === 0],
  ["a branch and a promise", { ...branch, ...promise }, (n) => n % 500 === 250 && kindOf(n) === 1],
  ["a postal code and a promise", { ...postalCode, ...promise }, (n) => n % 500 === 250 && kindOf(n) === 2],
];

/** Returns the quarter of a case, which tells its key. */
function kindOf(n: number): number {
  return Math.trunc((n * 4) / (ROWS + 1));
}

const { url } = await testDatabase("key-plans", async (at) => void (await migrate({ url: at, schemas })));
let database: Database;
let scansOf: Awaited<ReturnType<typeof scansOfEveryPlan>>;
/** The queries of each search, and the loans that it found. */
const sent = new Map<string, readonly ExecutedQuery[]>();
const found = new Map<string, readonly string[]>();

beforeAll(async () => {
  database = await createDatabase({ url: directUrl(url), schemas, jobsSchema });
  const names = namedStatements().map((one) => one.name);
  scansOf = await scansOfEveryPlan(url, {
    tables: ["cases.collection_case", "cases.promise"],
    names: names.filter((one) => /^cases\.(search|count-of)-/.test(one)),
    fill: async (client) => {
      await fill(client);
      for (const [title, search] of PAIRS) await record(title, search);
      return [...sent.values()].flat();
    },
  });
});
afterAll(() => database.close());

/** Makes one search, and records its queries and the loans that it found. */
async function record(title: string, search: CaseSearch): Promise<void> {
  const queries = await queriesDuring(async () => {
    const page = { after: BEFORE_ALL_IDS, limit: ROWS };
    const { cases, searchedTo } = await searchCases(database.em(), LENDER, search, page);
    expect(searchedTo).toBeUndefined();
    found.set(
      title,
      cases.map(({ sourceLoanNumber }) => sourceLoanNumber),
    );
  });
  const ofCases = queries.filter((one) => one.name.startsWith("cases."));
  sent.set(
    title,
    ofCases.map((one) => ({ title: `${title}: ${one.name}`, name: one.name, values: one.values })),
  );
}

test.each(PAIRS)("a search by %s finds all cases that have both", (title, _search, isFound) => {
  const loans = Array.from({ length: ROWS }, (_, index) => index + 1).filter(isFound);
  expect(loans.length).toBeGreaterThanOrEqual(WITH_PROMISE / 4);
  expect(found.get(title)).toEqual(loans.map((n) => `LN-${n}`));
});

describe.each(PLANS)("with this kind of plan: %s", (plan) => {
  test.each(PAIRS)("a search by %s reads few rows by an index", (title) => {
    const queries = sent.get(title)!;
    expect(queries).toHaveLength(2);
    for (const { title: query } of queries) {
      const scans = scansOf(plan, query);
      expect(scans.filter(({ index, rows }) => index === undefined || rows > MOST_READ)).toEqual([]);
      expect(scans.some(({ rows }) => rows >= FOUND)).toBe(true);
    }
  });
});

/**
 * Inserts cases of which the first quarter has the field partner, the second one the branch, the third one the postal code and
 * the last one the name. One in a thousand has each pair of these keys, one in ten a promise, and one in 500 a promise
 * for PROMISED.
 */
async function fill(client: Client): Promise<void> {
  await client.query(
    `insert into cases.collection_case (lender_id, id, source_loan_number, cycle, is_current, status, field_work, work_begun,
       settled_by_lender, tags, currency, placed_minor, outstanding_minor, total_collected_minor, excess_minor, borrower_name,
       borrower_phone, alternate_phones, addresses, consent, metadata, sequence, created_at, updated_at, branch_code,
       assigned_field_partner_id)
     select $1::uuid, overlay($2::text placing lpad(to_hex(n), 8, '0') from 29)::uuid, 'LN-' || n, 1, true, 'assigned', 'open',
       false, false, '{}', 'INR', 1, 0, 0, 0, case when kind = 3 or pair in (2, 4, 5) then 'Asha Rao' else 'Ravi Kumar' end,
       '+919800000001', '{}',
       jsonb_build_array(jsonb_build_object('postalCode', case when kind = 2 or pair in (1, 3, 5) then '411045' else '560001' end)),
       '{}', '{}', 1, now(), now(), case when kind = 1 or pair in (0, 3, 4) then 'COMMON' else 'OTHER' end,
       case when kind = 0 or pair in (0, 1, 2) then $3::uuid end
     from generate_series(1, $4::integer) n
     cross join lateral (select n % 1000 - 990 as pair, case when n % 1000 < 990 then n * 4 / ($4::integer + 1) else -1 end as kind) k`,
    [LENDER, newId(), HOLDER, ROWS],
  );
  await client.query(
    `with visited as (
       insert into cases.visit (lender_id, id, case_id, field_partner_id, started_at, start_received_at)
       select c.lender_id, gen_random_uuid(), c.id, $2::uuid, now(), now() from cases.collection_case c
       where c.lender_id = $1 and substr(c.source_loan_number, 4)::integer % 10 = 0
       returning lender_id, id, case_id)
     insert into cases.promise (lender_id, id, case_id, visit_id, amount_minor, currency, due_on, state, created_at)
     select v.lender_id, gen_random_uuid(), v.case_id, v.id, 1, 'INR',
       $3::date - case when substr(c.source_loan_number, 4)::integer % 500 = 250 then 0 else 1 + substr(c.source_loan_number, 4)::integer % 49 end,
       'open', now()
     from visited v join cases.collection_case c on c.lender_id = v.lender_id and c.id = v.case_id`,
    [LENDER, HOLDER, PROMISED],
  );
}
