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
  bookingsFor,
  bookPayments,
  type Collected,
  collectedBy,
  paidOnCase,
  paymentsAfter,
  type PaymentsAfterKey,
  paymentsOf,
} from "./books/booking.ts";
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
export type { AccountKind, Attribution, BookingWarning, TransferKind } from "./schema.ts";
export { type CaseStatement, statementOf, type StatementLine, type StatementTotals } from "./books/statement.ts";
export { payoutTransfersOf, type Posting, postTransfers, type Transfer, transfersOf } from "./books/transfer.ts";
export type { BookingProblemCode } from "./verification/booking-checks.ts";
export { collectionsLedger } from "./verification/collections-ledger.ts";
