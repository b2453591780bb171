import { expect, test } from "vitest";
import { applyPayment } from "../case/apply-payment.ts";
import { exampleCase } from "../../tests/example-case.ts";
import { applied, EARLIER, ended, facts, importId, later, NOW, paid, planOf } from "../../tests/plan-example.ts";

test("the first row of a loan creates a case", () => {
  const plan = applied({ outstandingAmount: "5000", dpd: 12 }, undefined);
  expect(plan).toMatchObject({ outcome: "created", changes: [], placementMinor: 500_000n, adjustmentMinor: 0n });
  expect(plan.replaces).toBeUndefined();
  expect(plan.caseAfter).toMatchObject({
    lenderId: facts.lenderId,
    id: facts.newCaseId,
    sourceLoanNumber: "LN-1001",
    cycle: 1,
    isCurrent: true,
    status: "new",
    fieldWork: "open",
    currency: "INR",
    placedMinor: 500_000n,
    outstandingMinor: 500_000n,
    dpd: 12,
    language: "hi-IN",
    consent: { whatsapp: null, email: null },
    sequence: 1n,
  });
  expect(plan.events).toEqual([{ kind: "case.created", sequence: 1n, status: "new", data: { importId, cycle: 1 } }]);
});

test("a first row with a balance of 0 creates a case and settles it at once", () => {
  const plan = applied({ outstandingAmount: "0" }, undefined);
  expect(plan).toMatchObject({ outcome: "created", placementMinor: 0n, adjustmentMinor: 0n });
  expect(plan.caseAfter).toMatchObject({ status: "closed", closeReason: "settled_by_lender", sequence: 2n });
  expect(plan.events.map(({ kind, status }) => [kind, status])).toEqual([
    ["case.created", "new"],
    ["case.returned", "closed"],
  ]);
});

test("a row with the same values again leaves the case unchanged", () => {
  const { caseAfter } = applied(everything, undefined);
  expect(planOf(everything, caseAfter)).toMatchObject({ outcome: "unchanged", caseAfter, warnings: [] });
});

test("a newer outstandingAsOf of the same balance is stored without an event", () => {
  const current = exampleCase({ outstandingAsOf: EARLIER });
  expect(planOf({ outstandingAmount: "5000", outstandingAsOf: NOW.toISOString() }, current)).toMatchObject({
    outcome: "unchanged",
    changesBalance: true,
    caseAfter: { outstandingAsOf: NOW, sequence: current.sequence },
  });
});

test("the stored outstandingAsOf is kept if the row has no outstandingAsOf, and cleared if the row has null", () => {
  const current = exampleCase({ outstandingAsOf: EARLIER });
  expect(applied({ outstandingAmount: "4000" }, current).caseAfter.outstandingAsOf).toEqual(EARLIER);
  expect(planOf({ outstandingAmount: "5000" }, current)).toMatchObject({ changesBalance: false });
  expect(planOf({ outstandingAmount: "5000", outstandingAsOf: null }, current)).toMatchObject({
    outcome: "unchanged",
    changesBalance: true,
    caseAfter: { outstandingAsOf: null },
  });
});

test("a row with an older outstandingAsOf than the open case is not applied", () => {
  const current = exampleCase({ outstandingAsOf: NOW, outstandingMinor: 50_000n });
  const row = { outstandingAmount: "1000", outstandingAsOf: EARLIER.toISOString(), dpd: 77 };
  expect(planOf(row, current)).toEqual({
    outcome: "unchanged",
    caseAfter: current,
    changesBalance: false,
    warnings: [
      {
        code: "STALE_SNAPSHOT",
        pointer: "/rows/0/outstandingAsOf",
        detail: `The case has a newer balance, as of ${NOW.toISOString()}; nothing of this row was applied.`,
      },
    ],
  });
  expect(planOf({ ...row, outstandingAmount: "0" }, current).outcome).toBe("unchanged");
});

