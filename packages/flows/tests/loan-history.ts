import assert from "node:assert/strict";
import { AMOUNT_FIELDS } from "@collections/cases";
import type { Database } from "@collections/entities";
import type { Lender } from "@collections/lenders";
import { AmountLiteral, parseJson } from "@collections/money";
import * as fc from "fast-check";
import type { Confirmation } from "../src/payment/confirmation.ts";
import { confirmPayments } from "../src/payment/confirm-payments.ts";
import { importCases } from "../src/case/import-cases.ts";
import { reversePayment } from "../src/payment/reverse-payment.ts";
import { aConfirmation, BORROWER, ENVIRONMENT } from "./fixture.ts";
import { aReversal } from "./reversals.ts";

/**
 * A fact about a loan at the lender, in whole rupees and days. Facts reach the service at any time, in any order and
 * repeatedly. A new kind of fact has to be added to `reach` and `amountsAfter`.
 */
export type Fact =
  | { readonly kind: "balance"; readonly day: number; readonly amount: number }
  | { readonly kind: "payment"; readonly day: number; readonly amount: number; readonly reference: string }
  | {
      readonly kind: "reversal";
      readonly day: number;
      readonly amount: number;
      /** The reference of the payment. */
      readonly reference: string;
      readonly reversalReference: string;
    };

/**
 * The facts in their order of arrival. Each inner array is one part: first its balances arrive one by one, then all its
 * payments in one batch, and then its reversals one by one.
 */
export type Arrival = readonly (readonly Fact[])[];

const FIRST_DAY = Date.parse("2026-01-01T12:00:00Z");
const DAY_MS = 24 * 60 * 60_000;
const DAYS = 40;
const MAX_AMOUNT = 1_000;

/** Returns the time of a fact. */
export function momentOf({ day }: Pick<Fact, "day">): Date {
  return new Date(FIRST_DAY + day * DAY_MS);
}

/** Generates balances on different days, and payments on any days. A payment may have the day of a balance. */
export const anyHistory: fc.Arbitrary<Fact[]> = fc
  .record({
    balances: fc.uniqueArray(
      fc.record({ day: fc.integer({ min: 1, max: DAYS }), amount: fc.integer({ min: 0, max: MAX_AMOUNT }) }),
      { selector: ({ day }) => day, minLength: 1, maxLength: 4 },
    ),
    payments: fc.array(
      fc.record({ day: fc.integer({ min: 0, max: DAYS + 1 }), amount: fc.integer({ min: 1, max: MAX_AMOUNT }) }),
      { maxLength: 5 },
    ),
  })
  .map(({ balances, payments }) => [
    ...balances.map((one): Fact => ({ kind: "balance", ...one })),
    ...payments.map((one, index): Fact => ({ kind: "payment", reference: `UTR${index}`, ...one })),
  ]);

/**
 * Generates histories whose payments never clear the case, whatever the order of arrival: each balance is more than the
 * sum of the payments after it.
 */
export const openHistory: fc.Arbitrary<Fact[]> = anyHistory.map((facts) =>
  facts.map((fact) =>
    fact.kind === "balance" ? { ...fact, amount: fact.amount + 1 - Math.min(0, amountsAfter(fact, facts)) } : fact,
  ),
);

/**
 * Adds reversals to a history: of whole payments and of parts, on the payment's day or later, also on the day of a
 * balance. The reversals of a payment never exceed it.
 */
export function withReversals(facts: readonly Fact[]): fc.Arbitrary<Fact[]> {
  const asked = fc.array(fc.record({ of: fc.nat(), share: fc.nat(MAX_AMOUNT - 1), days: fc.nat(DAYS / 2) }), {
    maxLength: 5,
  });
  return asked.map((wanted) => {
    const payments = facts.filter(isPayment);
    const left = new Map(payments.map(({ reference, amount }) => [reference, amount]));
    const reversals = wanted.flatMap(({ of, share, days }, index): Fact[] => {
      const payment = payments[of % payments.length];
      const rest = left.get(payment?.reference ?? "") ?? 0;
      if (payment === undefined || rest === 0) return [];
      const amount = share % 3 === 0 ? rest : 1 + (share % rest);
      left.set(payment.reference, rest - amount);
      const { reference, day } = payment;
      return [{ kind: "reversal", day: day + days, amount, reference, reversalReference: `RV${index}` }];
    });
    return [...facts, ...reversals];
  });
}

