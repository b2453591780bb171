import type { Posting } from "@collections/bookings";
import type { LockedCase } from "@collections/cases";
import { newId } from "@collections/database";
import { formula } from "@collections/earnings";
import { AmountLiteral, currency, exponentOf, type Percent, toDecimal } from "@collections/money";
import type { PaidLink } from "@collections/payment-links";
import { array, assert, bigInt, constantFrom, integer, oneof, property, record } from "fast-check";
import { expect, test } from "vitest";
import type { Confirmation, ConfirmationOutcome } from "./confirmation.ts";
import { foldConfirmations, type LoadedSet } from "./fold-confirmations.ts";

const LENDER = { id: newId(), code: "ACME" };
const NOW = new Date("2026-11-20T09:41:07.512Z");
const SURROUNDINGS = { environment: "sandbox", now: NOW };
const TWO_AND_A_HALF = 25_000n as Percent;

function aCase(fields: Partial<LockedCase> = {}): LockedCase {
  return {
    lenderId: LENDER.id,
    id: newId(),
    sourceLoanNumber: "LN-1",
    cycle: 1,
    isCurrent: true,
    currency: currency("INR"),
    placedMinor: 500_000n,
    outstandingMinor: 500_000n,
    totalCollectedMinor: 0n,
    excessMinor: 0n,
    peakMinor: 500_000n,
    outstandingAsOf: null,
    assignedSince: null,
    minimumMinor: null,
    doNotContactUntil: null,
    erasedAt: null,
    lastPaymentAt: null,
    status: "assigned",
    statusReason: null,
    statusBeforeHold: null,
    fieldWork: "open",
    blockedAt: null,
    workBegun: false,
    settledByLender: false,
    assignedFieldPartnerId: newId(),
    lastVisitId: null,
    lastDisposition: null,
    sequence: 2n,
    closedAt: null,
    closeReason: null,
    ...fields,
  };
}

function aConfirmation(fields: Partial<Confirmation> & { amount?: AmountLiteral } = {}): Confirmation {
  return {
    lender: LENDER,
    loan: "LN-1",
    amount: new AmountLiteral("2500"),
    amountIsMajorUnits: false,
    reference: "pay_1",
    paidAt: new Date("2026-11-20T09:40:55Z"),
    mode: "upi",
    rawMode: "upi",
    linkId: null,
    warnings: [],
    acceptedAt: NOW,
    ...fields,
  };
}

function loaded(fields: Partial<LoadedSet> = {}): LoadedSet {
  const plans = new Map([[LENDER.id, TWO_AND_A_HALF]]);
  return { lockedCases: [aCase()], bookings: [], links: [], plans, pendingEarnings: [], ...fields };
}

function aLink(theCase: LockedCase): PaidLink {
  return {
    lenderId: LENDER.id,
    linkId: "plink_77",
    id: newId(),
    caseId: theCase.id,
    sourceLoanNumber: theCase.sourceLoanNumber,
    visitId: newId(),
    fieldPartnerId: newId(),
    amountMinor: 250_000n,
    currency: theCase.currency,
    status: "sent",
    reversedAt: null,
  };
}

function bookingOf(outcome: ConfirmationOutcome | undefined) {
  if (outcome?.kind !== "booked") throw new Error(`Not booked: ${outcome?.kind}.`);
  return outcome.booking;
}

test("a payment by a link is attributed to the link's field partner and visit, also after the case was reassigned", () => {
  const theCase = aCase();
  const link = aLink(theCase);
  const set = loaded({ lockedCases: [theCase], links: [link] });
  const { outcomes, toWrite } = foldConfirmations(set, [aConfirmation({ linkId: link.linkId })], SURROUNDINGS);
  expect(bookingOf(outcomes[0])).toMatchObject({
    attribution: "exact",
    fieldPartnerId: link.fieldPartnerId,
    visitId: link.visitId,
    warnings: [],
  });
  expect(toWrite.paidLinks).toMatchObject([{ id: link.id }]);
  expect(toWrite.earnings).toMatchObject([
    { fieldPartnerId: link.fieldPartnerId, amountMinor: 6_250n, status: "pending" },
  ]);
});

