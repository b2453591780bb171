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
     borrower_phone, alternate_phones, addresses, consent, metadata, sequence, created_at, updated_at, branch_code)
   select $1::uuid, overlay($2::text placing lpad(to_hex(n), 8, '0') from 29)::uuid, 'LN-' || n, 1, n % 7 <> 0, 'assigned',
     'open', false, false, '{}', 'INR', 1, 0, 0, 0, 'Asha', '+919800000001', '{}', '[]', '{}', '{}', 1, now(), now(),
     'B' || n % 50
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
function loansThatMatch(hours: number, branch?: string): string[] {
  return Array.from({ length: COMMON + RARE }, (_, index) => index + 1)
    .filter((n) => n % 7 !== 0 && (branch === undefined || `B${n % 50}` === branch))
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
  expect(await found({ notVisitedSince, branchCode: "B3" }, limit)).toEqual(loansThatMatch(hours, "B3"));
});
