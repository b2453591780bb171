/** @module-tag one-node-plan */
import { firstIdAt, migrate, newId } from "@collections/database";
import "@collections/flows";
import { testDatabase } from "@collections/testing";
import type { Client } from "pg";
import { beforeAll, describe, expect, test } from "vitest";
import { schemas } from "../../src/schemas.ts";
import { PLANS, scansOfEveryPlan } from "./fixtures/every-plan.ts";
import type { Scan } from "./fixtures/unanalysed-plans.ts";

/** The number of rows in the table of cases, and in the table of payments. LENDER has 99 of 100 rows. */
const ROWS = 100_000;
const LENDER = newId();
/** The maximum number of rows that a page may read: `MOST_READ` of the lists. */
const MOST_READ = 20_000;
const START = firstIdAt(new Date("2026-11-20T00:00:00Z"));
const NOTHING = "2020-01-01T00:00:00Z";
const PRIMARY_KEY_OF_PAYMENTS = "payment_booking_pkey";
const BY_REFERENCE = "payment_booking_by_reference";
const LOAN_AND_REFERENCE = "payment_booking_lender_id_source_loan_number_reference_key";

/** For each query of the lists: a name, values, the index that it must use, and the most rows that it may read. */
const QUERIES: readonly [title: string, name: string, values: readonly unknown[], index: string, most: number][] = [
  ["all payments", "ledger.list-bookings", [LENDER, START, null, null, null, 501], PRIMARY_KEY_OF_PAYMENTS, 501],
  [
    "payments of a day without any",
    "ledger.list-bookings",
    [LENDER, START, null, NOTHING, null, 501],
    PRIMARY_KEY_OF_PAYMENTS,
    MOST_READ,
  ],
  [
    "payments with a common reference",
    "ledger.list-bookings",
    [LENDER, START, null, null, ["UTR49999"], 501],
    PRIMARY_KEY_OF_PAYMENTS,
    MOST_READ,
  ],
  ["the end of a search for payments", "ledger.last-searched", [LENDER, START], PRIMARY_KEY_OF_PAYMENTS, MOST_READ],
  [
    "payments of a loan",
    "ledger.list-bookings-of-loan",
    [LENDER, START, null, null, null, 501, "LN-7"],
    LOAN_AND_REFERENCE,
    10,
  ],
  ["the loans of a reference", "ledger.loans-of-reference", [[LENDER], ["UTR49999"], 1001], BY_REFERENCE, 1],
  ["payments by reference", "ledger.payments-by-reference", [[LENDER], ["UTR49999", "UTR1"], 20], BY_REFERENCE, 2],
  ["all cases", "cases.list-of-lender", [LENDER, START, null, null, 501], "collection_case_pkey", 501],
  [
    "cases with a status that none has",
    "cases.list-of-lender",
    [LENDER, START, ["closed"], null, 501],
    "collection_case_pkey",
    MOST_READ,
  ],
  [
    "cases that have changed",
    "cases.list-of-lender",
    [LENDER, START, null, new Date(Date.now() + 1_000_000).toISOString(), 501],
    "collection_case_pkey",
    MOST_READ,
  ],
  ["the end of a search for cases", "cases.last-searched", [LENDER, START], "collection_case_pkey", MOST_READ],
];

/** Looks for two numbers among the cases, of which one exists with other zeros. */
const SIMILAR = ["loans similar to new ones", "cases.similar-loans", [LENDER, ["99997", "7"], true]] as const;

const REVERSALS = "payment_reversal";

/** The maximum number of rows of LENDER that match a search. */
const MOST_FOUND = 200;

/** The maximum number of cases that a search for a text reads in the order of ids before it reads the indexes. */
const MOST_READ_OF_TEXT = 1_000;

/** A time that is after the last visit of few cases. */
const LONG_AGO = "2026-01-01T00:00:00Z";
const HOLDER = newId();

interface RareSearch {
  readonly title: string;
  readonly name: string;
  /** The statement of a search with another filter, if it is not `name`. */
  readonly nameWithMore?: string;
  readonly key?: string;
  readonly rare: Searched;
  /** The values from $17 on. */
  readonly more?: readonly unknown[];
  readonly index: string;
}

const GROUPS = ["open", "on_hold", "closed", "withdrawn"].flatMap((group) => [group, `${group}_unassigned`]);

