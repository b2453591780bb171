export {
  type AccountToOpen,
  caseAccounts,
  commissionExpenseAccount,
  creditedAccount,
  excessAccount,
  fieldPartnerAccounts,
  lenderAccounts,
  openAccounts,
  paidAccount,
  pendingAccount,
  placedAccount,
  receivableAccount,
  settledDirectAccount,
} from "./books/account.ts";
export {
  balance,
  type CaseBalance,
  type FieldPartnerBalance,
  fieldPartnerBalances,
  receivableBalances,
} from "./books/balance.ts";
export {
  type Booking,
  type BookingKey,
  bookingPage,
  bookingsByIds,
  bookingsFor,
  bookPayments,
  type Collected,
  collectedBy,
  paidOnCase,
  paymentsAfter,
  type PaymentsAfterKey,
  paymentsOf,
} from "./books/booking.ts";
export {
  type AppliedExcess,
  type ApplyingBalance,
  excessAppliedByBalances,
  excessPostings,
} from "./books/applied-excess.ts";
export {
  type AppliedPayment,
  appliedPayments,
  earningBalanceDigests,
  type EarningBalancesDigest,
  type EarningBalanceText,
  earningBalanceTexts,
} from "./books/earning-balances.ts";
export {
  type BookingWithReversals,
  paymentsByReference,
  type ReferenceSearch,
  reversalsByReference,
} from "./books/by-reference.ts";
export { type BookingFilter, type BookingsAfter, listBookings, type ListedBookings } from "./books/list-bookings.ts";
export { type FeeLine, feeLines, type FeePeriod, type FeeSum, feeSums } from "./books/fees.ts";
export { hasPayment } from "./books/has-payment.ts";
export { latestBookings, type LatestBefore, latestReversals } from "./books/latest.ts";
export {
  adjustment,
  type CaseChange,
  commission,
  correction,
  earningCredited,
  type EarningToPost,
  includedInBalance,
  paymentPostings,
  payout,
  payoutMemo,
  placement,
} from "./books/postings.ts";
export { type RebookedPayments, rebookedWithoutFieldPartner } from "./books/rebooked.ts";
export { type PaymentSum, type RecordedSums, recordedSums, type ReversalSum } from "./books/recorded-sums.ts";
export {
  isMistake,
  recordReversal,
  type RemainingPayment,
  remainingOf,
  type Reversal,
  REVERSAL_REASONS,
  type ReversalKey,
  type ReversalOfPayment,
  reversalPage,
  reversalsAfter,
  reversalsFor,
  reversalsOf,
  reversalsOfLoans,
  reversalsWithPayments,
  type PaymentsWithReversals,
  paymentsWithReversals,
} from "./books/reversal.ts";
export {
  causeOf,
  type EarningChange,
  type EarningChangeCause,
  earningChangePostings,
  payoutDeduction,
  reversalPostings,
} from "./books/reversal-postings.ts";
export type {
  AccountKind,
  Attribution,
  BookingWarning,
  ReappliedExcess,
  ReversalReason,
  TransferKind,
} from "./schema.ts";
export { bareReference } from "./reconciliation/bare-reference.ts";
export {
  type BookedPayment,
  type Compared,
  type ComparedItem,
  Comparison,
  type ComparisonTotals,
  type CurrencyTotal,
  DIFFERENCE_LISTS,
  type DifferenceList,
  type FoundDifference,
  isIn,
  type Leftover,
  type ReconciliationWindow,
  type ReportedPayment,
} from "./reconciliation/comparison.ts";
export { hasParts, LeftoverSpool, type LeftoversOfLoan, paymentsWithParts } from "./reconciliation/leftover.ts";
export { pairAcrossLoans, type ReferenceLeftovers, type ReferenceResult } from "./reconciliation/pair-across-loans.ts";
export {
  type LoanLeftovers,
  type LoanPayment,
  type LoanResult,
  pairOnLoan,
  type PairingRules,
} from "./reconciliation/pair-on-loan.ts";
export {
  differencesOf,
  type ReconciliationDifference,
  type ReconciliationFault,
  recordDifferences,
} from "./reconciliation/difference.ts";
export { type MinorUnitsFinding, minorUnitsIn, minorUnitsText } from "./reconciliation/minor-units.ts";
export { recordReconciliationCost, type ReconciliationCosts, reconciliationCosts } from "./reconciliation/allowance.ts";
export { RunDigest, storedDigest } from "./reconciliation/run-digest.ts";
export {
  type GoneDifference,
  goneByMarks,
  goneDifferences,
  markFound,
  markPrevious,
  marksOf,
  type ReconciliationMark,
  recordGone,
} from "./reconciliation/gone.ts";
export { ReferenceSpool } from "./reconciliation/reference-spool.ts";
export {
  type Candidate,
  type Counterparts,
  findCounterparts,
  type Match,
  storeMatches,
} from "./reconciliation/match.ts";
export {
  paymentsElsewhere,
  type RunKey,
  stageBooked,
  stagedItems,
  stageRows,
} from "./reconciliation/reconciliation-row.ts";
export {
  type LoanReference,
  type LoanSequence,
  paymentsSince,
  referencesOfRows,
} from "./reconciliation/later-payments.ts";
export { StagedKeys } from "./reconciliation/staged-keys.ts";
export { type PaymentsPage, paymentsOfWindow } from "./reconciliation/window-payments.ts";
export { type ReconciledWindow, reconciledWindows } from "./reconciliation/reconciled-windows.ts";
export {
  lastRunOf,
  listReconciliations,
  lockReconciliations,
  type NewReconciliationRun,
  type ReconciliationRun,
  pruneReconciliations,
  reconciliationRun,
  recordRun,
  type RunTotals,
} from "./reconciliation/reconciliation-run.ts";
export { type CaseStatement, statementOf, type StatementLine, type StatementTotals } from "./books/statement.ts";
export {
  payoutTransfersOf,
  type Posting,
  postTransfers,
  type Transfer,
  transfersOf,
  transfersOfBookings,
} from "./books/transfer.ts";
export type { BookingProblemCode } from "./verification/booking-checks.ts";
export type { CommissionProblemCode } from "./verification/commission-checks.ts";
export type { ReversalProblemCode } from "./verification/reversal-checks.ts";
export { collectionsLedger } from "./verification/collections-ledger.ts";
