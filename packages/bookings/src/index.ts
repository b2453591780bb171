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
  paymentsWithExcess,
} from "./books/booking.ts";
export { paymentsByReference, type ReferenceSearch, reversalsByReference } from "./books/by-reference.ts";
export { type BookingFilter, type BookingsAfter, listBookings, type ListedBookings } from "./books/list-bookings.ts";
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
export {
  type PaymentSum,
  paymentSums,
  type RecordedIn,
  reversalSums,
  type ReversalSum,
} from "./books/recorded-sums.ts";
export {
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
} from "./books/reversal.ts";
export {
  type EarningChange,
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
  goneDifferences,
  type ReconciliationDifference,
  type ReconciliationFault,
  recordDifferences,
} from "./reconciliation/difference.ts";
export { ReferenceSpool } from "./reconciliation/reference-spool.ts";
export {
  paymentsElsewhere,
  type PossibleBooking,
  type RunKey,
  stageDistantPayments,
  stagedItems,
  stagePayments,
  stageRows,
} from "./reconciliation/reconciliation-row.ts";
export {
  beginRun,
  endRun,
  forgetReconciliations,
  listReconciliations,
  lockReconciliations,
  type NewReconciliationRun,
  type ReconciliationRun,
  reconciliationRun,
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
export type { ReversalProblemCode } from "./verification/reversal-checks.ts";
export { collectionsLedger } from "./verification/collections-ledger.ts";
