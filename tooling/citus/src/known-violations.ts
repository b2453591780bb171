import type { Violation } from "./lint.ts";

/** Statements that break a rule today. The list only shrinks: a new violation fails the tests. */
export const knownViolations: readonly Violation[] = [
  { name: "cases.list-own", rule: "lateral-of-all-rows" },
  { name: "cases.open-promises", rule: "lateral-of-all-rows" },
  { name: "cases.latest-visits", rule: "lateral-of-all-rows" },
  { name: "cases.insert-imported", rule: "insert-by-copy" },
  { name: "cases.update-imported", rule: "insert-by-copy" },
  { name: "earnings.add", rule: "insert-by-copy" },
  { name: "earnings.credit", rule: "insert-by-copy" },
  { name: "ledger.insert-payment_booking", rule: "insert-by-copy" },
  { name: "ledger.insert-transfer", rule: "insert-by-copy" },
  { name: "payment-links.own-links", rule: "lateral-of-all-rows" },
  { name: "payment-links.active-links", rule: "lateral-of-all-rows" },
  { name: "payment-links.own-active-links", rule: "lateral-of-all-rows" },
  { name: "payment-links.deliveries-of-links", rule: "lateral-of-all-rows" },
  { name: "payment-links.messages-sent", rule: "lateral-of-all-rows" },
  { name: "payment-links.hold-reports", rule: "insert-by-copy" },
];
