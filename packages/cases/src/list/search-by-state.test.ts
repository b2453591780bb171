import { newId, query, statement } from "@collections/database";
import { beforeAll, describe, expect, test } from "vitest";
import { casesDatabase } from "../../tests/cases-database.ts";
import { foundLoans } from "../../tests/found-loans.ts";
import { CASE_STATUSES, type CaseStatus } from "../case/case-status.ts";
import type { CaseSearch } from "./case-search.ts";
import { keepRareStatuses } from "./keep-rare-statuses.ts";
import { STATUSES_SET_BY_PAYMENTS } from "./rare-status.ts";

const database = await casesDatabase();
/** More cases than one query reads by a status or by days past due. */
const COMMON = 20_500;
const RARE = 1_000;
const START = new Date("2026-11-20T10:00:00Z");
const LENDER = newId();
const STRANGER = newId();
const HOLDER = newId();

interface Row {
  readonly loan: string;
  readonly status: CaseStatus;
  readonly dpd: number | null;
  readonly branch: string;
  readonly isCurrent: boolean;
  readonly holder: string | null;
}

/** First many closed cases with 31 to 58 days past due, then cases of every status and between 0 and 400 days. */
const rows: readonly Row[] = Array.from({ length: COMMON + RARE }, (_, n) => {
  const rare = n - COMMON;
  const loan = `LN-${n}`;
  const someHolder = n % 10 === 0 ? null : HOLDER;
  if (rare < 0) {
    return { loan, status: "closed", dpd: 31 + (n % 28), branch: `B${n % 50}`, isCurrent: true, holder: someHolder };
  }
  const status = CASE_STATUSES[rare % CASE_STATUSES.length]!;
  return {
    loan,
    status,
    holder: status === "new" ? null : status === "assigned" ? HOLDER : someHolder,
    dpd: rare % 11 === 0 ? null : (rare * 7) % 400,
    branch: `B${rare % 50}`,
    isCurrent: rare % 13 !== 0,
  };
});

const insert = statement(
  "test.insert-cases-with-states",
  `insert into cases.collection_case (lender_id, id, source_loan_number, cycle, is_current, status, field_work, work_begun,
     settled_by_lender, tags, currency, placed_minor, outstanding_minor, total_collected_minor, excess_minor, borrower_name,
     borrower_phone, alternate_phones, addresses, consent, metadata, sequence, created_at, updated_at, branch_code, dpd,
     assigned_field_partner_id)
   select $1::uuid, overlay($2::text placing lpad(to_hex(n), 8, '0') from 29)::uuid, k->>'loan', 1, (k->>'isCurrent')::boolean,
     k->>'status', 'open', false, false, '{}', 'INR', 1, 0, 0, 0, 'Asha', '+919800000001', '{}', '[]', '{}', '{}', 1, now(),
     now(), k->>'branch', (k->>'dpd')::integer, (k->>'holder')::uuid
   from jsonb_array_elements($3::jsonb) with ordinality as r (k, n)`,
);

beforeAll(async () => {
  for (const lenderId of [LENDER, STRANGER]) {
    await query(database.em(), insert, [lenderId, newId(), JSON.stringify(rows)]);
  }
});

/** Returns the loans that match a search, by the documented meaning of the search. */
function loansThatMatch({ statuses, dpd, branchCode, holderId }: CaseSearch): string[] {
  const isFound = ({ status, dpd: days, branch, isCurrent, holder }: Row) =>
    isCurrent &&
    (holderId === undefined || holder === holderId) &&
    (statuses?.includes(status) ?? true) &&
    (dpd === undefined || (days !== null && days >= dpd.from && days <= dpd.to)) &&
    (branchCode === undefined || branch === branchCode);
  return rows.filter(isFound).map(({ loan }) => loan);
}

const found = (search: CaseSearch, limit: number) => foundLoans(database.em(), LENDER, search, limit);

const SEARCHES: readonly CaseSearch[] = [
  ...CASE_STATUSES.filter((status) => status !== "closed").map((status) => ({ statuses: [status] })),
  { statuses: ["on_hold", "withdrawn"] },
  { statuses: ["on_hold", "assigned"] },
  { statuses: ["on_hold", "on_hold"] },
  { statuses: [] },
  { dpd: { from: 0, to: 0 } },
  { dpd: { from: 30, to: 31 } },
  { dpd: { from: 59, to: 61 } },
  { dpd: { from: 60, to: 60 } },
  { dpd: { from: 200, to: 36_500 } },
  { dpd: { from: 391, to: 391 } },
  { dpd: { from: 401, to: 36_500 } },
  { statuses: ["withdrawn"], dpd: { from: 31, to: 58 } },
  { statuses: ["closed"], dpd: { from: 61, to: 90 } },
  { statuses: ["collected", "closed"], dpd: { from: 90, to: 200 } },
  { statuses: ["on_hold"], branchCode: "B3" },
  { dpd: { from: 1, to: 400 }, branchCode: "B3" },
  { holderId: null, dpd: { from: 31, to: 31 }, statuses: ["on_hold"] },
  { holderId: null, dpd: { from: 59, to: 61 } },
  { holderId: null, dpd: { from: 31, to: 58 } },
  { holderId: null, statuses: ["closed"] },
  { holderId: null, statuses: ["assigned"] },
  { holderId: null, statuses: ["in_progress", "withdrawn"], dpd: { from: 1, to: 400 } },
  { holderId: HOLDER, statuses: ["new"] },
  { statuses: ["new"], dpd: { from: 0, to: 400 } },
  { dpd: { from: 29, to: 62 }, holderId: null },
  { statuses: ["assigned"], dpd: { from: 61, to: 400 } },
];

describe.each([7, 30_000])("with pages of %s cases", (limit) => {
  test.each(SEARCHES)("%j finds the cases that match, in the order of ids", async (search) => {
    expect(await found(search, limit)).toEqual(loansThatMatch(search));
  });
});

const ofRareStatuses = SEARCHES.filter(({ statuses }) =>
  statuses?.some((status) => STATUSES_SET_BY_PAYMENTS.some((one) => one === status)),
);

describe.each([
  ["began to write", START],
  ["have all cases of", new Date(START.getTime() + 3_600_000)],
])("while the lists %s rare statuses", (_, now) => {
  beforeAll(() => keepRareStatuses(database.em(), LENDER, now));

  test.each(ofRareStatuses)("%j finds the cases that match", async (search) => {
    expect(await found(search, 7)).toEqual(loansThatMatch(search));
  });
});

test.each<CaseSearch>([
  { statuses: ["closed"] },
  { statuses: ["closed"], dpd: { from: 31, to: 60 } },
  { statuses: ["closed", "on_hold", "collected"], dpd: { from: 31, to: 60 } },
  { dpd: { from: 40, to: 60 } },
  { dpd: { from: 29, to: 62 } },
  { holderId: HOLDER, statuses: ["closed"], dpd: { from: 31, to: 60 } },
])("%j matches most cases, and is listed in pages, too", async (search) => {
  expect(await found(search, 5_000)).toEqual(loansThatMatch(search));
});