/** Searches by one filter that few cases match, with the statement that finds them and its key. */
const RARE: readonly RareSearch[] = [
  {
    title: "cases of a branch",
    name: "cases.search-of-branch",
    key: "B7",
    rare: { branch: "B7" },
    index: "case_of_branch",
  },
  {
    title: "cases of a postal code",
    name: "cases.search-of-postal-code",
    key: "4 12",
    rare: { postalCode: "412" },
    index: "case_of_postal_code",
  },
  {
    title: "cases of a field partner",
    name: "cases.search-of-holder",
    key: HOLDER,
    rare: { holder: HOLDER },
    index: "collection_case_assigned_field_partner_id_id_idx",
  },
  {
    title: "cases of a name",
    name: "cases.search-of-text",
    nameWithMore: "cases.search-of-text-and-more",
    rare: { text: "zarathustra" },
    index: "case_of_filters",
  },
  {
    title: "cases with the end of a loan number",
    name: "cases.search-of-text",
    nameWithMore: "cases.search-of-text-and-more",
    rare: { text: "99997" },
    index: "case_of_loan_end",
  },
  {
    title: "cases on hold",
    name: "cases.search-of-status",
    rare: { status: "on_hold" },
    more: [["on_hold", "on_hold_unassigned"], []],
    index: "search_state_of_group",
  },
  {
    title: "cases in progress",
    name: "cases.search-of-status",
    rare: { status: "in_progress" },
    more: [[], ["in_progress"]],
    index: "rare_case_pkey",
  },
  {
    title: "cases far past due",
    name: "cases.search-of-group-and-dpd",
    rare: { dpd: 400 },
    more: [GROUPS],
    index: "search_state_of_group_and_dpd",
  },
  {
    title: "cases without a visit",
    name: "cases.search-of-group-and-visit",
    rare: { notVisitedSince: LONG_AGO },
    more: [GROUPS],
    index: "search_state_of_group_and_visit",
  },
];

/**
 * Searches by each rare filter and by each pair of them: a name, the values from $3 on, and the index that must find the rows. A search for
 * a text first reads some rows in the order of ids.
 */
const SEARCHES: readonly [title: string, name: string, values: readonly unknown[], index: string][] = [
  ...RARE.map(({ title, name, key = null, rare, more = [], index }) => {
    return [title, name, [key, ...search(rare), ...more], index] as [string, string, unknown[], string];
  }),
  ...RARE.flatMap(({ title, name, nameWithMore = name, key = null, rare, more = [], index }) =>
    RARE.filter((other) => !Object.keys(other.rare).some((filter) => filter in rare)).map((other) => {
      const both = search({ ...rare, ...other.rare });
      return [`${title} that are ${other.title}`, nameWithMore, [key, ...both, ...more], index] as [
        string,
        string,
        unknown[],
        string,
      ];
    }),
  ),
  [
    "the number of cases without a visit",
    "cases.count-of-group-and-visit",
    [MOST_READ, GROUPS, LONG_AGO],
    "search_state_of_group_and_visit",
  ],
  [
    "the number of cases on hold",
    "cases.count-of-status",
    [MOST_READ, ["on_hold", "on_hold_unassigned"], []],
    "search_state_of_group",
  ],
  ["the number of cases in progress", "cases.count-of-status", [MOST_READ, [], ["in_progress"]], "rare_case_pkey"],
  [
    "the number of cases far past due",
    "cases.count-of-group-and-dpd",
    [MOST_READ, GROUPS, 400, 36_500],
    "search_state_of_group_and_dpd",
  ],
  [
    "the number of cases of a name",
    "cases.count-of-keys",
    [MOST_READ, "zarathustra", ["zarathustra"]],
    "case_of_filters",
  ],
];

interface Searched {
  readonly branch?: string;
  readonly holder?: string;
  readonly postalCode?: string;
  readonly text?: string;
  readonly status?: string;
  readonly dpd?: number;
  readonly notVisitedSince?: string;
}

/** Returns the values from $4 on of a search for cases. */
function search({ branch, holder, postalCode, text, status, dpd, notVisitedSince }: Searched): unknown[] {
  return [
    51,
    status === undefined ? null : [status],
    false,
    branch ?? null,
    postalCode ?? null,
    dpd ?? null,
    dpd ?? null,
    null,
    null,
    notVisitedSince ?? null,
    text ?? null,
    text === undefined ? null : [text],
    holder ?? null,
  ];
}

const { url } = await testDatabase("list-plans", async (at) => void (await migrate({ url: at, schemas })));
let scansOf: Awaited<ReturnType<typeof scansOfEveryPlan>>;

beforeAll(async () => {
  const searches = SEARCHES.map(([title, name, values]) => ({ title, name, values: [LENDER, START, ...values] }));
  const queries = [...[...QUERIES, SIMILAR].map(([title, name, values]) => ({ title, name, values })), ...searches];
  scansOf = await scansOfEveryPlan(url, {
    tables: ["cases.collection_case", "cases.search_state", "cases.rare_case", "ledger.payment_booking"],
    names: queries.map(({ name }) => name),
    fill: async (client) => {
      await fill(client);
      return queries;
    },
  });
});

