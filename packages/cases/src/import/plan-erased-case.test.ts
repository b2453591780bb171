import { expect, test } from "vitest";
import { exampleCase } from "../../tests/example-case.ts";
import { applied, EARLIER, planOf } from "../../tests/plan-example.ts";
import { NO_PERSONAL_DATA } from "../case/personal-data.ts";

const PERSONAL = {
  borrowerEmail: "asha@example.com",
  alternatePhones: ["+919800000002"],
  addresses: [{ city: "Pune" }],
  metadata: { spouse: "Ravi" },
};
const HELD = { status: "on_hold", statusBeforeHold: "new", fieldWork: "blocked", blockedAt: EARLIER } as const;
const erased = exampleCase({ ...HELD, ...NO_PERSONAL_DATA, erasedAt: EARLIER });

test("a row for an erased case on hold changes the balance and other details, but brings no personal data", () => {
  const plan = applied({ ...PERSONAL, outstandingAmount: "4000", dpd: 40 }, erased);
  expect(plan.caseAfter).toMatchObject({ ...NO_PERSONAL_DATA, erasedAt: EARLIER, outstandingMinor: 400_000n, dpd: 40 });
  expect(plan.changes.map(({ field }) => field)).toEqual(["outstandingAmount", "dpd"]);
  expect(plan.warnings).toMatchObject([{ code: "FIELD_NOT_APPLIED", pointer: "/rows/0/borrowerName" }]);
});

test("a row with nothing but personal data does not change an erased case on hold, and gets the warning", () => {
  expect(planOf({ ...PERSONAL, outstandingAmount: "5000" }, erased)).toMatchObject({
    outcome: "unchanged",
    caseAfter: NO_PERSONAL_DATA,
    warnings: [{ code: "FIELD_NOT_APPLIED" }],
  });
});

test("a row for an erased case that is not on hold brings the personal data, and the case counts as not erased", () => {
  const open = exampleCase({ ...NO_PERSONAL_DATA, erasedAt: EARLIER });
  const { caseAfter, warnings } = applied({ ...PERSONAL, outstandingAmount: "5000" }, open);
  expect(caseAfter).toMatchObject({ borrowerName: "Asha Rao", borrowerEmail: "asha@example.com", erasedAt: null });
  expect(warnings).toEqual([]);
});

test("a row that starts the next cycle of an erased loan takes over no personal data from it", () => {
  const ended = exampleCase({
    ...NO_PERSONAL_DATA,
    erasedAt: EARLIER,
    status: "withdrawn",
    closeReason: "withdrawn",
    closedAt: EARLIER,
    fieldWork: "blocked",
    blockedAt: EARLIER,
  });
  const { caseAfter } = applied({ outstandingAmount: "700" }, ended);
  expect(caseAfter).toMatchObject({
    ...NO_PERSONAL_DATA,
    borrowerName: "Asha Rao",
    borrowerPhone: "+919800000001",
    erasedAt: null,
    cycle: 2,
  });
});
