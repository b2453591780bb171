/** @module-tag one-node-plan */
import { firstIdAt, migrate, namedStatements, newId } from "@collections/database";
import "@collections/flows";
import { directUrl, testDatabase } from "@collections/testing";
import { Client } from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { schemas } from "../../src/schemas.ts";
import { execute, type PlanMode, prepare, type Scan } from "./fixtures/unanalysed-plans.ts";

const DAYS = 10;
/** The number of payments, links, visits, promises and cases of each day. LENDER has 99 of 100 rows. */
const ROWS_A_DAY = 4_000;
const LENDER = newId();
const DAY_MS = 86_400_000;
const BEGIN = new Date("2026-11-11T00:00:00Z");
const FROM = new Date("2026-11-15T00:00:00Z");
const TO = new Date(FROM.getTime() + 2 * DAY_MS);
const BOUNDS = [FROM, new Date(FROM.getTime() + DAY_MS), TO];
const NAMES = ["2026-11-15", "2026-11-16"];
/** A query by ids reads an hour more at each end of the two days. */
const HOUR_MS = 3_600_000;
const IDS = [firstIdAt(new Date(FROM.getTime() - HOUR_MS)), firstIdAt(new Date(TO.getTime() + HOUR_MS))];
const MOST_BY_IDS = ROWS_A_DAY * (50 / 24);
/** The number of rows that a list of the latest payments or reversals returns. */
const LIST_LIMIT = 1_500;
/** The maximum number of cases that a count of unassigned cases reads. */
const MOST_CASES = 20_000;

/** For each query: its name, values, and the indexes that it must use, each with the most rows that it may read. */
const QUERIES: readonly [name: string, values: readonly unknown[], indexes: Readonly<Record<string, number>>][] = [
  [
    "ledger.recorded-sums",
    [LENDER, ...IDS, BOUNDS],
    { payment_booking_pkey: MOST_BY_IDS, payment_reversal_pkey: MOST_BY_IDS },
  ],
  ["ledger.latest-bookings", [LENDER, IDS[1], LIST_LIMIT], { payment_booking_pkey: LIST_LIMIT }],
  ["ledger.latest-reversals", [LENDER, IDS[1], LIST_LIMIT], { payment_reversal_pkey: LIST_LIMIT }],
  ["ledger.fee-sums", [LENDER, ...IDS, FROM, TO], { transfer_pkey: MOST_BY_IDS }],
  [
    "ledger.fee-lines",
    [LENDER, ...IDS, FROM, TO, LIST_LIMIT],
    { transfer_pkey: MOST_BY_IDS, payment_booking_pkey: LIST_LIMIT },
  ],
  ["earnings.deduction-sums", [LENDER, ...IDS, BOUNDS], { earning_deducted: MOST_BY_IDS / 2 }],
  ["payment-links.count-links", [LENDER, ...IDS, BOUNDS], { payment_link_pkey: MOST_BY_IDS }],
  [
    "cases.day-counts",
    [LENDER, BOUNDS, NAMES, MOST_CASES],
    {
      visit_ended: 2 * ROWS_A_DAY * (25 / 24),
      visit_long: 2 * ROWS_A_DAY,
      case_unassigned: MOST_CASES,
      promise_due: 2 * ROWS_A_DAY,
    },
  ],
];

const { url } = await testDatabase("day-figures-plans", async (at) => void (await migrate({ url: at, schemas })));
const PLANS = [
  "made while the tables were empty",
  "generic, without statistics",
  "custom, without statistics",
  "generic, with statistics",
  "custom, with statistics",
] as const;
const TABLES = [
  "cases.collection_case",
  "cases.visit",
  "cases.promise",
  "payment_links.payment_link",
  "ledger.payment_booking",
  "ledger.payment_reversal",
  "ledger.transfer",
  "earnings.earning",
];
/** The scans of each query with each kind of plan, by the kind and the name of the query. */
const found = new Map<string, readonly Scan[]>();
const clients: Client[] = [];

