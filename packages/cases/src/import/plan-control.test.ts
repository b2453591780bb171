import { expect, test } from "vitest";
import { exampleCase } from "../../tests/example-case.ts";
import { applied, ended, planOf } from "../../tests/plan-example.ts";

test("withdraw, hold and release emit an event with the lender's reason", () => {
  const held = applied({ action: "hold", reason: "complaint" }, exampleCase());
  expect(held).toMatchObject({ outcome: "held", adjustmentMinor: 0n, caseAfter: { status: "on_hold" } });
  expect(held.events).toEqual([{ kind: "case.held", sequence: 2n, status: "on_hold", data: { reason: "complaint" } }]);
  const released = applied({ action: "release" }, held.caseAfter);
  expect(released).toMatchObject({ outcome: "released", caseAfter: { status: "new", sequence: 3n } });
  expect(released.events).toMatchObject([{ kind: "case.released", data: { reason: null } }]);
  const withdrawn = applied({ action: "withdraw", reason: "recalled" }, released.caseAfter);
  expect(withdrawn).toMatchObject({
    outcome: "withdrawn",
    caseAfter: { status: "withdrawn", outstandingMinor: 500_000n, statusReason: "recalled" },
    events: [{ kind: "case.withdrawn", sequence: 4n, status: "withdrawn" }],
  });
});

test("an action that was already applied leaves the case unchanged and gets no warning", () => {
  const withdrawn = applied({ action: "withdraw" }, exampleCase()).caseAfter;
  expect(planOf({ action: "withdraw" }, withdrawn)).toMatchObject({ outcome: "unchanged", warnings: [] });
  const held = applied({ action: "hold" }, exampleCase()).caseAfter;
  expect(planOf({ action: "hold" }, held)).toMatchObject({ outcome: "unchanged", warnings: [] });
  expect(planOf({ action: "release" }, exampleCase())).toMatchObject({ outcome: "unchanged", warnings: [] });
});

test.each(["withdraw", "hold", "release"])(
  "%s on a case that has ended leaves the case unchanged and gets a warning",
  (action) => {
    const old = exampleCase({ ...ended, status: "collected", closeReason: "paid_in_full", outstandingMinor: 0n });
    expect(planOf({ action }, old)).toMatchObject({
      outcome: "unchanged",
      warnings: [{ code: "CASE_ENDED", pointer: "/rows/0/action" }],
    });
  },
);

test.each(["withdraw", "hold", "release"])("%s of a loan without a case is rejected", (action) => {
  expect(planOf({ action }, undefined)).toMatchObject({
    outcome: "rejected",
    errors: [{ code: "LOAN_NOT_FOUND", pointer: "/rows/0/sourceLoanNumber" }],
  });
});