test("the later import wins if two balances have the same outstandingAsOf", () => {
  const current = exampleCase({ outstandingAsOf: EARLIER });
  const plan = applied({ outstandingAmount: "4000", outstandingAsOf: EARLIER.toISOString() }, current);
  expect(plan).toMatchObject({ outcome: "updated", adjustmentMinor: -100_000n });
});

test("an outstandingAsOf more than five minutes in the future is replaced by the current time, with a warning", () => {
  const ahead = new Date(NOW.getTime() + 300_001).toISOString();
  expect(applied({ outstandingAmount: "5000", outstandingAsOf: ahead }, undefined)).toMatchObject({
    caseAfter: { outstandingAsOf: NOW },
    warnings: [{ code: "AS_OF_IN_FUTURE", pointer: "/rows/0/outstandingAsOf" }],
  });
  const slightly = new Date(NOW.getTime() + 300_000);
  expect(applied({ outstandingAmount: "5000", outstandingAsOf: slightly.toISOString() }, undefined)).toMatchObject({
    caseAfter: { outstandingAsOf: slightly },
    warnings: [],
  });
});

test("the peak is the highest value of outstanding + applied, and never falls", () => {
  const opened = applied({ outstandingAmount: "5000" }, undefined).caseAfter;
  expect(opened.peakMinor).toBe(500_000n);
  const paid = { ...opened, outstandingMinor: 300_000n, totalCollectedMinor: 200_000n };
  const raised = applied({ outstandingAmount: "4500" }, paid).caseAfter;
  expect(raised.peakMinor).toBe(650_000n);
  expect(applied({ outstandingAmount: "100" }, raised).caseAfter.peakMinor).toBe(650_000n);
  const beforeTheColumn = { ...paid, peakMinor: null };
  expect(applied({ outstandingAmount: "100" }, beforeTheColumn).caseAfter.peakMinor).toBe(500_000n);
});

test("a row that repeats the balance and outstandingAsOf does not change the peak", () => {
  const payment = { amountMinor: 400_000n, paidAt: EARLIER };
  const row = { outstandingAmount: "5000", outstandingAsOf: NOW.toISOString() };
  const opened = applied(row, undefined).caseAfter;
  const paidOnce = { ...opened, ...applyPayment(opened, payment, NOW).caseAfter };
  const repeats = [row, { outstandingAmount: "5000" }, { ...row, dpd: 7 }];
  for (const repeat of repeats) {
    const plan = planOf(repeat, paidOnce);
    if (plan.outcome === "rejected") throw new Error(JSON.stringify(plan.errors));
    const second = applyPayment(plan.caseAfter, payment, NOW);
    expect(second).toMatchObject({ appliedMinor: 100_000n, excessMinor: 300_000n });
  }
  expect(planOf(row, paidOnce)).toMatchObject({ outcome: "unchanged", changesBalance: false });
});

test("the same balance with a newer outstandingAsOf raises the peak", () => {
  const payment = { amountMinor: 400_000n, paidAt: EARLIER };
  const opened = applied({ outstandingAmount: "5000", outstandingAsOf: EARLIER.toISOString() }, undefined).caseAfter;
  const paidOnce = { ...opened, ...applyPayment(opened, payment, NOW).caseAfter };
  const plan = planOf({ outstandingAmount: "5000", outstandingAsOf: NOW.toISOString() }, paidOnce);
  expect(plan).toMatchObject({ outcome: "unchanged", changesBalance: true, caseAfter: { peakMinor: 900_000n } });
});