// ANALYZE discards the plans of every session. So each kind of plan is executed before the next step changes the statistics.
beforeAll(async () => {
  const [empty, generic, custom] = [
    await session("force_generic_plan"),
    await session("force_generic_plan"),
    await session("force_custom_plan"),
  ];
  for (const table of TABLES) await empty.query(`alter table ${table} set (autovacuum_enabled = off)`);
  await prepareAll(empty);
  await fill(generic);
  await executeAll(empty, PLANS[0]);
  await prepareAll(generic);
  await executeAll(generic, PLANS[1]);
  await prepareAll(custom);
  await executeAll(custom, PLANS[2]);
  await empty.query(`analyze ${TABLES.join(", ")}`);
  await executeAll(generic, PLANS[3]);
  await executeAll(custom, PLANS[4]);
});
afterAll(() => Promise.all(clients.map((client) => client.end())));

describe.each(PLANS)("with this kind of plan: %s", (plan) => {
  test.each(QUERIES)("the query %s uses its indexes, and reads only the rows of its days", (name, _, indexes) => {
    const scans = found.get(`${plan}: ${name}`)!;
    expect(scans.map(({ index }) => index)).toEqual(Object.keys(indexes));
    expect(scans.filter(({ index, rows }) => rows > indexes[index!]!)).toEqual([]);
    expect(scans.every(({ rows }) => rows > 1_000)).toBe(true);
  });
});

async function session(mode: PlanMode): Promise<Client> {
  const client = new Client({ connectionString: directUrl(url) });
  await client.connect();
  clients.push(client);
  await client.query(`set plan_cache_mode = ${mode}`);
  return client;
}

/** Prepares and plans all queries for the tables in their current state. */
async function prepareAll(client: Client): Promise<void> {
  for (const [place, [name]] of QUERIES.entries()) {
    const { text } = namedStatements().find((one) => one.name === name)!;
    await prepare(client, `query_${place}`, text);
  }
}

async function executeAll(client: Client, plan: string): Promise<void> {
  for (const [place, [name, values]] of QUERIES.entries()) {
    found.set(`${plan}: ${name}`, await execute(client, `query_${place}`, { name, text: "select", values }));
  }
}

