export {
  type AccountKind,
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
} from "./account.ts";
export { anchorHeads, type AnchorHeadsOptions, anchorState, type AnchorState } from "./anchor-heads.ts";
export {
  type AnchorKeys,
  type AnchorPublicKey,
  type AnchorPublicKeys,
  createAnchorKeys,
  InvalidAnchorKeyError,
  readAnchorPublicKey,
} from "./anchor-keys.ts";
export {
  type Balance,
  balance,
  type CaseBalance,
  type FieldPartnerBalance,
  fieldPartnerBalances,
  receivableBalances,
} from "./balance.ts";
export {
  type Attribution,
  type Booking,
  type BookingKey,
  bookingPage,
  bookingsFor,
  type BookingWarning,
  bookPayments,
  type Collected,
  collectedBy,
  paidOnCase,
  paymentsAfter,
  type PaymentsAfterKey,
  paymentsOf,
} from "./booking.ts";
export { type ChainExtension, type ChainHead, chainHead, extendChain, type ExtendOptions } from "./chain.ts";
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
} from "./postings.ts";
export type { AccountRow, ChainBlockRow, PaymentBookingRow, TransferRow } from "./schema.ts";
export { type CaseStatement, statementOf, type StatementLine, type StatementTotals } from "./statement.ts";
export {
  payoutTransfersOf,
  type Posting,
  postTransfers,
  type Transfer,
  type TransferKind,
  transfersOf,
} from "./transfer.ts";
export {
  type AnchorLine,
  type AnchorProblem,
  type AnchorProblemCode,
  type AnchorVerification,
  type ProvenBooks,
  verifyAnchors,
  type VerifyAnchorsOptions,
} from "./verify-anchors.ts";
export {
  type LedgerCounts,
  type LedgerProblem,
  type LedgerVerification,
  type TrialBalance,
  verify,
  type VerifyOptions,
  type VerifyProgress,
} from "./verify.ts";
export type { ProblemCode } from "./verify-checks.ts";
