import assert from "node:assert/strict";
import { randomInt } from "node:crypto";
import { isMistake, type ReversalReason } from "@collections/bookings";
import { AMOUNT_FIELDS, casesOfLoan } from "@collections/cases";
import { newId } from "@collections/database";
import type { FieldPartner } from "@collections/field-partners";
import type { Lender } from "@collections/lenders";
import { dayIn } from "@collections/local-time";
import { AmountLiteral, currency, parseJson } from "@collections/money";
import * as fc from "fast-check";
import { beforeAll, describe, expect, test } from "vitest";
import { aConfirmation, aFieldPartner, aLender, BORROWER, ENVIRONMENT, flowsDatabase } from "../../tests/fixture.ts";
import { aReversal, expectCorrectBooks } from "../../tests/reversals.ts";
import { payoutPreview, recordPayout } from "../books/record-payout.ts";
import { assignCase } from "../case/change-case.ts";
import { importCases } from "../case/import-cases.ts";
import { confirmPayments } from "./confirm-payments.ts";
import { reversePayment } from "./reverse-payment.ts";

/** `LOAN_STORIES=100000 pnpm test loan-formula` plays a hundred thousand stories. */
const STORIES = Number(process.env["LOAN_STORIES"] ?? 2_000);
/** The stories that are played at once: a fact of each, then the next fact of each. */
const AT_ONCE = 100;
/** After this number of facts, everything that is credited is paid out. Later reversals then take commissions back. */
const FACTS_BETWEEN_PAYOUTS = 3;
const SEED = Number(process.env["SEED"] ?? randomInt(1e9));
const FIRST_DAY = Date.parse("2026-01-01T12:00:00Z");
const DAY_MS = 24 * 60 * 60_000;

const database = await flowsDatabase();
let fieldPartner: FieldPartner;

beforeAll(async () => {
  fieldPartner = await aFieldPartner(database);
});

/** A fact about a loan, in whole rupees. Its time is a number of days. */
type Fact =
  /** A balance; without a day, it has no `outstandingAsOf`. */
  | { readonly kind: "balance"; readonly day?: number; readonly amount: number }
  | { readonly kind: "payment"; readonly day: number; readonly amount: number; readonly reference: string }
  | {
      readonly kind: "reversal";
      readonly day: number;
      readonly amount: number;
      readonly reference: string;
      readonly reversalReference: string;
      readonly reason: ReversalReason;
    };

/** The facts of a loan in their order of arrival. The first one is a balance, and a reversal comes after its payment. */
type Story = readonly Fact[];

const anyDay = fc.integer({ min: 0, max: 40 });
const anyAmount = fc.oneof(fc.integer({ min: 1, max: 1_000 }), fc.constantFrom(0, 100, 500, 1_000));
const anyBalance = fc.record({ kind: fc.constant("balance" as const), day: anyDay, amount: anyAmount });
const datedStory: fc.Arbitrary<Story> = fc
  .record({
    first: anyBalance,
    balances: fc.array(anyBalance, { maxLength: 3 }),
    payments: fc.array(fc.record({ day: anyDay, amount: fc.integer({ min: 1, max: 1_000 }) }), { maxLength: 5 }),
    reversals: fc.array(
      fc.record({
        of: fc.nat(),
        days: fc.nat(15),
        share: fc.nat(999),
        reason: fc.constantFrom<ReversalReason>("bounced", "bank_reversed", "other", "wrong_loan", "duplicate"),
      }),
      { maxLength: 4 },
    ),
    order: fc.array(fc.nat(), { minLength: 15, maxLength: 15 }),
  })
  .map(({ first, balances, payments, reversals, order }) => {
    const paid = payments.map((one, at) => ({ kind: "payment" as const, reference: `UTR${at}`, ...one }));
    const left = new Map(paid.map(({ reference, amount }) => [reference, amount]));
    const reversed = reversals.flatMap(({ of, days, share, reason }, at): Fact[] => {
      const payment = paid[of % paid.length];
      const rest = left.get(payment?.reference ?? "") ?? 0;
      if (payment === undefined || rest === 0) return [];
      const amount = share % 3 === 0 ? rest : 1 + (share % rest);
      left.set(payment.reference, rest - amount);
      const { reference, day } = payment;
      return [{ kind: "reversal", day: day + days, amount, reference, reversalReference: `RV${at}`, reason }];
    });
    return [first, ...inAnyOrder([...balances, ...paid, ...reversed], order)];
  });