/** Inserts ROWS_A_DAY rows into each table for each day, at equal intervals. */
async function fill(client: Client): Promise<void> {
  // $1 is the lender, $2 the time of the first row, $3 the number of rows, $4 the interval between two rows in
  // milliseconds. The id of a row is a UUID of its time and its number.
  const rows = `(
    select n, at, case when n % 100 = 0 then other else $1::uuid end as lender_id,
      (lpad(to_hex((extract(epoch from at) * 1000)::bigint), 12, '0') || '7000' || lpad(to_hex(n), 16, '0'))::uuid as id
    from (
      select n, $2::timestamptz + n * $4::float8 * interval '1 millisecond' as at, gen_random_uuid() as other
      from generate_series(0, $3::integer - 1) n
    ) s
  ) r`;
  const values = [LENDER, BEGIN, DAYS * ROWS_A_DAY, DAY_MS / ROWS_A_DAY];
  await client.query(
    `insert into cases.collection_case (lender_id, id, source_loan_number, cycle, is_current, status, field_work,
       work_begun, settled_by_lender, tags, currency, placed_minor, outstanding_minor, total_collected_minor,
       excess_minor, borrower_name, borrower_phone, alternate_phones, addresses, consent, metadata, sequence,
       created_at, updated_at)
     select lender_id, id, 'LN-' || n, 1, true, 'new', 'open', false, false, '{}', 'INR', 1000, 1000, 0, 0,
       'Ravi Kumar', '+919800000001', '{}', '[]', '{}', '{}', 1, at, at
     from ${rows}`,
    values,
  );
  await client.query(
    `with visited as (
       insert into cases.visit (lender_id, id, case_id, field_partner_id, started_at, start_received_at, completed_at,
         completion_received_at, disposition)
       select lender_id, gen_random_uuid(), id, gen_random_uuid(), created_at, created_at, ended_at, ended_at,
         case when ended_at is not null then 'PROMISE_TO_PAY' end
       from (
         select *, case when row_number() over (order by id) % 3 > 0 then created_at end as ended_at
         from cases.collection_case
       ) c
       returning lender_id, id, case_id, start_received_at as at)
     insert into cases.promise (lender_id, id, case_id, visit_id, amount_minor, currency, due_on, state, created_at)
     select lender_id, gen_random_uuid(), case_id, id, 1, 'INR', (at at time zone 'UTC')::date, 'kept', at from visited`,
  );
  await client.query(
    `insert into payment_links.payment_link (lender_id, id, case_id, source_loan_number, visit_id, field_partner_id,
       amount_minor, currency, status, mint_key, channels, created_at, updated_at)
     select lender_id, id, id, 'LN-' || n, id, id, 1, 'INR', 'requested', id, '{}', at, at from ${rows}`,
    values,
  );
  await client.query(
    `insert into ledger.payment_booking (lender_id, id, source_loan_number, reference, case_id, cycle, amount_minor,
       currency, mode, raw_mode, paid_at, attribution, applied_minor, excess_minor, outstanding_after_minor,
       total_collected_after_minor, status_after, sequence, warnings, recorded_at)
     select lender_id, id, 'LN-' || n, 'UTR' || n, id, 1, 100, 'INR', 'upi', 'upi', at, 'none', 100, 0, 10, 100,
       'in_progress', 1, '[]', at
     from ${rows}`,
    values,
  );
  await client.query(
    `insert into ledger.payment_reversal (lender_id, id, booking_id, source_loan_number, reference, reversal_reference,
       case_id, cycle, amount_minor, currency, reversed_at, reason, applied_minor, excess_minor, in_balance,
       adjustment_minor, reapplied, outstanding_after_minor, total_collected_after_minor, total_reversed_after_minor,
       excess_after_minor, status_after, sequence, warnings, recorded_at)
     select lender_id, id, id, 'LN-' || n, 'UTR' || n, 'RV-' || n, id, 1, 100, 'INR', at, 'bounced', 100, 0, false, 0,
       '[]', 10, 0, 100, 0, 'in_progress', 1, '[]', at
     from ${rows}`,
    values,
  );
  await client.query(
    `insert into ledger.transfer (lender_id, id, debit_account, credit_account, amount_minor, currency, kind, case_id,
       booking_id, memo, effective_at, recorded_at)
     select lender_id, id, 'commission_expense/' || lender_id || '/INR', 'pending/' || id || '/INR', 25, 'INR', 'commission',
       id, id, 'Commission earned', at, at from ${rows}`,
    values,
  );
  await client.query(
    `insert into earnings.earning (lender_id, id, case_id, booking_id, source_loan_number, reference, field_partner_id,
       currency, base_minor, percent, amount_minor, status, earned_at, credited_at)
     select lender_id, id, id, id, 'LN-' || n, 'UTR' || n, id, 'INR', 1000, 25000, 25, 'credited', at, at from ${rows}`,
    values,
  );
  // A reversal takes the earning of every third payment back.
  await client.query(
    `insert into earnings.earning (lender_id, id, case_id, booking_id, source_loan_number, reference, field_partner_id,
       currency, base_minor, percent, amount_minor, status, earned_at, credited_at, reversal_id, base_before_minor)
     select lender_id, overlay(id::text placing '8' from 15 for 1)::uuid, id, id, 'LN-' || n, 'UTR' || n, id, 'INR',
       0, 25000, -25, 'credited', at, at, id, 1000
     from ${rows} where n % 3 = 0`,
    values,
  );
}
