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
export { anchorHeads, type AnchorHeadsOptions, anchorState, type AnchorState } from "./verification/anchor-heads.ts";
export {
  type AnchorKeys,
  type AnchorPublicKey,
  type AnchorPublicKeys,
  createAnchorKeys,
  InvalidAnchorKeyError,
  readAnchorPublicKey,
} from "./verification/anchor-keys.ts";
export {
  type Balance,
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
export {
  type ChainExtension,
  type ChainHead,
  chainHead,
  extendChain,
  type ExtendOptions,
} from "./verification/chain.ts";
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
export type {
  AccountKind,
  AccountRow,
  Attribution,
  BookingWarning,
  ChainBlockRow,
  PaymentBookingRow,
  TransferKind,
  TransferRow,
} from "./schema.ts";
export { type CaseStatement, statementOf, type StatementLine, type StatementTotals } from "./books/statement.ts";
export { payoutTransfersOf, type Posting, postTransfers, type Transfer, transfersOf } from "./books/transfer.ts";
export {
  type AnchorLine,
  type AnchorProblem,
  type AnchorProblemCode,
  type AnchorVerification,
  type ProvenBooks,
  verifyAnchors,
  type VerifyAnchorsOptions,
} from "./verification/verify-anchors.ts";
export {
  type LedgerCounts,
  type LedgerProblem,
  type LedgerVerification,
  type TrialBalance,
  verify,
  type VerifyOptions,
  type VerifyProgress,
} from "./verification/verify.ts";
export type { ProblemCode } from "./verification/verify-checks.ts";
export {
  type Chart,
  type ChartAccount,
  type ChartDefinition,
  type ChartPosting,
  type ChartTransfer,
  defineChart,
  InvalidChartError,
} from "./chart/define-chart.ts";
export { InvalidPostingError, type PostingFault } from "./chart/posting-input.ts";
