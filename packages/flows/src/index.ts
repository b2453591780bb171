export { type ConfirmerOptions, createConfirmer } from "./payment/confirm-in-batches.ts";
export { type Confirmation, type ConfirmationOutcome, type ConfirmationRefusal } from "./payment/confirmation.ts";
export { confirmPayments } from "./payment/confirm-payments.ts";
export {
  type PaymentName,
  type ReversalEffects,
  type ReversalOptions,
  type ReversalOutcome,
  reversePayment,
} from "./payment/reverse-payment.ts";
export { type RefusedReversal, type ReversalRefusal, type ReversalRequest } from "./payment/reversal-request.ts";
export { type ConfirmationEffects, type MoveOutcome, movePayment, type PaymentMove } from "./payment/move-payment.ts";
export { paymentHistory, type PaymentHistory } from "./payment/payment-history.ts";
export { type EventOrigin, pingBody } from "./case/event.ts";
export {
  PAYMENT_MODE_CHARACTERS,
  PAYMENT_MODES,
  type PaymentMode,
  paymentMode,
  type PaymentModeReading,
} from "./payment/payment-mode.ts";
export { type AuditSearch, listAudit, type ListedAct } from "./read/audit.ts";
export { caseHistory, type CaseHistory, type HolderChange, type VisitOfCase } from "./read/case-history.ts";
export { caseSnapshot, type CaseSnapshot } from "./read/case-snapshot.ts";
export { find, type Finding, type FindOptions, type FoundLoan } from "./read/find.ts";
export {
  type DayFigures,
  figuresOfDay,
  type HourFigures,
  figuresOfLenders,
  figuresOfToday,
  type FiguresPage,
  type LenderFigures,
  type TodayFigures,
} from "./read/day-figures.ts";
export { listCases } from "./read/list-cases.ts";
export { deliveriesOfLenders, type DeliverySearch } from "./read/list-deliveries.ts";
export { listPayments, type PaymentFilter } from "./read/list-payments.ts";
export {
  type PlaceInSearch,
  searchCases,
  type SearchedCase,
  type SearchedCases,
  type SearchPage,
} from "./read/search-cases.ts";
export { reversalBody } from "./read/payment-body.ts";
export { type StablePage } from "./read/stable-page.ts";
export {
  assignCases,
  assignCasesIn,
  type CaseMove,
  type CaseMoveOutcome,
  type CaseMoves,
  MAX_MOVES,
} from "./case/assign-cases.ts";
export {
  type CaseOfPerson,
  type CaseToSpread,
  SPREAD_RULES,
  spreadCases,
  type SpreadCase,
  type SpreadRule,
} from "./case/spread-cases.ts";
export {
  assignCase,
  type CaseOrder,
  type CaseOrderOutcome,
  closeCase,
  holdCase,
  releaseCase,
  unassignCase,
} from "./case/change-case.ts";
export { eraseCase, eraseEndedCases, type EraseOrder, type EraseOutcome } from "./case/erase-cases.ts";
export { harmless, onOneLine, quoted } from "./message/harmless-text.ts";
export { importCases, type ImportRequest, MAX_IMPORT_ROWS } from "./case/import-cases.ts";
export { type ImportResult, type RowResult } from "./case/import-result.ts";
export { changeLender, type LenderCallback, type Onboarding, onboardLender } from "./onboard-lender.ts";
export {
  type BooksCounts,
  type BooksProblem,
  type BooksProgress,
  type BooksVerification,
  verifyBooks,
  type VerifyBooksOptions,
} from "./books/verify-books.ts";
export { CASE_CHANNEL, type CaseChange, type CaseChangeKind, readCaseChange } from "./case/case-channel.ts";
export { PAYMENT_LINK_CHANNEL } from "./link/payment-link-channel.ts";
export { type AppContext, type AppInputFault, type AppInputFaultCode } from "./request/app-request.ts";
export { fieldWorkRefusal, type FieldWorkRefusal } from "./request/field-work.ts";
export { revealContact, type RevealContactOutcome } from "./visit/reveal-contact.ts";
export {
  completeVisit,
  type CompleteVisitOutcome,
  MAX_NOTE_CHARS,
  type VisitToComplete,
} from "./visit/complete-visit.ts";
export { queueCompletion, queueLinkRequest, type ProcessedRequest, processQueuedRequests } from "./queued-requests.ts";
export {
  type LinkDeps,
  type LinkLog,
  type MintJob,
  mintPaymentLinkQueue,
  type SendJob,
  sendPaymentLinkQueue,
} from "./link/link-jobs.ts";
export { mintPaymentLink } from "./link/mint-payment-link.ts";
export { type MintLinkTest, testMintLink, type MintLinkTestOutcome } from "./link/test-mint-link.ts";
export {
  type PaymentLinkRequest,
  requestPaymentLink,
  type RequestPaymentLinkOutcome,
} from "./link/request-payment-link.ts";
export {
  type PaymentLinkResend,
  resendPaymentLink,
  type ResendPaymentLinkOutcome,
} from "./link/resend-payment-link.ts";
export { type PayoutDue, payoutsDue, type PayoutsDuePage } from "./books/payouts-due.ts";
export {
  type PayoutPreview,
  payoutPreview,
  type PayoutToRecord,
  recordPayout,
  type RecordPayoutOutcome,
} from "./books/record-payout.ts";
export {
  type CheckedPaymentRow,
  checkPaymentRow,
  type FaultyPaymentRow,
  type PaymentRow,
} from "./reconciliation/payment-row.ts";
export { KnownSequences } from "./reconciliation/known-sequences.ts";
export { ReconciliationChangedError } from "./reconciliation/unchanged-run.ts";
export {
  MAX_RECONCILED_ROWS,
  MAX_WINDOW_DAYS,
  reconcile,
  type Reconciliation,
  reconciliationOf,
  ReconciliationRunningError,
  type ReconcileRequest,
} from "./reconciliation/reconcile.ts";
export {
  confirmMissing,
  type ConfirmedPage,
  type ConfirmingRules,
  type UnconfirmedRow,
} from "./reconciliation/confirm-missing.ts";
export { recordMessageReports } from "./link/record-message-reports.ts";
export { type OtpChannel, type OtpDeps, OtpNotAcceptedError, sendOtp } from "./message/send-otp.ts";
export { MessageNotAcceptedError, sendPaymentLink } from "./link/send-payment-link.ts";
export { type AlertDeps, AlertNotAcceptedError, sendWebhookAlert } from "./message/send-webhook-alert.ts";
export { startVisit, type StartVisitOutcome, type VisitToStart } from "./visit/start-visit.ts";
export { type PromiseDeps, settlePromises } from "./visit/settle-promises.ts";
export { sweepPaymentLinks } from "./link/sweep-payment-links.ts";
export {
  playScene,
  type SceneDeps,
  type SceneEvent,
  type SceneOutcome,
  type SceneRequest,
} from "./sandbox/play-scene.ts";
export { type Scene, SCENES } from "./sandbox/scenes.ts";