describe.each(PLANS)("with this kind of plan: %s", (plan) => {
  test.each(QUERIES)("the query for %s uses its index, and reads at most as many rows as its limit", (...query) => {
    const [title, , , index, most] = query;
    const all = scansOf(plan, title);
    // Payments that were found by reference are returned with the sum of their reversals.
    const [scans, ofReversals] = [false, true].map((is) => all.filter(({ table }) => (table === REVERSALS) === is));
    expect(scans!.filter((scan) => scan.index !== index || scan.rows > most)).toEqual([]);
    expect(scans).toHaveLength(1);
    expect(ofReversals!.filter(({ condition }) => !condition.includes("source_loan_number = "))).toEqual([]);
  });

  test.each(SEARCHES)(
    "the search for %s finds them by its index, and reads few rows",
    (title, _name, _values, index) => {
      const scans = scansOf(plan, title);
      const mostOf = (scan: Scan) => (scan.index === "collection_case_pkey" ? MOST_READ : MOST_FOUND);
      expect(scans.filter((scan) => scan.rows > mostOf(scan))).toEqual([]);
      expect(scans.find((scan) => scan.index === index && scan.rows > 0)).toBeDefined();
    },
  );
});

test.each(PLANS)("a rare text is found after 1,000 cases with this kind of plan: %s", (plan) => {
  const ofText = SEARCHES.filter(([, name]) => name === "cases.search-of-text");
  expect(ofText).toHaveLength(2);
  for (const [title] of ofText) {
    expect(scansOf(plan, title).filter(({ rows }) => rows > MOST_READ_OF_TEXT)).toEqual([]);
  }
});

test.each(PLANS)("similar loans are found by an index with this kind of plan: %s", (plan) => {
  const scans = scansOf(plan, SIMILAR[0]);
  expect(scans.filter(({ rows }) => rows > 4)).toEqual([]);
  expect(scans.find(({ index, rows }) => index === "case_of_loan_end" && rows > 0)).toBeDefined();
});

/** Inserts the lender's rows, and a few rows of other lenders. */
async function fill(client: Client): Promise<void> {
  const lender = "case when n % 100 = 0 then gen_random_uuid() else $1::uuid end";
  // Each id is a UUIDv7 of the time of START. Its last 8 digits are replaced by the number of the row.
  const id = "overlay($2::text placing lpad(to_hex(n), 8, '0') from 29)::uuid";
  await client.query(
    "insert into cases.rare_status (lender_id, status, since, complete) values ($1, 'in_progress', now(), true)",
    [LENDER],
  );
  await client.query(
    `insert into cases.collection_case (lender_id, id, source_loan_number, cycle, is_current, status, field_work,
       blocked_at, work_begun, settled_by_lender, tags, currency, placed_minor, outstanding_minor, total_collected_minor,
       excess_minor, borrower_name, borrower_phone, alternate_phones, addresses, consent, metadata, sequence,
       created_at, updated_at, branch_code, dpd, assigned_field_partner_id)
     select ${lender}, ${id}, case n when 7 then '0007' else 'LN-' || n end, 1, true,
       case n % 1000 when 2 then 'on_hold' when 4 then 'in_progress' else 'new' end, case n % 1000 when 2 then 'blocked' else 'open' end,
       case n % 1000 when 2 then now() end, false, false, '{}', 'INR', 1000, 1000, 0, 0,
       case n % 1000 when 1 then 'Zarathustra Rao' else 'Ravi Kumar' end, '+919800000001', '{}',
       jsonb_build_array(jsonb_build_object('postalCode', n % 1000)), '{}', '{}', 1, now(), now(), 'B' || n % 1000,
       case n % 1000 when 3 then 400 else n % 180 end, case n % 1000 when 6 then $4::uuid end
     from generate_series(1, $3::integer) n`,
    [LENDER, START, ROWS, HOLDER],
  );
  await client.query(
    `update cases.search_state set visited_at = now()
     where mod(('x' || right(case_id::text, 8))::bit(32)::integer, 1000) <> 5`,
  );
  await client.query(
    `insert into ledger.payment_booking (lender_id, id, source_loan_number, reference, case_id, cycle, amount_minor,
       currency, mode, raw_mode, paid_at, attribution, applied_minor, excess_minor, outstanding_after_minor,
       total_collected_after_minor, status_after, sequence, warnings, recorded_at)
     select ${lender}, ${id}, 'LN-' || n % 10000, 'UTR' || n, ${id}, 1, 100, 'INR', 'upi', 'upi', now(), 'none', 100, 0,
       10, 100, 'in_progress', 1, '[]', now()
     from generate_series(1, $3::integer) n`,
    [LENDER, START, ROWS],
  );
}
