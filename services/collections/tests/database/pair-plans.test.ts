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

/** The number of cases. A quarter of them matches each filter: more than a search reads by an index. */
const ROWS = 100_000;
/** The number of cases that match two filters: one in a thousand. */
const FOUND = ROWS / 1_000;
/** The most rows that a query may read: those of a pair, and those of two pairs that one index does not tell apart. */
const MOST_READ = 2 * FOUND;
const LENDER = newId();
const HOLDER = newId();
const NOT_VISITED_SINCE = new Date("2026-11-19T00:00:00Z");

const closed: CaseSearch = { statuses: ["closed"] };
const unassigned: CaseSearch = { holderId: null };
const dpd: CaseSearch = { dpd: { from: 61, to: 90 } };
const notVisited: CaseSearch = { notVisitedSince: NOT_VISITED_SINCE };

/** Pairs of filters with the number of the pair in `fill`. */
const PAIRS: readonly (readonly [title: string, search: CaseSearch, pair: number])[] = [
  ["closed and unassigned", { ...closed, ...unassigned }, 0],
  ["closed and 61 to 90 days past due", { ...closed, ...dpd }, 1],
  ["closed without a recent visit", { ...closed, ...notVisited }, 2],
  ["unassigned and 61 to 90 days past due", { ...unassigned, ...dpd }, 3],
  ["new and 61 to 90 days past due", { statuses: ["new"], ...dpd }, 3],
  ["unassigned without a recent visit", { ...unassigned, ...notVisited }, 4],
  ["new without a recent visit", { statuses: ["new"], ...notVisited }, 4],
  ["61 to 90 days past due without a recent visit", { ...dpd, ...notVisited }, 5],
];

/** Filters that a quarter of the cases or more matches, all of them newer than the first quarter. */
const COMMON: readonly (readonly [title: string, search: CaseSearch])[] = [
  ["unassigned", unassigned],
  ["new", { statuses: ["new"] }],
  ["assigned", { statuses: ["assigned"] }],
  ["61 to 90 days past due", dpd],
  ["assigned and 61 to 90 days past due", { statuses: ["assigned"], ...dpd }],
];
const PAGE_SIZE = 51;
/** The most rows that a query of a page reads: an index counts 20,000 cases and one more. */
const MOST_COUNTED = 20_001;

const { url } = await testDatabase("pair-plans", async (at) => void (await migrate({ url: at, schemas })));
let database: Database;
let scansOf: Awaited<ReturnType<typeof scansOfEveryPlan>>;
/** The queries of each search, and the branches of the cases that it found. A branch names a pair. */
const sent = new Map<string, readonly ExecutedQuery[]>();
const found = new Map<string, readonly string[]>();

beforeAll(async () => {
  database = await createDatabase({ url: directUrl(url), schemas, jobsSchema });
  const names = namedStatements().map(({ name }) => name);
  scansOf = await scansOfEveryPlan(url, {
    tables: ["cases.collection_case", "cases.search_state"],
    names: names.filter((name) => /^cases\.(search|count-of)-/.test(name)),
    fill: async (client) => {
      await fill(client);
      for (const [title, search] of PAIRS) await record(title, search, ROWS);
      for (const [title, search] of COMMON) await record(title, search, PAGE_SIZE);
      return [...sent.values()].flat();
    },
  });
});
afterAll(() => database.close());

/** Makes one search, and records its queries and the cases that it found. */
async function record(title: string, search: CaseSearch, limit: number): Promise<void> {
  const queries = await queriesDuring(async () => {
    const page = { after: BEFORE_ALL_IDS, limit };
    const { cases, searchedTo } = await searchCases(database.em(), LENDER, search, page);
    expect(searchedTo).toBeUndefined();
    found.set(
      title,
      cases.map(({ branchCode }) => branchCode!),
    );
  });
  const ofCases = queries.filter(({ name }) => name.startsWith("cases."));
  sent.set(
    title,
    ofCases.map(({ name, values }) => ({ title: `${title}: ${name}`, name, values })),
  );
}

test.each(PAIRS)("a search for cases that are %s finds them all", (title, _search, pair) => {
  expect(found.get(title)).toEqual(Array.from({ length: FOUND }, () => `P${pair}`));
});

test.each(COMMON)("a search for cases that are %s fills its page", (title) => {
  expect(found.get(title)).toHaveLength(PAGE_SIZE);
});