/** Some balances have no date, so the order of arrival counts. */
const anyStory: fc.Arbitrary<Story> = fc
  .tuple(datedStory, fc.array(fc.nat(4), { minLength: 20, maxLength: 20 }))
  .map(([story, without]) =>
    story.map((fact, at) =>
      fact.kind === "balance" && without[at] === 0 ? { kind: "balance", amount: fact.amount } : fact,
    ),
  );

/** Shuffles facts. A reversal waits until its payment has arrived. */
function inAnyOrder(facts: readonly Fact[], order: readonly number[]): Fact[] {
  const shuffled = facts.toSorted(
    (one, other) => (order[facts.indexOf(one)] ?? 0) - (order[facts.indexOf(other)] ?? 0),
  );
  const arrived: Fact[] = [];
  const waiting = [...shuffled];
  while (waiting.length > 0) {
    const next = waiting.findIndex(
      (fact) =>
        fact.kind !== "reversal" || arrived.some((one) => one.kind === "payment" && one.reference === fact.reference),
    );
    arrived.push(...waiting.splice(next, 1));
  }
  return arrived;
}

/** Computes the outstanding amount by the definition, over the whole loan. */
function formula(story: Story): number {
  let asOf = -Infinity;
  let newest = { amount: 0, isDated: true, arrived: -1 };
  for (const [arrived, fact] of story.entries()) {
    if (fact.kind !== "balance" || (fact.day !== undefined && fact.day < asOf)) continue;
    if (fact.day !== undefined) asOf = fact.day;
    newest = { amount: fact.amount, isDated: fact.day !== undefined, arrived };
  }
  const isLater = (fact: Fact, arrived: number) =>
    fact.kind !== "balance" && fact.day > asOf && (newest.isDated || arrived > newest.arrived);
  const later = new Set(story.filter(isLater));
  const change = story.reduce((sum, fact) => {
    if (fact.kind === "payment") return later.has(fact) ? sum - fact.amount : sum;
    if (fact.kind !== "reversal") return sum;
    const payment = story.find((one) => one.kind === "payment" && one.reference === fact.reference)!;
    const counts = isMistake(fact.reason) ? later.has(payment) : later.has(fact);
    return counts ? sum + fact.amount : sum;
  }, 0);
  return Math.max(0, newest.amount + change);
}

function at(day: number): Date {
  return new Date(FIRST_DAY + day * DAY_MS);
}

/** Plays stories of different loans side by side: the first fact of each, then the second of each, and so on. */
async function play(lender: Lender, stories: ReadonlyMap<string, Story>): Promise<void> {
  const length = Math.max(...[...stories.values()].map((story) => story.length));
  for (let step = 0; step < length; step += 1) {
    const facts = [...stories].flatMap(([loan, story]) => {
      const fact = story[step];
      return fact ? [{ loan, fact }] : [];
    });
    await importAll(
      lender,
      facts.flatMap(({ loan, fact }) => (fact.kind === "balance" ? [{ loan, ...fact }] : [])),
    );
    if (step === 0) {
      const assign = (loan: string) => ({ lender, loan, reason: null, fieldPartnerId: fieldPartner.id });
      for (const loan of stories.keys()) await assignCase(database.em(), assign(loan), ENVIRONMENT);
      // The payments were captured months ago, and only those who held the case then earn a commission.
      const since = "update cases.collection_case set assigned_since = '2025-12-01' where lender_id = $1";
      await database.pool.query(since, [lender.id]);
    }
    await confirmAll(
      lender,
      facts.flatMap(({ loan, fact }) => (fact.kind === "payment" ? [{ loan, ...fact }] : [])),
    );
    for (const { loan, fact } of facts) {
      if (fact.kind !== "reversal") continue;
      const { reference, reversalReference, reason, day } = fact;
      const given = { reversalReference, reason, amount: String(fact.amount), reversedAt: at(day) };
      const outcome = await reversePayment(database.em(), aReversal(lender, loan, reference, given), ENVIRONMENT);
      assert.equal(
        outcome.kind,
        "reversed",
        JSON.stringify(outcome, (_, value) => String(value)),
      );
    }
    if (step % FACTS_BETWEEN_PAYOUTS === FACTS_BETWEEN_PAYOUTS - 1) await payOutAll();
  }
  await payOutAll();
}

