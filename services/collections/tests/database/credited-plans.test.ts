/** @module-tag one-node-plan */
import { migrate, newId } from "@collections/database";
import { createDatabase } from "@collections/entities";
import { creditedSums, creditedSumsOf, owedSums, takenBackSums } from "@collections/earnings";
import { directUrl, testDatabase } from "@collections/testing";
import type { Client } from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { schemas } from "../../src/schemas.ts";
import { PLANS, scansOfEveryPlan } from "./fixtures/every-plan.ts";

/** Each of 50 field partners has 400 earnings. Four of them are not paid out. */
const PEOPLE = 50;
const EARNINGS_EACH = 400;
const CREDITED_EACH = 4;
/** The field partners of whose paid earnings one was taken back. */
const IN_DEBT = 2;
const LENDER = newId();
const PAYOUT = newId();
const LATER = new Date(Date.now() + 86_400_000);

/** For each query: its values, and the most rows that it may read. */
const QUERIES: readonly (readonly [name: string, values: readonly unknown[], most: number])[] = [
  ["earnings.credited-sums", [fieldPartner(PEOPLE), null], CREDITED_EACH],
  [
    "earnings.credited-sums-of",
    [Array.from({ length: PEOPLE }, (_, n) => fieldPartner(n + 1))],
    PEOPLE * CREDITED_EACH + IN_DEBT,
  ],
  ["earnings.owed-sums", [LENDER, LATER], IN_DEBT * (CREDITED_EACH + 1)],
  ["earnings.taken-back-sums", [LENDER], IN_DEBT],
];

const { url } = await testDatabase("credited-plans", async (at) => void (await migrate({ url: at, schemas })));
const database = await createDatabase({ url: directUrl(url), schemas });
let scansOf: Awaited<ReturnType<typeof scansOfEveryPlan>>;

beforeAll(async () => {
  scansOf = await scansOfEveryPlan(url, {
    tables: ["earnings.earning"],
    names: QUERIES.map(([name]) => name),
    fill: async (client) => {
      await fill(client);
      return QUERIES.map(([name, values]) => ({ title: name, name, values }));
    },
  });
});
afterAll(() => database.close());

test("the sums are those of the earnings that are not paid out", async () => {
  const em = database.em();
  const people = [fieldPartner(1), fieldPartner(PEOPLE)];
  const sums = await creditedSumsOf(em, people);
  expect(sums.map(({ fieldPartnerId, lines, amountMinor }) => [fieldPartnerId, lines, amountMinor])).toEqual([
    [people[0], CREDITED_EACH + 1, -20n],
    [people[1], CREDITED_EACH, 80n],
  ]);
  expect(await creditedSums(em, people[1]!)).toMatchObject([{ lines: CREDITED_EACH, amountMinor: 80n }]);
  const fieldPartnerIds = Array.from({ length: IN_DEBT }, (_, n) => fieldPartner(n + 1));
  expect(await owedSums(em, LENDER, LATER)).toMatchObject([{ owedMinor: 40n, fieldPartnerIds }]);
  expect(await takenBackSums(em, LENDER)).toMatchObject([{ takenBackMinor: 200n, payments: 2, fieldPartnerIds }]);
});

describe.each(PLANS)("with this kind of plan: %s", (plan) => {
  test.each(QUERIES)("%s reads no earning that is paid out", (name, _values, most) => {
    const scans = scansOf(plan, name);
    expect(scans.filter(({ index, rows }) => index === undefined || rows > most)).toEqual([]);
    expect(scans.some(({ rows }) => rows > 0)).toBe(true);
  });
});

function fieldPartner(number: number): string {
  return `00000000-0000-7000-8000-${String(number).padStart(12, "0")}`;
}

/** Inserts the earnings. Each has 20 minor units; a line that takes back a paid earning has -100. */
async function fill(client: Client): Promise<void> {
  await client.query(
    `insert into earnings.payout (lender_id, id, field_partner_id, currency, reference, paid_on, lines, amount_minor, recorded_at)
     values ($1, $2, $3, 'INR', 'UTR1', '2026-11-20', 1, 20, now())`,
    [LENDER, PAYOUT, fieldPartner(1)],
  );
  await client.query(
    `insert into earnings.earning (lender_id, id, case_id, booking_id, source_loan_number, reference, field_partner_id,
       currency, base_minor, percent, amount_minor, status, earned_at, credited_at, paid_out_at, payout_id)
     select $1::uuid, gen_random_uuid(), gen_random_uuid(), md5(n::text)::uuid, 'LN-' || n, 'R' || n,
       ('00000000-0000-7000-8000-' || lpad((n % $3 + 1)::text, 12, '0'))::uuid, 'INR', 1000, 20000, 20,
       case when is_paid then 'paid_out' else 'credited' end, now(), now(), case when is_paid then now() end,
       case when is_paid then $2::uuid end
     from generate_series(0, $3::integer * $4::integer - 1) n
     cross join lateral (select n / $3 >= $5::integer as is_paid) paid`,
    [LENDER, PAYOUT, PEOPLE, EARNINGS_EACH, CREDITED_EACH],
  );
  await client.query(
    `insert into earnings.earning (lender_id, id, case_id, booking_id, source_loan_number, reference, field_partner_id,
       currency, base_minor, percent, amount_minor, status, earned_at, credited_at, reversal_id, base_before_minor)
     select e.lender_id, gen_random_uuid(), e.case_id, e.booking_id, e.source_loan_number, e.reference, e.field_partner_id,
       e.currency, 0, e.percent, -100, 'credited', now(), now(), gen_random_uuid(), e.base_minor
     from (
       select distinct on (field_partner_id) * from earnings.earning
       where status = 'paid_out' order by field_partner_id, id limit $1
     ) e`,
    [IN_DEBT],
  );
}
