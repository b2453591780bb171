import { casesOfLoan } from "@collections/cases";
import { newId } from "@collections/database";
import type { FieldPartner } from "@collections/field-partners";
import type { Lender } from "@collections/lenders";
import * as fc from "fast-check";
import { beforeAll, expect, test } from "vitest";
import { aFieldPartner, aLender, currentCase, ENVIRONMENT, flowsDatabase } from "../../tests/fixture.ts";
import {
  anyArrival,
  anyHistory,
  anyRepeats,
  type Arrival,
  collectedOf,
  excessOf,
  type Fact,
  openHistory,
  outstandingOf,
  reach,
  withReversals,
} from "../../tests/loan-history.ts";
import { assignCase } from "../case/change-case.ts";
import { verifyBooks } from "../books/verify-books.ts";

const ORDERS = 4;

const database = await flowsDatabase();
let fieldPartner: FieldPartner;

beforeAll(async () => {
  fieldPartner = await aFieldPartner(database);
});

async function aLenderOfItsOwn(): Promise<Lender> {
  return (await aLender(database, { commissionPercent: "2.5" })).lender;
}

/** Sends the facts of a new loan to the service, and assigns its case to the field partner after the first import. */
async function play(lender: Lender, arrival: Arrival): Promise<string> {
  const loan = `LN-${newId()}`;
  const order = { lender, loan, reason: null, fieldPartnerId: fieldPartner.id };
  let isAssigned = false;
  await reach(database, lender, loan, arrival, async () => {
    if (!isAssigned) await assignCase(database.em(), order, ENVIRONMENT);
    isAssigned = true;
  });
  return loan;
}

/** Expects the current case to owe what the formula says, and no collected or earlier case to owe more. */
function expectFormula(cycles: Awaited<ReturnType<typeof casesOfLoan>>, facts: readonly Fact[]): void {
  const current = cycles.find(({ isCurrent }) => isCurrent)!;
  expect(current.outstandingMinor).toBe(100n * BigInt(outstandingOf(facts)));
  const collected = cycles.filter(({ status }) => status === "collected");
  expect(collected.filter(({ outstandingMinor }) => outstandingMinor > 0n)).toEqual([]);
  const cleared = cycles.filter(({ outstandingMinor }) => outstandingMinor === 0n);
  expect(cleared.filter(({ status }) => status !== "collected" && status !== "closed")).toEqual([]);
}

async function expectBooksToHold({ id: lenderId }: Lender): Promise<void> {
  expect((await verifyBooks(database.em(), { lenderId, now: new Date() })).problems).toEqual([]);
}

test("balances, confirmations, reversals and repeats give the same result in every order, if no payment clears the case", async () => {
  const stories = openHistory
    .chain(withReversals)
    .chain((facts) =>
      fc.tuple(fc.constant(facts), fc.array(anyArrival(facts), { minLength: ORDERS, maxLength: ORDERS })),
    );
  const property = fc.asyncProperty(stories, async ([facts, arrivals]) => {
    const lender = await aLenderOfItsOwn();
    for (const arrival of arrivals) {
      const loan = await play(lender, arrival);
      expect(await currentCase(database, lender, loan)).toMatchObject({
        cycle: 1,
        outstandingMinor: 100n * BigInt(outstandingOf(facts)),
        totalCollectedMinor: 100n * BigInt(collectedOf(facts)),
        status: facts.some(({ kind }) => kind === "payment") ? "in_progress" : "assigned",
      });
    }
    await expectBooksToHold(lender);
  });
  await fc.assert(property, { numRuns: 30 });
});

test("repeats of balances and confirmations do not change the excess", async () => {
  const stories = openHistory.chain(anyRepeats);
  const property = fc.asyncProperty(stories, async ({ order, withRepeats }) => {
    const lender = await aLenderOfItsOwn();
    for (const facts of [order, withRepeats]) {
      const oneByOne = facts.map((fact) => [fact]);
      const { excessMinor } = await currentCase(database, lender, await play(lender, oneByOne));
      expect(excessMinor).toBe(100n * BigInt(excessOf(order)));
    }
    await expectBooksToHold(lender);
  });
  await fc.assert(property, { numRuns: 60 });
});

test("repeating a balance between two payments that it includes does not increase the applied part of the second payment", async () => {
  const lender = await aLenderOfItsOwn();
  const balance = { kind: "balance", day: 20, amount: 5_000 } as const;
  const [first, second] = ["UTR1", "UTR2"].map(
    (reference) => ({ kind: "payment", day: 19, amount: 4_000, reference }) as const,
  );
  for (const arrival of [
    [[balance], [first!], [second!]],
    [[balance], [first!], [balance], [second!]],
  ]) {
    const loan = await play(lender, arrival);
    expect(await currentCase(database, lender, loan)).toMatchObject({
      outstandingMinor: 500_000n,
      totalCollectedMinor: 800_000n,
      excessMinor: 300_000n,
    });
  }
  await expectBooksToHold(lender);
});

test("balances and confirmations that clear the case follow the formula in any order", async () => {
  const stories = anyHistory.chain((facts) => fc.tuple(fc.constant(facts), anyArrival(facts)));
  const property = fc.asyncProperty(stories, async ([facts, arrival]) => {
    const lender = await aLenderOfItsOwn();
    const loan = await play(lender, arrival);
    const cycles = await casesOfLoan(database.em(), lender.id, loan);
    const collectedMinor = cycles.reduce((sum, { totalCollectedMinor }) => sum + totalCollectedMinor, 0n);
    expect(collectedMinor).toBe(100n * BigInt(collectedOf(facts)));
    expectFormula(cycles, facts);
    await expectBooksToHold(lender);
  });
  await fc.assert(property, { numRuns: 60 });
});

test("reversals that reopen a cleared case follow the formula in any order", async () => {
  const stories = anyHistory.chain(withReversals).chain((facts) => fc.tuple(fc.constant(facts), anyArrival(facts)));
  const property = fc.asyncProperty(stories, async ([facts, arrival]) => {
    const lender = await aLenderOfItsOwn();
    const loan = await play(lender, arrival);
    const cycles = await casesOfLoan(database.em(), lender.id, loan);
    const collectedMinor = cycles.reduce((sum, { totalCollectedMinor }) => sum + totalCollectedMinor, 0n);
    expect(collectedMinor).toBe(100n * BigInt(collectedOf(facts)));
    expectFormula(cycles, facts);
    await expectBooksToHold(lender);
  });
  await fc.assert(property, { numRuns: 40 });
});

test("a balance and a confirmation that arrive at the same time give the same result in either order", async () => {
  const lender = await aLenderOfItsOwn();
  const first = { kind: "balance", day: 20, amount: 1_000 } as const;
  const second = { kind: "balance", day: 22, amount: 500 } as const;
  const payments = [1, 2, 3].map(
    (index) => ({ kind: "payment", day: 20 + index, amount: 100, reference: `UTR${index}` }) as const,
  );
  const facts = [first, second, ...payments];
  const loans = Array.from({ length: 30 }, () => `LN-${newId()}`);
  for (const loan of loans) await reach(database, lender, loan, [[first]]);
  await Promise.all(
    loans.flatMap((loan) => [
      reach(database, lender, loan, [[second]]),
      ...payments.map((payment) => reach(database, lender, loan, [[payment]])),
    ]),
  );
  for (const loan of loans) {
    expect(await currentCase(database, lender, loan)).toMatchObject({
      status: "in_progress",
      outstandingMinor: 100n * BigInt(outstandingOf(facts)),
      totalCollectedMinor: 30_000n,
    });
  }
  await expectBooksToHold(lender);
});
