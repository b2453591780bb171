export { commissionOn, formula } from "./commission.ts";
export { InvalidCursorError } from "./cursor.ts";
export { type AttributedPayment, credited, type Earning, earningOn, type EarningStatus } from "./earning.ts";
export {
  addEarnings,
  type CaseOfEarnings,
  creditEarnings,
  lockCredited,
  payOutEarnings,
  pendingOf,
} from "./keep-earnings.ts";
export { type Period, type Span, spanOf } from "./period.ts";
export {
  type EarningLines,
  earningLines,
  earningPage,
  earningsByIds,
  earningsOfCases,
  type EarningsSummary,
  earningsSummary,
  type EarningsTotal,
  earningsTotals,
} from "./read-earnings.ts";
export type { EarningRow } from "./schema.ts";
