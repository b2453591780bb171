export { adjustEarning, type AppliedChange, type EarningAdjustment } from "./adjust-earning.ts";
export { changedEarnings } from "./changed-earnings.ts";
export { commissionOn, formula } from "./commission.ts";
export { InvalidCursorError } from "./cursor.ts";
export { type DeductionSum, deductionSums } from "./deduction-sums.ts";
export { type AttributedPayment, credited, type Earning, earningOn, type EarningStatus } from "./earning.ts";
export {
  earningDigests,
  earningsByBooking,
  type EarningsDigest,
  type EarningsOfBooking,
  type EarningText,
  earningTexts,
} from "./earnings-by-booking.ts";
export {
  addEarnings,
  type CaseKey,
  creditEarnings,
  findPendingEarnings,
  lockEarningsOfBookings,
  reverseEarnings,
} from "./write-earnings.ts";
export { lockCredited, lockReference, payOut } from "./write-payouts.ts";
export {
  creditTimeReaching,
  payableLines,
  type Payout,
  payoutDifferences,
  payoutOf,
  type PayoutOrder,
  type PayoutPart,
} from "./payout.ts";
export { type Period, spanOf } from "./period.ts";
export {
  type EarningLines,
  earningLines,
  earningsByIds,
  earningsOfBookings,
  earningsOfCases,
  type EarningsSummary,
  earningsSummary,
  type EarningsTotal,
  earningsTotals,
} from "./read-earnings.ts";
export {
  type CreditedSum,
  creditedSums,
  type CreditedSumOf,
  creditedSumsOf,
  linesOfPayout,
  listPayouts,
  type OwedSum,
  owedSums,
  type PaidOutLine,
  paidOutPage,
  payoutById,
  payoutByReference,
  type PayoutFilter,
  type PayoutMismatch,
  payoutMismatches,
  payoutsOfFieldPartner,
  type TakenBackSum,
  takenBackSums,
} from "./read-payouts.ts";
export type { EarningRow } from "./schema.ts";