test("a search for new cases of a field partner sends no query", async () => {
  const queries = await queriesDuring(async () => {
    const page = { after: BEFORE_ALL_IDS, limit: PAGE_SIZE };
    const search: CaseSearch = { statuses: ["new"], holderId: HOLDER };
    expect(await searchCases(database.em(), LENDER, search, page)).toEqual({ cases: [], searchedTo: undefined });
  });
  expect(queries).toEqual([]);
});

test("a search for a name gets memory when it counts names", async () => {
  const queries = await queriesDuring(async () => {
    const page = { after: BEFORE_ALL_IDS, limit: PAGE_SIZE };
    const { cases } = await searchCases(database.em(), LENDER, { text: "asha", ...dpd }, page);
    expect(cases).toHaveLength(PAGE_SIZE);
  });
  const { name, values } = queries.find((query) => query.name === "cases.count-of-keys")!;
  const { text } = namedStatements().find((one) => one.name === name)!;
  const client = await database.pool.connect();
  try {
    await client.query("begin");
    await client.query(text, [...values]);
    const { rows } = await client.query("show work_mem");
    expect(rows).toEqual([{ work_mem: "64MB" }]);
  } finally {
    await client.query("rollback");
    client.release();
  }
});

describe.each(PLANS)("with this kind of plan: %s", (plan) => {
  test.each(PAIRS)("a search for cases that are %s reads few rows", (title) => {
    const queries = sent.get(title)!;
    expect(queries.length).toBeGreaterThan(1);
    for (const { title: query } of queries) {
      const scans = scansOf(plan, query).filter(({ table }) => table !== "rare_status");
      expect(scans.filter(({ index, rows }) => index === undefined || rows > MOST_READ)).toEqual([]);
      expect(scans.some(({ rows }) => rows >= FOUND)).toBe(true);
    }
  });

  test.each(COMMON)("a page of cases that are %s is found by an index", (title) => {
    for (const { title: query } of sent.get(title)!) {
      const scans = scansOf(plan, query).filter(({ table }) => table !== "rare_status");
      expect(scans.filter(({ index, rows }) => index === undefined || rows > MOST_COUNTED)).toEqual([]);
    }
  });
});

/**
 * Inserts cases of which the first quarter is closed, the second one unassigned, the third one 61 to 90 days past due, and the
 * last one has no recent visit. One in a thousand matches each pair of these filters. Its branch names the pair.
 */
async function fill(client: Client): Promise<void> {
  await client.query(
    `insert into cases.collection_case (lender_id, id, source_loan_number, cycle, is_current, status, field_work, work_begun,
       settled_by_lender, tags, currency, placed_minor, outstanding_minor, total_collected_minor, excess_minor, borrower_name,
       borrower_phone, alternate_phones, addresses, consent, metadata, sequence, created_at, updated_at, branch_code, dpd,
       assigned_field_partner_id)
     select $1::uuid, overlay($2::text placing lpad(to_hex(n), 8, '0') from 29)::uuid, 'LN-' || n, 1, true,
       case when kind = 0 or pair in (0, 1, 2) then 'closed' when kind = 1 or pair in (3, 4) then 'new' else 'assigned' end, 'open',
       false, false, '{}', 'INR', 1, 0, 0, 0, 'Asha', '+919800000001', '{}', '[]', '{}', '{}', 1, now(), now(), 'P' || pair,
       case when kind = 2 or pair in (1, 3, 5) then 61 + n % 30 else 0 end,
       case when not (kind = 1 or pair in (0, 3, 4)) then $3::uuid end
     from generate_series(1, $4::integer) n
     cross join lateral (select n % 1000 - 960 as pair, case when n % 1000 < 960 then n * 4 / ($4::integer + 1) else -1 end as kind) k`,
    [LENDER, newId(), HOLDER, ROWS],
  );
  await client.query(
    `insert into cases.visit (lender_id, id, case_id, field_partner_id, started_at, start_received_at)
     select c.lender_id, gen_random_uuid(), c.id, $2::uuid, $3::timestamptz, $3::timestamptz
     from cases.collection_case c cross join lateral (select substr(c.source_loan_number, 4)::integer as n) l
     where c.lender_id = $1 and not (l.n % 1000 < 960 and l.n * 4 / ($4::integer + 1) = 3 or l.n % 1000 in (962, 964, 965))`,
    [LENDER, HOLDER, new Date(NOT_VISITED_SINCE.getTime() + 3_600_000), ROWS],
  );
}
