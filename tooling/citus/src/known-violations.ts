import type { Violation } from "./lint.ts";

/** Statements that break a rule today. The list only shrinks: a new violation fails the tests. */
export const knownViolations: readonly Violation[] = [
  { name: "cases.insert-imported", rule: "insert-by-copy" },
  { name: "cases.update-imported", rule: "insert-by-copy" },
  { name: "earnings.add", rule: "insert-by-copy" },
  { name: "earnings.credit", rule: "insert-by-copy" },
  { name: "ledger.insert-payment_booking", rule: "insert-by-copy" },
  { name: "ledger.insert-transfer", rule: "insert-by-copy" },
];
