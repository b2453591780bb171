import { currency } from "@collections/money";
import { expect, test } from "vitest";
import { exampleCase } from "../../tests/example-case.ts";
import { applied, EARLIER, ended, facts, importId, NOW, paid, planOf } from "../../tests/plan-example.ts";

test.each([
  ["collected", { status: "collected", closeReason: "paid_in_full", outstandingMinor: 0n }],
  ["settled", { status: "closed", closeReason: "settled_by_lender", outstandingMinor: 0n, settledByLender: true }],
  ["withdrawn", { status: "withdrawn", closeReason: "withdrawn" }],
  ["withdrawn, then partly paid", { status: "in_progress", closeReason: "withdrawn", workBegun: true }],
] as const)("a balance after the end of a case starts the loan's next cycle: %s", (_, fields) => {
  const old = exampleCase({
    ...ended,
    ...fields,
    totalCollectedMinor: 9n,
    excessMinor: 9n,
    sequence: 12n,
    cycle: 2,
    assignedFieldPartnerId: facts.lenderId,
    consent: { whatsapp: false, email: null },
    outstandingAsOf: EARLIER,
    lastPaymentAt: EARLIER,
  });
  const plan = applied({ outstandingAmount: "700" }, old);
  expect(plan).toMatchObject({ outcome: "reopened", replaces: old, placementMinor: 70_000n, adjustmentMinor: 0n });
  expect(plan.caseAfter).toMatchObject({
    id: facts.newCaseId,
    status: "new",
    cycle: 3,
    sequence: 13n,
    placedMinor: 70_000n,
    outstandingMinor: 70_000n,
    totalCollectedMinor: 0n,
    excessMinor: 0n,
    fieldWork: "open",
    assignedFieldPartnerId: null,
    closedAt: null,
    closeReason: null,
    settledByLender: false,
    lastPaymentAt: null,
    outstandingAsOf: null,
    consent: { whatsapp: false, email: null },
  });
  expect(plan.events).toEqual([{ kind: "case.created", sequence: 13n, status: "new", data: { importId, cycle: 3 } }]);
});

test("a balance as of a time before the end of the case does not start a new cycle", () => {
  const old = exampleCase({ ...ended, status: "withdrawn", closeReason: "withdrawn" });
  const before = new Date(EARLIER.getTime() - 1).toISOString();
  expect(planOf({ outstandingAmount: "700", outstandingAsOf: before }, old)).toMatchObject({
    outcome: "rejected",
    errors: [{ code: "STALE_SNAPSHOT", pointer: "/rows/0/outstandingAsOf" }],
  });
  expect(planOf({ outstandingAmount: "700", outstandingAsOf: EARLIER.toISOString() }, old).outcome).toBe("reopened");
});

test("after a payment cleared the case, a new balance must be newer than that payment and the last balance", () => {
  const cleared = exampleCase({
    ...ended,
    status: "collected",
    closeReason: "paid_in_full",
    outstandingMinor: 0n,
    closedAt: NOW,
    lastPaymentAt: EARLIER,
  });
  const asOf = (moment: Date) => ({ outstandingAmount: "700", outstandingAsOf: moment.toISOString() });
  const justBefore = new Date(EARLIER.getTime() - 1);
  expect(planOf(asOf(EARLIER), cleared).outcome).toBe("reopened");
  expect(planOf(asOf(justBefore), cleared)).toMatchObject({
    outcome: "rejected",
    errors: [{ code: "STALE_SNAPSHOT" }],
  });
  const later = new Date(EARLIER.getTime() + 60_000);
  expect(planOf(asOf(EARLIER), { ...cleared, outstandingAsOf: later }).outcome).toBe("rejected");
  expect(planOf(asOf(later), { ...cleared, outstandingAsOf: later }).outcome).toBe("reopened");
});

test("a row with a balance of 0 updates outstandingAsOf of an ended case only if the case also owes nothing", () => {
  const settled = exampleCase({ ...ended, status: "closed", closeReason: "settled_by_lender", outstandingMinor: 0n });
  const row = { outstandingAmount: "0", outstandingAsOf: NOW.toISOString() };
  expect(planOf(row, settled)).toMatchObject({ movesBalanceDate: true, caseAfter: { outstandingAsOf: NOW } });
  const owes = { ...settled, outstandingMinor: 100n };
  expect(planOf(row, owes)).toMatchObject({ outcome: "unchanged", movesBalanceDate: false, caseAfter: owes });
});

test("a balance of 0, or one that later payments reduce to 0, leaves an ended case unchanged", () => {
  const old = exampleCase({ ...ended, status: "collected", closeReason: "paid_in_full", outstandingMinor: 0n });
  expect(planOf({ outstandingAmount: "0" }, old).outcome).toBe("unchanged");
  const row = { outstandingAmount: "700", outstandingAsOf: NOW.toISOString() };
  expect(planOf(row, old, { laterPayments: [paid(70_000n)] })).toMatchObject({
    outcome: "unchanged",
    warnings: [{ code: "PAYMENT_AFTER_SNAPSHOT" }],
  });
});

test("only the next cycle of a loan may have another currency", () => {
  const dollars = exampleCase({ currency: currency("USD"), minimumMinor: 100n });
  const rupees = { outstandingAmount: "5000", currency: "INR" };
  expect(planOf(rupees, dollars)).toMatchObject({
    outcome: "rejected",
    errors: [{ code: "CURRENCY_MISMATCH", pointer: "/rows/0/currency" }],
  });
  const plan = applied(rupees, { ...dollars, ...ended, status: "withdrawn" });
  expect(plan).toMatchObject({ outcome: "reopened", caseAfter: { currency: "INR", minimumMinor: null } });
});