test("a payment with a linkId that two links share marks both as paid and is attributed to the newer link", () => {
  const theCase = aCase();
  const older = aLink(theCase);
  const newer = aLink(theCase);
  const set = loaded({ lockedCases: [theCase], links: [older, newer] });
  const { outcomes, toWrite } = foldConfirmations(set, [aConfirmation({ linkId: older.linkId })], SURROUNDINGS);
  expect(bookingOf(outcomes[0])).toMatchObject({ attribution: "exact", visitId: newer.visitId });
  expect(toWrite.paidLinks.map(({ id }) => id)).toEqual([newer.id, older.id]);
});

test("a payment with a linkId that links of two loans share is attributed to the link of the paid loan", () => {
  const theCase = aCase();
  const own = aLink(theCase);
  const newerOfAnother = { ...aLink(aCase()), sourceLoanNumber: "LN-2" };
  const set = loaded({ lockedCases: [theCase], links: [own, newerOfAnother] });
  const { outcomes, toWrite } = foldConfirmations(set, [aConfirmation({ linkId: own.linkId })], SURROUNDINGS);
  expect(bookingOf(outcomes[0])).toMatchObject({ visitId: own.visitId });
  expect(toWrite.paidLinks.map(({ id }) => id)).toEqual([own.id]);
});

test("warns about the second payment by a link of the same batch", () => {
  const theCase = aCase();
  const link = aLink(theCase);
  const set = loaded({ lockedCases: [theCase], links: [link] });
  const twice = ["pay_1", "pay_2"].map((reference) => aConfirmation({ reference, linkId: link.linkId }));
  const { outcomes } = foldConfirmations(set, twice, SURROUNDINGS);
  expect(outcomes.map((outcome) => bookingOf(outcome).warnings.map(({ code }) => code))).toEqual([
    [],
    ["LINK_ALREADY_PAID"],
  ]);
});

test("a payment on an unassigned case is booked and earns nothing", () => {
  const set = loaded({ lockedCases: [aCase({ assignedFieldPartnerId: null, status: "new" })] });
  const { outcomes, toWrite } = foldConfirmations(set, [aConfirmation()], SURROUNDINGS);
  expect(bookingOf(outcomes[0])).toMatchObject({ attribution: "none", fieldPartnerId: null, visitId: null });
  expect(toWrite.earnings).toEqual([]);
});

test("a payment by a link of another loan is refused, and nothing is written", () => {
  const link = { ...aLink(aCase()), sourceLoanNumber: "LN-2" };
  const set = loaded({ links: [link] });
  const { outcomes, toWrite } = foldConfirmations(set, [aConfirmation({ linkId: link.linkId })], SURROUNDINGS);
  expect(outcomes).toMatchObject([{ kind: "refused", code: "LINK_LOAN_MISMATCH", pointer: "/linkId" }]);
  expect(Object.values(toWrite).every((rows) => rows.length === 0)).toBe(true);
});

test("paidAt is compared with the time when the request was accepted, not with the current time", () => {
  const minutes = (count: number) => new Date(NOW.getTime() + count * 60_000);
  const kindOf = (acceptedAt: Date, paidAt: Date) => {
    const [outcome] = foldConfirmations(loaded(), [aConfirmation({ acceptedAt, paidAt })], SURROUNDINGS).outcomes;
    return outcome?.kind === "refused" ? outcome.code : outcome?.kind;
  };
  expect(kindOf(minutes(10), minutes(10))).toBe("booked");
  expect(kindOf(minutes(10), minutes(15.1))).toBe("PAID_AT_IN_FUTURE");
  expect(kindOf(minutes(-10), minutes(-5))).toBe("booked");
  expect(kindOf(minutes(-10), minutes(-4.9))).toBe("PAID_AT_IN_FUTURE");
});

