import type { PastVisit } from "./sample-history.ts";
import type { LenderCode } from "./sample-cases.ts";

type Row = readonly [
  lender: LenderCode,
  loan: string,
  daysAgo: number,
  hour: number,
  disposition: string,
  more?: Pick<PastVisit, "note" | "promise" | "payment">,
];

// oxfmt-ignore
const ROWS: readonly Row[] = [
  ["ACME", "LN-1014", 29, 11, "PROMISE_TO_PAY", { promise: { amount: 6_000, dueInDays: -27 }, payment: { amount: 6_000, daysAgo: 27, hour: 19 } }],
  ["SHAKTI", "SH-2010", 29, 16, "NOT_AT_HOME"],
  ["BETA", "BB-3005", 28, 13, "DOOR_LOCKED"],
  ["SHAKTI", "SH-2010", 26, 10, "PAID_VIA_LINK", { payment: { amount: 1_500, daysAgo: 26, hour: 10 } }],
  ["ACME", "LN-1009", 25, 15, "CALLBACK_REQUESTED", { note: "At work until six." }],
  ["ACME", "LN-1009", 24, 18, "PAID_VIA_LINK", { payment: { amount: 2_500, daysAgo: 24, hour: 18 } }],
  ["BETA", "BB-3005", 22, 12, "REFUSED_TO_PAY", { note: "Wants a statement from the bank first." }],
  ["ACME", "LN-1006", 20, 11, "PAID_VIA_LINK", { payment: { amount: 2_400, daysAgo: 20, hour: 11 } }],
  ["SHAKTI", "SH-2008", 19, 14, "PROMISE_TO_PAY", { promise: { amount: 1_300, dueInDays: -17 }, payment: { amount: 1_300, daysAgo: 17, hour: 9 } }],
  ["ACME", "LN-1014", 15, 12, "PROMISE_TO_PAY", { promise: { amount: 6_000, dueInDays: -14 }, payment: { amount: 6_000, daysAgo: 13, hour: 20 }, note: "Salary comes on the last day of the month." }],
  ["BETA", "BB-3004", 14, 16, "NOT_AT_HOME"],
  ["SHAKTI", "SH-2002", 12, 10, "PROMISE_TO_PAY", { promise: { amount: 1_100, dueInDays: -10 }, payment: { amount: 1_100, daysAgo: 10, hour: 17 } }],
  ["SHAKTI", "SH-2004", 11, 15, "HARDSHIP", { note: "Has lost the job." }],
  ["BETA", "BB-3005", 9, 17, "PROMISE_TO_PAY", { promise: { amount: 4_000, dueInDays: -8 } }],
];

/** The visits of the three weeks before the last one, the oldest first. */
export const EARLIER_WEEKS: readonly PastVisit[] = ROWS.map(([lender, loan, daysAgo, hour, disposition, more]) => ({
  lender,
  loan,
  daysAgo,
  hour,
  disposition,
  ...more,
}));