test("a changed balance is booked as an adjustment, and the event lists every change", () => {
  const current = exampleCase({ status: "in_progress", workBegun: true, outstandingMinor: 300_000n, sequence: 8n });
  const plan = applied({ outstandingAmount: "3200.50", dpd: 40, borrowerPhone: "+919800000009" }, current);
  expect(plan).toMatchObject({ outcome: "updated", placementMinor: 0n, adjustmentMinor: 20_050n });
  expect(json(plan.changes)).toEqual([
    { field: "outstandingAmount", from: 3000, to: 3200.5 },
    { field: "dpd", from: null, to: 40 },
    { field: "borrowerPhone", from: "+919800000001", to: "+919800000009" },
  ]);
  expect(plan.caseAfter).toMatchObject({ status: "in_progress", outstandingMinor: 320_050n, dpd: 40, sequence: 9n });
  expect(plan.caseAfter.placedMinor).toBe(current.placedMinor);
});

test("an event names the changed personal data without their values", () => {
  const fields = { outstandingAmount: "5000", borrowerPhone: "+919800000009", metadata: { a: "b" }, dpd: 3 };
  const [event] = applied(fields, exampleCase()).events;
  expect(event).toMatchObject({ kind: "case.updated", sequence: 2n, status: "new" });
  expect(json(event?.data)).toEqual({
    importId,
    cycle: 1,
    changes: [{ field: "dpd", from: null, to: 3 }, { field: "borrowerPhone" }, { field: "metadata" }],
  });
});

test("a detail of the case is kept if the row does not have the field, and cleared if the row has null", () => {
  const current = exampleCase({ dpd: 30, bucket: "B1", tags: ["x"] });
  const { caseAfter } = applied({ outstandingAmount: "5000", bucket: null }, current);
  expect(caseAfter).toMatchObject({ dpd: 30, bucket: null, tags: ["x"] });
});

test("consent for one channel does not change the other channel", () => {
  const current = exampleCase({ consent: { whatsapp: false, email: null } });
  const { caseAfter } = applied({ outstandingAmount: "5000", consent: { email: true } }, current);
  expect(caseAfter.consent).toEqual({ whatsapp: false, email: true });
});

test("payments after outstandingAsOf are subtracted from the balance", () => {
  const current = exampleCase({ outstandingMinor: 300_000n, totalCollectedMinor: 200_000n });
  const row = { outstandingAmount: "5000", outstandingAsOf: EARLIER.toISOString(), dpd: 1 };
  const plan = applied(row, current, later([paid(200_000n)]));
  expect(plan).toMatchObject({
    outcome: "updated",
    adjustmentMinor: 0n,
    caseAfter: { outstandingMinor: 300_000n },
    warnings: [{ code: "PAYMENT_AFTER_SNAPSHOT", pointer: "/rows/0/outstandingAmount" }],
  });
});

test("reversals after outstandingAsOf are added to the balance, also when a row says that nothing is owed", () => {
  const current = exampleCase({ outstandingMinor: 300_000n, totalCollectedMinor: 100_000n });
  const row = { outstandingAmount: "0", outstandingAsOf: EARLIER.toISOString() };
  const more = later([paid(50_000n)], [{ amountMinor: 80_000n }]);
  expect(applied(row, current, more)).toMatchObject({
    outcome: "updated",
    adjustmentMinor: -270_000n,
    caseAfter: { outstandingMinor: 30_000n },
    warnings: [
      { code: "PAYMENT_AFTER_SNAPSHOT", pointer: "/rows/0/outstandingAmount" },
      { code: "REVERSAL_AFTER_SNAPSHOT", pointer: "/rows/0/outstandingAmount" },
    ],
  });
});

test("if later payments cover the balance, the case becomes collected and the event names the last payment", () => {
  const row = { outstandingAmount: "1000", outstandingAsOf: EARLIER.toISOString() };
  const payments = [paid(90_000n, "UTR2", NOW), paid(110_000n, "UTR1", EARLIER)];
  const plan = applied(row, exampleCase({ outstandingMinor: 50_000n }), later(payments));
  expect(plan).toMatchObject({
    outcome: "collected",
    adjustmentMinor: -50_000n,
    caseAfter: { outstandingMinor: 0n, status: "collected", closeReason: "paid_in_full", settledByLender: false },
    events: [{ kind: "case.closed", status: "collected", data: { closeReason: "paid_in_full", reference: "UTR2" } }],
  });
});