/** Generates an order in which a history's facts arrive: any order, in parts of any size, with some facts repeated. */
export function anyArrival(facts: readonly Fact[]): fc.Arbitrary<Arrival> {
  const repeats = fc.subarray([...facts]);
  return repeats
    .chain((some) => fc.shuffledSubarray([...facts, ...some], { minLength: facts.length + some.length }))
    .chain((order) =>
      fc
        .array(fc.boolean(), { minLength: order.length, maxLength: order.length })
        .map((endsPart) => inParts(order, endsPart)),
    );
}

/** The facts of a history in an order that begins with a balance, and the same order with repeats in between. */
export interface RepeatedArrival {
  readonly order: readonly Fact[];
  readonly withRepeats: readonly Fact[];
}

/**
 * Generates an order of a history's facts that begins with a balance, and inserts repeats of facts that have already
 * arrived.
 */
export function anyRepeats(facts: readonly Fact[]): fc.Arbitrary<RepeatedArrival> {
  const orders = fc.shuffledSubarray([...facts], { minLength: facts.length });
  const repeats = fc.array(fc.record({ after: fc.nat(facts.length - 1), of: fc.nat() }), { maxLength: 10 });
  return fc.tuple(orders, repeats).map(([shuffled, asked]) => {
    const first = shuffled.find(isBalance)!;
    const order = [first, ...shuffled.filter((fact) => fact !== first)];
    const withRepeats = order.flatMap((fact, at) => [
      fact,
      ...asked.filter(({ after }) => after === at).map(({ of }) => order[of % (at + 1)]!),
    ]);
    return { order, withRepeats };
  });
}

/**
 * Computes the excess by its definition. Assumes that the facts in `order` arrive one by one and without repeats, that
 * the first fact is a balance, and that no payment clears the case.
 */
export function excessOf(order: readonly Fact[]): number {
  let [asOf, outstanding, applied, peak] = [-Infinity, 0, 0, 0];
  for (const [at, fact] of order.entries()) {
    if (fact.kind === "balance") {
      if (fact.day < asOf) continue;
      asOf = fact.day;
      outstanding = fact.amount + amountsAfter(fact, order.slice(0, at));
      peak = Math.max(peak, outstanding + applied);
    } else if (fact.day <= asOf) {
      applied += Math.min(fact.amount, Math.max(0, peak - applied));
    } else {
      const paid = Math.min(fact.amount, outstanding);
      outstanding -= paid;
      applied += paid;
    }
  }
  return collectedOf(order) - applied;
}

/**
 * Computes the outstanding amount by its definition: the newest balance minus later payments plus later reversals, at
 * least 0.
 */
export function outstandingOf(facts: readonly Fact[]): number {
  const newest = facts.filter(isBalance).reduce((latest, one) => (one.day > latest.day ? one : latest));
  const later = facts.filter(({ day }) => day > newest.day);
  return Math.max(0, newest.amount - collectedOf(later));
}

/** Returns the sum of all payments minus the sum of all reversals. */
export function collectedOf(facts: readonly Fact[]): number {
  return facts.reduce((sum, { kind, amount }) => {
    if (kind === "balance") return sum;
    return kind === "payment" ? sum + amount : sum - amount;
  }, 0);
}

/**
 * Sends the facts to the service. A payment of a loan that is not imported yet is refused, and so is a reversal of a
 * payment that is not confirmed yet; both are sent again at the end. `afterImport` is called after each import.
 */
