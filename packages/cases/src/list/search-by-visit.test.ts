import { newId, query, statement } from "@collections/database";
import { beforeAll, expect, test } from "vitest";
import { casesDatabase } from "../../tests/cases-database.ts";
import { foundLoans } from "../../tests/found-loans.ts";
import type { CaseSearch } from "./case-search.ts";

const database = await casesDatabase();
const LENDER = newId();
/** More cases than one query reads by the time of their last visit. */
const COMMON = 20_500;
const RARE = 300;
const NOW = new Date("2026-11-20T10:00:00Z");
const HOUR_MS = 3_600_000;

const insertCases = statement(
  "test.insert-cases-to-visit",
  `insert into cases.collection_case (lender_id, id, source_loan_number, cycle, is_current, status, field_work, work_begun,
     settled_by_lender, tags, currency, placed_minor, outstanding_minor, total_collected_minor, excess_minor, borrower_name,
     borrower_phone, alternate_phones, addresses, consent, metadata, sequence, created_at, updated_at, branch_code,
     dpd, assigned_field_partner_id)
   select $1::uuid, overlay($2::text placing lpad(to_hex(n), 8, '0') from 29)::uuid, 'LN-' || n, 1, n % 7 <> 0, case n % 4 when 0 then 'new' when 1 then 'closed' else 'assigned' end,
     'open', false, false, '{}', 'INR', 1, 0, 0, 0, 'Asha', '+919800000001', '{}', '[]', '{}', '{}', 1, now(), now(),
     'B' || n % 50, n % 100, case when n % 4 > 0 then $2::uuid end
   from generate_series(1, $3::integer) n`,
);
/** Every case has a visit in the last hour, except each of the last cases: none, or two that are up to 300 hours old. */
const insertVisits = statement(
  "test.insert-visits",
  `insert into cases.visit (lender_id, id, case_id, field_partner_id, started_at, start_received_at)
   select c.lender_id, gen_random_uuid(), c.id, $1::uuid, v.at, v.at
   from cases.collection_case c
   cross join lateral (select substr(c.source_loan_number, 4)::integer - $3::integer as n) r
   cross join lateral (
     select $2::timestamptz - interval '30 minutes' as at where r.n <= 0
     union all
     select $2::timestamptz - r.n * interval '1 hour' * k from generate_series(1, 2) k where r.n > 0 and r.n % 3 <> 0
   ) v
   where c.lender_id = $4`,
);

beforeAll(async () => {
  await query(database.em(), insertCases, [LENDER, newId(), COMMON + RARE]);
  await query(database.em(), insertVisits, [newId(), NOW, COMMON, LENDER]);
});

/** Returns the loans without a visit for `hours`, by the documented meaning of the search. */
function loansThatMatch(hours: number, isFound: (n: number) => boolean = () => true): string[] {
  return Array.from({ length: COMMON + RARE }, (_, index) => index + 1)
    .filter((n) => n % 7 !== 0 && isFound(n))
    .filter((n) => (n <= COMMON ? hours < 0.5 : (n - COMMON) % 3 === 0 || n - COMMON > hours))
    .map((n) => `LN-${n}`);
}

const found = (search: CaseSearch, limit: number) => foundLoans(database.em(), LENDER, search, limit);

test.each([
  [1, 40],
  [100, 7],
  [299, 30_000],
  [1_000, 7],
  [0, 5_000],
])("finds cases without a visit for %s hours in pages of %s", async (hours, limit) => {
  const notVisitedSince = new Date(NOW.getTime() - hours * HOUR_MS);
  expect(await found({ notVisitedSince }, limit)).toEqual(loansThatMatch(hours));
  expect(await found({ notVisitedSince, branchCode: "B3" }, limit)).toEqual(loansThatMatch(hours, (n) => n % 50 === 3));
});

test.each<[title: string, search: CaseSearch, isFound: (n: number) => boolean]>([
  ["closed", { statuses: ["closed"] }, (n) => n % 4 === 1],
  ["assigned", { statuses: ["assigned"] }, (n) => n % 4 > 1],
  ["unassigned", { holderId: null }, (n) => n % 4 === 0],
  ["0 days past due", { dpd: { from: 0, to: 0 } }, (n) => n % 100 === 0],
  ["20 to 95 days past due", { dpd: { from: 20, to: 95 } }, (n) => n % 100 >= 20 && n % 100 <= 95],
  ["30 days past due or more", { dpd: { from: 30, to: 36_500 } }, (n) => n % 100 >= 30],
  [
    "new and 1 to 30 days past due",
    { statuses: ["new"], dpd: { from: 1, to: 30 } },
    (n) => n % 4 === 0 && n % 100 >= 1 && n % 100 <= 30,
  ],
])("finds cases without a visit that are %s", async (_, search, isFound) => {
  for (const hours of [0, 1, 100]) {
    const notVisitedSince = new Date(NOW.getTime() - hours * HOUR_MS);
    expect(await found({ ...search, notVisitedSince }, 5_000)).toEqual(loansThatMatch(hours, isFound));
  }
});
