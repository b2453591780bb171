import { currency } from "@collections/money";
import { describe, expect, test } from "vitest";
import { exampleCase } from "../../tests/example-case.ts";
import { applied, EARLIER, ended, facts, importId, later, NOW, paid, planOf } from "../../tests/plan-example.ts";

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
    outstandingAsOf: EARLIER,
    consent: { whatsapp: false, email: null },
  });
  expect(plan.events).toEqual([{ kind: "case.created", sequence: 13n, status: "new", data: { importId, cycle: 3 } }]);
});

describe("a row for a case that has ended", () => {
  const withdrawn = exampleCase({ ...ended, status: "withdrawn", closeReason: "withdrawn" });
  const collected = exampleCase({ ...ended, status: "collected", closeReason: "paid_in_full", outstandingMinor: 0n });
  const justBefore = new Date(EARLIER.getTime() - 1).toISOString();

  test("changes only the amounts of a withdrawn case if its balance is older than the end", () => {
    const plan = applied({ outstandingAmount: "700", outstandingAsOf: justBefore, dpd: 7 }, withdrawn);
    expect(plan).toMatchObject({
      outcome: "updated",
      adjustmentMinor: -430_000n,
      caseAfter: { status: "withdrawn", outstandingMinor: 70_000n, dpd: withdrawn.dpd, closedAt: EARLIER },
      events: [{ kind: "case.updated", status: "withdrawn" }],
    });
  });

  test("starts the next cycle of a withdrawn case if its balance is from the end or later", () => {
    const row = { outstandingAmount: "700", outstandingAsOf: EARLIER.toISOString() };
    expect(applied(row, withdrawn)).toMatchObject({ outcome: "reopened", replaces: withdrawn });
  });

  test("sets the outstanding amount of a withdrawn case to 0 if nothing is owed", () => {
    const plan = applied({ outstandingAmount: "0", outstandingAsOf: NOW.toISOString() }, withdrawn);
    expect(plan).toMatchObject({ outcome: "updated", caseAfter: { status: "withdrawn", outstandingMinor: 0n } });
  });

  test("reopens a collected case in the same cycle if a payment is later than the balance", () => {
    const holder = { id: "fp_1", displayName: "Ravi" };
    const row = { outstandingAmount: "1400", outstandingAsOf: justBefore };
    const held = { ...paid(100_000n), heldMinor: 20_000n };
    const overpaid = { ...collected, totalCollectedMinor: 100_000n, excessMinor: 20_000n };
    const plan = applied(row, { ...overpaid, assignedFieldPartnerId: "fp" }, { ...later([held]), holder });
    expect(plan).toMatchObject({
      outcome: "reopened",
      replaces: undefined,
      adjustmentMinor: 60_000n,
      reapplied: [{ bookingId: held.bookingId, amountMinor: 20_000n }],
      caseAfter: {
        id: collected.id,
        cycle: 1,
        status: "in_progress",
        outstandingMinor: 40_000n,
        excessMinor: 0n,
        assignedFieldPartnerId: "fp",
        closedAt: null,
      },
      events: [{ kind: "case.reopened", data: { fieldPartner: holder, outstandingAsOf: justBefore, reference: null } }],
    });
  });

  test("reopens a collected case without its field partner if that person is suspended", () => {
    const row = { outstandingAmount: "1400", outstandingAsOf: justBefore };
    const plan = applied(row, { ...collected, assignedFieldPartnerId: "fp" }, later([paid(100_000n)]));
    expect(plan.caseAfter).toMatchObject({ status: "in_progress", assignedFieldPartnerId: null });
  });

  test.each([{ outstandingAmount: "700", outstandingAsOf: justBefore }, { outstandingAmount: "700" }])(
    "starts the next cycle of a collected case if nothing is later: %j",
    (row) => expect(applied(row, collected)).toMatchObject({ outcome: "reopened", replaces: collected }),
  );

  test.each([
    [{ outstandingAmount: "0" }, later([])],
    [{ outstandingAmount: "700", outstandingAsOf: NOW.toISOString() }, later([paid(90_000n)])],
  ])("stores the balance of a collected case if nothing is owed: %j", (row, more) => {
    const plan = planOf(row, collected, more);
    const balanceMinor = BigInt(row.outstandingAmount) * 100n;
    expect(plan).toMatchObject({ outcome: "unchanged", changesBalance: true, caseAfter: { balanceMinor } });
  });

  test("changes nothing if its balance is older than the stored one", () => {
    const row = { outstandingAmount: "700", outstandingAsOf: justBefore };
    const newer = { ...collected, outstandingAsOf: EARLIER };
    expect(planOf(row, newer)).toMatchObject({ outcome: "unchanged", warnings: [{ code: "STALE_SNAPSHOT" }] });
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