export async function reach(
  database: Database,
  lender: Lender,
  loan: string,
  arrival: Arrival,
  afterImport: () => Promise<void> = () => Promise.resolve(),
): Promise<void> {
  const refused: Fact[] = [];
  const refusedReversals: ReversalFact[] = [];
  for (const part of arrival) {
    for (const one of part.filter(isBalance)) {
      await importBalance(database, lender, loan, one);
      await afterImport();
    }
    refused.push(...(await confirm(database, lender, loan, part.filter(isPayment))));
    refusedReversals.push(...(await reverse(database, lender, loan, part.filter(isReversal))));
  }
  assert.deepEqual(await confirm(database, lender, loan, refused.filter(isPayment)), []);
  assert.deepEqual(await reverse(database, lender, loan, refusedReversals), []);
}

type Balance = Extract<Fact, { kind: "balance" }>;
type Payment = Extract<Fact, { kind: "payment" }>;
type ReversalFact = Extract<Fact, { kind: "reversal" }>;

async function importBalance(database: Database, lender: Lender, loan: string, balance: Balance): Promise<void> {
  const outstandingAsOf = momentOf(balance).toISOString();
  const row = { sourceLoanNumber: loan, ...BORROWER, outstandingAmount: balance.amount, outstandingAsOf };
  const { rows } = parseJson(JSON.stringify({ rows: [row] }), AMOUNT_FIELDS) as { rows: unknown[] };
  await importCases(database.em(), { lender, rows, dryRun: false, atomic: false }, ENVIRONMENT);
}

/** Confirms the payments in one batch, and returns those that were refused because the loan has no case. */
async function confirm(
  database: Database,
  lender: Lender,
  loan: string,
  payments: readonly Payment[],
): Promise<Payment[]> {
  const batch = payments.map((payment): Confirmation =>
    aConfirmation(
      lender,
      { sourceLoanNumber: loan },
      {
        amount: new AmountLiteral(String(payment.amount)),
        amountIsMajorUnits: true,
        reference: payment.reference,
        paidAt: momentOf(payment),
      },
    ),
  );
  const outcomes = await confirmPayments(database.em(), batch, ENVIRONMENT);
  return payments.filter((_, index) => {
    const outcome = outcomes[index]!;
    assert(outcome.kind !== "refused" || outcome.code === "LOAN_NOT_FOUND", JSON.stringify(outcome, withBigints));
    if (outcome.kind === "duplicate") assert.deepEqual(outcome.differences, []);
    return outcome.kind === "refused";
  });
}

/** Reverses payments one by one, and returns the reversals that were refused because their payment is not booked. */
async function reverse(
  database: Database,
  lender: Lender,
  loan: string,
  reversals: readonly ReversalFact[],
): Promise<ReversalFact[]> {
  const refused: ReversalFact[] = [];
  for (const fact of reversals) {
    const { reference, reversalReference, amount } = fact;
    const given = { reversalReference, amount: String(amount), reversedAt: momentOf(fact) };
    const outcome = await reversePayment(database.em(), aReversal(lender, loan, reference, given), ENVIRONMENT);
    if (outcome.kind === "duplicate") assert.deepEqual(outcome.differences, []);
    if (outcome.kind !== "refused") continue;
    assert(["LOAN_NOT_FOUND", "PAYMENT_NOT_FOUND"].includes(outcome.code), outcome.detail);
    refused.push(fact);
  }
  return refused;
}

/** Returns by how much the payments after a time change the outstanding amount: 0 or less. */
function amountsAfter({ day }: Pick<Fact, "day">, facts: readonly Fact[]): number {
  return -collectedOf(facts.filter(isPayment).filter((fact) => fact.day > day));
}

function inParts(order: readonly Fact[], endsPart: readonly boolean[]): Arrival {
  const parts: Fact[][] = [[]];
  for (const [index, fact] of order.entries()) {
    parts.at(-1)!.push(fact);
    if (endsPart[index]) parts.push([]);
  }
  return parts;
}

function isBalance(fact: Fact): fact is Balance {
  return fact.kind === "balance";
}

function isPayment(fact: Fact): fact is Payment {
  return fact.kind === "payment";
}

function isReversal(fact: Fact): fact is ReversalFact {
  return fact.kind === "reversal";
}

function withBigints(_: string, value: unknown): unknown {
  return typeof value === "bigint" ? String(value) : value;
}