test("the payment that clears the case credits the earnings of all earlier payments, from earlier batches and from the same batch", () => {
  const theCase = aCase({ outstandingMinor: 250_000n });
  const before = foldConfirmations(
    loaded({ lockedCases: [aCase({ id: theCase.id, assignedFieldPartnerId: theCase.assignedFieldPartnerId })] }),
    [aConfirmation({ reference: "before" })],
    SURROUNDINGS,
  ).toWrite.earnings;
  const set = loaded({ lockedCases: [theCase], pendingEarnings: before });
  const half = new AmountLiteral("1250");
  const { toWrite } = foldConfirmations(
    set,
    [aConfirmation({ reference: "a", amount: half }), aConfirmation({ reference: "b", amount: half })],
    SURROUNDINGS,
  );
  expect(toWrite.creditedEarnings).toEqual(before);
  expect(toWrite.earnings.map(({ status, creditedAt }) => [status, creditedAt])).toEqual([
    ["credited", NOW],
    ["credited", NOW],
  ]);
  const kinds = toWrite.postings.map(({ kind }) => kind).toSorted();
  expect(kinds.filter((kind) => kind === "earning_credited")).toHaveLength(3);
});

const payments = array(
  record({
    reference: integer({ min: 0, max: 30 }).map(String),
    minor: bigInt({ min: 1n, max: 400_000n }),
    loan: constantFrom("LN-1", "LN-2", "LN-unknown"),
  }),
  { minLength: 1, maxLength: 40 },
);

test("however payments are divided into batches, amounts add up, sequences have no gap, and each reference is booked once", () => {
  assert(
    property(payments, integer({ min: 1, max: 40 }), (all, batchSize) => {
      const set = loaded({ lockedCases: [aCase(), aCase({ sourceLoanNumber: "LN-2", outstandingMinor: 10_000n })] });
      const start = new Map(set.lockedCases.map((one) => [one.sourceLoanNumber, one]));
      const written = { postings: [] as Posting[], events: [] as string[], booked: new Map<string, bigint>() };
      for (let index = 0; index < all.length; index += batchSize) {
        const batch = all.slice(index, index + batchSize).map(({ reference, minor, loan }) =>
          aConfirmation({
            reference,
            loan,
            amount: new AmountLiteral(`${minor / 100n}.${String(minor % 100n).padStart(2, "0")}`),
            amountIsMajorUnits: true,
          }),
        );
        const { outcomes, toWrite } = foldConfirmations(set, batch, SURROUNDINGS);
        for (const [at, outcome] of outcomes.entries()) {
          const { loan, reference } = batch[at]!;
          const key = `${loan}/${reference}`;
          const isKnown = loan !== "LN-unknown";
          expect(outcome.kind).toBe(!isKnown ? "refused" : written.booked.has(key) ? "duplicate" : "booked");
          if (outcome.kind === "booked") written.booked.set(key, outcome.booking.amountMinor);
        }
        written.postings.push(...toWrite.postings);
        written.events.push(...toWrite.events.map(({ stream: loan, sequence, kind }) => `${loan}/${sequence}/${kind}`));
        Object.assign(set, {
          lockedCases: set.lockedCases.map((one) => toWrite.cases.find(({ id }) => id === one.id) ?? one),
          bookings: [...set.bookings, ...toWrite.bookings],
          pendingEarnings: [
            ...set.pendingEarnings.filter(({ id }) => !toWrite.creditedEarnings.some((credited) => credited.id === id)),
            ...toWrite.earnings.filter(({ status }) => status === "pending"),
          ],
        });
      }
      for (const after of set.lockedCases) {
        const before = start.get(after.sourceLoanNumber)!;
        const booked = [...written.booked].filter(([key]) => key.startsWith(`${after.sourceLoanNumber}/`));
        const collected = booked.reduce((sum, [, minor]) => sum + minor, 0n);
        const applied = written.postings
          .filter(({ caseId, kind }) => caseId === after.id && kind === "payment")
          .reduce((sum, { amountMinor }) => sum + amountMinor, 0n);
        expect(after.totalCollectedMinor).toBe(collected);
        expect(after.outstandingMinor).toBe(before.outstandingMinor - applied);
        expect(after.outstandingMinor >= 0n).toBe(true);
        expect(after.excessMinor).toBe(collected - applied);
        const own = written.events.filter((event) => event.startsWith(`${after.sourceLoanNumber}/`));
        expect(own.map((event) => Number(event.split("/")[1]))).toEqual(
          own.map((_, index) => Number(before.sequence) + 1 + index),
        );
        expect(Number(after.sequence)).toBe(Number(before.sequence) + own.length);
        expect(own.filter((event) => event.endsWith("case.closed")).length).toBe(after.status === "collected" ? 1 : 0);
        const isPendingAfterTheEnd = set.pendingEarnings.some(({ caseId }) => caseId === after.id && after.closedAt);
        expect(isPendingAfterTheEnd).toBe(false);
      }
    }),
  );
});

