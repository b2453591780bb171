export { applyPayment, type CapturedPayment, type PaymentEffect } from "./apply-payment.ts";
export { AMOUNT_FIELDS, bucketOf, type CaseDetails, type DetailChanges, type FieldChange } from "./case-details.ts";
export { CursorOfAnotherListError } from "./case-list-cursor.ts";
export {
  CASE_STATUSES,
  type CaseEventKind,
  type CaseStatus,
  CLOSE_REASONS,
  type CloseReason,
  type FieldWork,
  type NumberedEvent,
} from "./case-status.ts";
export type { Case } from "./collection-case.ts";
export { changedCases, type ChangedSince } from "./changed-cases.ts";
export {
  completeVisit,
  type CompletionRefusal,
  type PromiseFault,
  promiseFault,
  type PromiseTerms,
  type VisitCompleted,
  type VisitCompletion,
} from "./complete-visit.ts";
export type { Address, Consent } from "./contact-readers.ts";
export { fileProgress, type FileProgress, recordFileProgress } from "./file-import.ts";
export { caseGoneSince, forgetGoneCases, goneCaseIds } from "./gone-case.ts";
export {
  dropHeldRequest,
  forgetHeldRequests,
  HELD_MUTATIONS,
  type HeldMutation,
  type HeldRequest,
  type HeldRequestKey,
  holdRequest,
  lockVisit,
  MAX_HELD,
  takeHeldRequests,
  type VisitOfFieldPartner,
  visitsWaitedFor,
} from "./held-request.ts";
export {
  importRun,
  type ImportRun,
  type ImportSummary,
  recordImport,
  recordUnappliedImport,
  type RecordedImport,
  type RefusedRow,
} from "./import-run.ts";
export { type InstantReading, readInstant } from "./instant.ts";
export {
  type FreeCases,
  lockCase,
  lockCasesForImport,
  lockCurrentCaseOf,
  lockCurrentCases,
  lockFreeCases,
} from "./lock-cases.ts";
export { type HeldWork, heldWorkOf } from "./held-work.ts";
export type { CaseKey, ImportedCase, LoanKey, LockedCase } from "./locked-case.ts";
export { maskedPhone } from "./masked-phone.ts";
export type { Near } from "./near.ts";
export { type OwnCase } from "./own-case.ts";
export {
  CASE_SORTS,
  type CaseFilter,
  type CaseListRequest,
  type CaseSort,
  casesOfFieldPartner,
  lenderIdsOfFieldPartner,
  type ListedCase,
  ownCasesByIds,
} from "./own-cases.ts";
export { InvalidCursorError, type Page, type PageRequest } from "./page.ts";
export {
  type AppliedOutcome,
  type LaterPayment,
  type PlanFacts,
  type PlannedEvent,
  planRow,
  type RowPlan,
} from "./plan-row.ts";
export {
  type DuePromise,
  duePromises,
  type OpenPromise,
  openPromiseById,
  type PromiseOutcome,
  promiseOutcome,
  settlePromise,
} from "./promise-outcome.ts";
export type { PromiseState, PromiseToPay } from "./promise-to-pay.ts";
export { caseById, caseByLoan, caseOfFieldPartner, casesOfLoan, caseTotals, type CaseTotals } from "./read-cases.ts";
export {
  countVisits,
  latestVisitsOf,
  openPromisesOf,
  visitById,
  visitCursor,
  visitOfFieldPartner,
  visitsOfCase,
} from "./read-visits.ts";
export { isDotSegment } from "./loan-number.ts";
export {
  type CaseRow,
  type CheckedRow,
  checkRow,
  checkRows,
  checkRowsInTurns,
  type ControlRow,
  inCurrencyOfCase,
  type LenderDefaults,
  type UpsertRow,
} from "./row.ts";
export type { RowFault, RowFaultCode, RowWarning, RowWarningCode } from "./row-fault.ts";
export { startVisit, type VisitStart, type VisitStarted } from "./start-visit.ts";
export {
  type CaseState,
  numbered,
  type Refusal,
  type RefusalCode,
  transition,
  type Trigger,
  type Verdict,
} from "./transitions.ts";
export { nearestName } from "./unknown-fields.ts";
export { cameLate, type Disposition, DISPOSITIONS, type Visit } from "./visit.ts";
export { type BlockedReason, blockedReason } from "./workable.ts";
export { insertCases, writeBalanceDates, writeCases, writeCaseStates, writeImportedCases } from "./write-cases.ts";