test("the event of a case that later payments clear names the last payment that was not reversed in full", () => {
  const row = { outstandingAmount: "500", outstandingAsOf: EARLIER.toISOString() };
  const payments = [paid(60_000n, "UTR1", EARLIER), { ...paid(20_000n, "UTR2", NOW), isReversed: true }];
  const plan = applied(row, exampleCase({ outstandingMinor: 40_000n }), later(payments, [{ amountMinor: 20_000n }]));
  expect(plan).toMatchObject({ outcome: "collected", events: [{ data: { reference: "UTR1" } }] });
});

test.each([{}, { status: "on_hold", statusBeforeHold: "new", fieldWork: "blocked", blockedAt: EARLIER }] as const)(
  "a balance of 0 settles an open case: %j",
  (fields) => {
    const plan = applied({ outstandingAmount: "0", dpd: 0 }, exampleCase(fields));
    expect(plan).toMatchObject({ outcome: "settled", adjustmentMinor: -500_000n });
    expect(plan.caseAfter).toMatchObject({
      status: "closed",
      closeReason: "settled_by_lender",
      settledByLender: true,
      outstandingMinor: 0n,
      closedAt: NOW,
      dpd: 0,
    });
    expect(plan.events).toEqual([
      { kind: "case.returned", sequence: 2n, status: "closed", data: { reason: "settled_by_lender" } },
    ]);
    expect(plan.changes.map(({ field }) => field)).toEqual(["outstandingAmount", "dpd"]);
  },
);

test("the reason of a row that settles the case is stored and is part of the event", () => {
  const settled = applied({ outstandingAmount: "0", reason: "waived" }, exampleCase());
  expect(settled).toMatchObject({
    caseAfter: { status: "closed", closeReason: "settled_by_lender", statusReason: "waived" },
    events: [{ kind: "case.returned", data: { reason: "waived" } }],
    warnings: [],
  });
  const opened = applied({ outstandingAmount: "0", reason: "waived" }, undefined);
  expect(opened).toMatchObject({ outcome: "created", caseAfter: { statusReason: "waived" }, warnings: [] });
  expect(opened.events[1]).toMatchObject({ kind: "case.returned", data: { reason: "waived" } });
  expect(planOf({ outstandingAmount: "0", reason: "waived" }, settled.caseAfter)).toMatchObject({
    outcome: "unchanged",
    warnings: [],
  });
});

test("an upsert that does not settle the case gets a warning that its reason was not stored", () => {
  const lost = { code: "FIELD_NOT_APPLIED", pointer: "/rows/0/reason" };
  const row = { outstandingAmount: "5000", reason: "moved" };
  expect(planOf(row, undefined)).toMatchObject({ outcome: "created", warnings: [lost] });
  expect(planOf(row, exampleCase())).toMatchObject({ outcome: "unchanged", warnings: [lost] });
  expect(planOf({ ...row, dpd: 1 }, exampleCase())).toMatchObject({ outcome: "updated", warnings: [lost] });
  const collected = exampleCase({ ...ended, status: "collected", outstandingMinor: 0n });
  expect(planOf({ ...row, outstandingAmount: "0" }, collected)).toMatchObject({
    outcome: "unchanged",
    warnings: [lost],
  });
});

const everything = {
  outstandingAmount: "5000",
  minimumAmount: "100",
  emiAmount: "450.50",
  outstandingAsOf: EARLIER.toISOString(),
  tags: ["a"],
  metadata: { b: "1", a: "2" },
  addresses: [{ city: "Pune" }],
  consent: { whatsapp: true },
  alternatePhones: ["+919800000002"],
  nextDueDate: "2026-12-01",
};

function json(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value)) as unknown;
}
