export { type ConfirmerOptions, createConfirmer } from "./confirm-in-batches.ts";
export { type Confirmation, type ConfirmationOutcome, type ConfirmationRefusal } from "./confirmation.ts";
export { confirmPayments } from "./confirm-payments.ts";
export { type EventOrigin, pingBody } from "./event.ts";
export { PAYMENT_MODES, type PaymentMode, paymentMode, type PaymentModeReading } from "./payment-mode.ts";
export { caseSnapshot, type CaseSnapshot } from "./case-snapshot.ts";
export {
  assignCase,
  type CaseOrder,
  type CaseOrderOutcome,
  closeCase,
  holdCase,
  releaseCase,
  unassignCase,
} from "./change-case.ts";
export { harmless, onOneLine, quoted } from "./harmless-text.ts";
export { importCases, type ImportRequest, MAX_IMPORT_ROWS } from "./import-cases.ts";
export { type ImportResult, type RowResult } from "./import-result.ts";
export { changeLender, type LenderCallback, type Onboarding, onboardLender } from "./onboard-lender.ts";
export { type BooksProblem, type BooksVerification, verifyBooks } from "./verify-books.ts";
export { PAYMENT_LINK_CHANNEL } from "./payment-link-channel.ts";
export { type AppContext, type AppInputFault, type AppInputFaultCode } from "./app-request.ts";
export { fieldWorkRefusal, type FieldWorkRefusal } from "./field-work.ts";
export { revealContactIn, type RevealContactOutcome } from "./reveal-contact.ts";
export {
  completeVisit,
  completeVisitIn,
  type CompleteVisitOutcome,
  MAX_NOTE_CHARS,
  type VisitToComplete,
} from "./complete-visit.ts";
export { holdCompletion, holdLinkWish, type WorkedRequest, workHeldRequests } from "./held-requests.ts";
export {
  type LinkDeps,
  type LinkLog,
  type MintJob,
  mintPaymentLinkQueue,
  type SendJob,
  sendPaymentLinkQueue,
} from "./link-jobs.ts";
export { mintPaymentLink } from "./mint-payment-link.ts";
export {
  type PaymentLinkWish,
  requestPaymentLink,
  requestPaymentLinkIn,
  type RequestPaymentLinkOutcome,
} from "./request-payment-link.ts";
export { type PaymentLinkResend, resendPaymentLinkIn, type ResendPaymentLinkOutcome } from "./resend-payment-link.ts";
export {
  type PayoutPreview,
  payoutPreview,
  type PayoutToRecord,
  recordPayout,
  type RecordPayoutOutcome,
} from "./record-payout.ts";
export { recordMessageReports } from "./record-message-reports.ts";
export { type OtpChannel, type OtpDeps, OtpNotTakenError, sendOtp } from "./send-otp.ts";
export { MessageNotTakenError, sendPaymentLink } from "./send-payment-link.ts";
export { type AlertDeps, AlertNotTakenError, sendWebhookAlert } from "./send-webhook-alert.ts";
export { startVisit, startVisitIn, type StartVisitOutcome, type VisitToStart } from "./start-visit.ts";
export { type PromiseDeps, settlePromises } from "./settle-promises.ts";
export { sweepPaymentLinks } from "./sweep-payment-links.ts";