test("the commission is the percentage of each payment's applied part, rounded half to even, in any currency", () => {
  const code = constantFrom("INR", "JPY", "KWD");
  const paid = array(bigInt({ min: 1n, max: 400_000n }), { minLength: 1, maxLength: 8 });
  const plan = oneof(bigInt({ min: 1n, max: 1_000_000n }), constantFrom(5_000n, 25_000n, 500_000n));
  assert(
    property(code, paid, plan, (name, amounts, percent) => {
      const money = { currency: currency(name) };
      const confirmations = amounts.map((minor, index) => {
        const amount = new AmountLiteral(toDecimal(minor, money.currency));
        return aConfirmation({ amount, amountIsMajorUnits: true, reference: `pay_${index}` });
      });
      const plans = new Map([[LENDER.id, percent as Percent]]);
      const set = loaded({ lockedCases: [aCase(money)], plans });
      const { outcomes, toWrite } = foldConfirmations(set, confirmations, SURROUNDINGS);
      const earnings = new Map(toWrite.earnings.map((earning) => [earning.bookingId, earning]));
      let outstanding = 500_000n;
      for (const [index, { id, appliedMinor, excessMinor }] of outcomes.map(bookingOf).entries()) {
        const owed = outstanding < amounts[index]! ? outstanding : amounts[index]!;
        outstanding -= owed;
        expect([appliedMinor, excessMinor]).toEqual([owed, amounts[index]! - owed]);
        const earning = earnings.get(id);
        const read = earning ? resultOf(formula(earning), exponentOf(money.currency)) : 0n;
        expect([earning?.amountMinor ?? 0n, read]).toEqual([halfEven(owed * percent), halfEven(owed * percent)]);
      }
    }),
  );
});

/** Evaluates a formula such as "2.5% of ₹2,500.00" with decimal arithmetic, in minor units. */
function resultOf(text: string, decimals: number): bigint {
  const [, rate = "", amount = ""] = /^([\d.]+)% of [^\d]*([\d,.]+)$/.exec(text)!;
  const [whole = "", fraction = ""] = rate.split(".");
  expect(amount.split(".")[1]?.length ?? 0).toBe(decimals);
  return halfEven(BigInt(whole + fraction.padEnd(4, "0")) * BigInt(amount.replaceAll(/[,.]/g, "")));
}

/** Divides by a million and rounds half to even. */
function halfEven(millionths: bigint): bigint {
  const twice = (2n * millionths) / 1_000_000n;
  const isHalf = (2n * millionths) % 1_000_000n === 0n && twice % 2n === 1n;
  const up = (twice + 1n) / 2n;
  return isHalf && up % 2n === 1n ? up - 1n : up;
}
