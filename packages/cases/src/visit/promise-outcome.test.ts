import { describe, expect, test } from "vitest";
import { promiseOutcome } from "./promise-outcome.ts";

const DAY_END = new Date("2026-11-27T18:30:00Z");
const BEFORE = new Date(DAY_END.getTime() - 1);
const AFTER = DAY_END;
const PROMISE = { amountMinor: 1_000n };

describe("a promise of 10.00 by a day is", () => {
  test.each([
    ["kept when exactly 10.00 was paid", 1_000n, null, null, null, "kept"],
    ["kept when more was paid, also on a case that was withdrawn", 1_500n, BEFORE, "withdrawn", BEFORE, "kept"],
    ["broken when 0.01 is missing", 999n, null, null, BEFORE, "broken"],
    ["broken when nothing was paid", 0n, null, null, null, "broken"],
    ["kept when a smaller payment cleared the case", 600n, BEFORE, "paid_in_full", BEFORE, "kept"],
    [
      "kept when a payment by that day cleared the case but was confirmed later",
      600n,
      AFTER,
      "paid_in_full",
      BEFORE,
      "kept",
    ],
    ["broken when the case was cleared by a payment after that day", 0n, AFTER, "paid_in_full", AFTER, "broken"],
    ["kept when the case was cleared in time and paid again later", 600n, BEFORE, "paid_in_full", AFTER, "kept"],
    ["kept when the lender settled the case", 0n, BEFORE, "settled_by_lender", null, "kept"],
    ["moot when the case was withdrawn by that day", 999n, BEFORE, "withdrawn", BEFORE, "moot"],
    ["moot when an operator closed the case by that day", 0n, BEFORE, "closed_by_operator", null, "moot"],
    ["broken when the case was withdrawn after that day", 0n, AFTER, "withdrawn", null, "broken"],
  ] as const)("%s", (_, paidMinor, closedAt, closeReason, lastPaymentAt, outcome) => {
    expect(promiseOutcome(PROMISE, paidMinor, { closedAt, closeReason, lastPaymentAt }, DAY_END)).toBe(outcome);
  });
});