/** Pays out everything that is credited to the field partner. Lenders to whom a debt is left are carried over. */
async function payOutAll(): Promise<void> {
  const { credited } = (await payoutPreview(database.em(), fieldPartner.id, null))!;
  if (credited.length === 0) return;
  const { kind } = await recordPayout(database.em(), {
    fieldPartnerId: fieldPartner.id,
    currency: currency("INR"),
    reference: `PAYOUT${newId()}`,
    paidOn: dayIn(fieldPartner.timeZone, new Date()),
    until: null,
    amountMinor: credited.reduce((sum, { amountMinor }) => sum + amountMinor, 0n),
  });
  assert.equal(kind, "recorded");
}

/** Returns the earning lines of a lender that were paid out: those that were paid, and those that were deducted. */
async function paidOutLines({ id }: Lender): Promise<{ paid: number; deducted: number }> {
  const { rows } = await database.pool.query<{ paid: number; deducted: number }>(
    `select count(*) filter (where amount_minor > 0)::int as paid, count(*) filter (where amount_minor < 0)::int as deducted
     from earnings.earning where lender_id = $1 and payout_id is not null`,
    [id],
  );
  return rows[0]!;
}

async function importAll(lender: Lender, balances: readonly { loan: string; day?: number; amount: number }[]) {
  if (balances.length === 0) return;
  const raw = balances.map(({ loan, day, amount }) => ({
    sourceLoanNumber: loan,
    ...BORROWER,
    outstandingAmount: amount,
    ...(day !== undefined && { outstandingAsOf: at(day).toISOString() }),
  }));
  const { rows } = parseJson(JSON.stringify({ rows: raw }), AMOUNT_FIELDS) as { rows: unknown[] };
  const { success } = await importCases(database.em(), { lender, rows, dryRun: false, atomic: false }, ENVIRONMENT);
  assert(success);
}

async function confirmAll(
  lender: Lender,
  payments: readonly { loan: string; day: number; amount: number; reference: string }[],
) {
  const batch = payments.map(({ loan, day, amount, reference }) => {
    const given = { amount: new AmountLiteral(String(amount)), amountIsMajorUnits: true, reference, paidAt: at(day) };
    return aConfirmation(lender, { sourceLoanNumber: loan }, given);
  });
  for (const outcome of await confirmPayments(database.em(), batch, ENVIRONMENT)) assert.equal(outcome.kind, "booked");
}

/** Returns what is owed on a loan: the current case's amount in rupees. */
async function owed(lender: Lender, loan: string): Promise<number> {
  const cases = await casesOfLoan(database.em(), lender.id, loan);
  return Number(cases.find(({ isCurrent }) => isCurrent)!.outstandingMinor) / 100;
}

describe.each([
  ["in any order", datedStory, STORIES * 0.8],
  ["with some balances without a date", anyStory, STORIES * 0.2],
] as const)("balances, payments and reversals %s", (_, story, count) => {
  const groups = Array.from({ length: Math.ceil(count / AT_ONCE) }, (__, index) => index);
  test.each(groups)("end with the amount of the formula, correct earnings and payouts: group %i", async (group) => {
    const stories = fc.sample(story, { numRuns: AT_ONCE, seed: SEED + group });
    const { lender } = await aLender(database, { commissionPercent: "2.5" });
    const loans = new Map(stories.map((one) => [`LN-${newId()}`, one]));
    await play(lender, loans);
    const wrong: unknown[] = [];
    for (const [loan, facts] of loans) {
      const [is, should] = [await owed(lender, loan), formula(facts)];
      if (is !== should) wrong.push({ is, should, facts });
    }
    expect(wrong, `SEED=${SEED}`).toEqual([]);
    await expectCorrectBooks(database, lender);
    const { paid, deducted } = await paidOutLines(lender);
    expect(Math.min(paid, deducted), `SEED=${SEED}`).toBeGreaterThan(0);
  });
});
