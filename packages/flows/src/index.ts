export { type BatchOptions, inBatches } from "./batches.ts";
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
export { importCases, type ImportRequest, MAX_IMPORT_ROWS } from "./import-cases.ts";
export { type ImportResult, type RowResult } from "./import-result.ts";
export { changeLender, type Onboarding, onboardLender } from "./onboard-lender.ts";
export { type BooksProblem, type BooksVerification, verifyBooks } from "./verify-books.ts";
export { PAYMENT_LINK_CHANNEL } from "./payment-link-channel.ts";
