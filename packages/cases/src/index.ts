export { applyPayment, type CapturedPayment, type PaymentEffect } from "./case/apply-payment.ts";
export {
  applyEarlierReversal,
  applyReversal,
  type EarlierReversalEffect,
  type HeldExcess,
  type ReturnedMoney,
  type ReversalEffect,
  type ReversedCase,
} from "./case/apply-reversal.ts";
export {
  AMOUNT_FIELDS,
  bucketOf,
  type CaseDetails,
  type DetailChanges,
  type FieldChange,
} from "./case/case-details.ts";
export { CursorOfAnotherListError } from "./list/case-list-cursor.ts";
export {
  CASE_STATUSES,
  type CaseEventKind,
  type CaseStatus,
  CLOSE_REASONS,
  type CloseReason,
  type FieldWork,
  type NumberedEvent,
} from "./case/case-status.ts";
export type { Case } from "./case/collection-case.ts";
export {
  type DatedFact,
  differenceOf,
  isBalanceKnown,
  isLater,
  type LaterMoney,
  type LaterPayment,
  type LaterReversal,
  NO_LATER_MONEY,
  signedDifference,
} from "./case/loan-balance.ts";
export { changedCases, type ChangedSince } from "./list/changed-cases.ts";
export {
  completeVisit,
  type CompletionRefusal,
  type PromiseFault,
  promiseFault,
  type PromiseTerms,
  type VisitCompletionResult,
  type VisitCompletion,
} from "./visit/complete-visit.ts";
export type { Address, Consent } from "./fields/contact-readers.ts";
export {
  casesWithPersonalData,
  type CaseWithPersonalData,
  erasePersonalData,
  type PersonalDataErasure,
  type PersonalDataPage,
} from "./case/erase-personal-data.ts";
export {
  doubtAboutIdentity,
  hasInvisible,
  identityForms,
  type IdentityReading,
  isErrorValue,
  isPlaceholder,
  isShortenedNumber,
  mayHaveLostDigits,
  readIdentity,
  textOfFormula,
  whyNoIdentity,
  whyNoNewIdentity,
} from "./fields/identity-text.ts";
export { type PhoneReading, readInternationalPhone, readPhoneNumber, readPhoneNumbers } from "./fields/phone-number.ts";
export { fileProgress, type FileProgress, recordFileProgress } from "./import/file-import.ts";
export { caseGoneSince, forgetGoneCases, goneCaseIds } from "./list/gone-case.ts";
export {
  type CasesOfLender,
  dropQueuedRequest,
  eraseQueuedNotes,
  forgetQueuedRequests,
  QUEUED_MUTATIONS,
  type QueuedMutation,
  type QueuedRequest,
  type QueuedRequestKey,
  queueRequest,
  lockVisit,
  MAX_QUEUED_REQUESTS,
  takeQueuedRequests,
  type VisitOfFieldPartner,
  visitsWithQueuedRequests,
} from "./visit/queued-request.ts";
export {
  importRun,
  type ImportRun,
  type ImportSummary,
  recordImport,
  recordUnappliedImport,
  type RecordedImport,
  type RefusedRow,
} from "./import/import-run.ts";
export { isDay, type InstantReading, readInstant } from "./fields/instant.ts";
export {
  type FreeCases,
  lockCase,
  lockCasesForImport,
  lockCurrentCaseOf,
  lockCurrentCases,
  lockFreeCases,
} from "./case/lock-cases.ts";
export { keepRareStatuses } from "./list/keep-rare-statuses.ts";
export { type AssignedWork, assignedWorkOf, type CaseCount, caseCountsOf } from "./list/assigned-work.ts";
export {
  type CountedDay,
  type DayCounts,
  dayCounts,
  type DispositionCount,
  type PromiseCounts,
  type UnassignedCases,
} from "./visit/day-counts.ts";
export type { LoanBalance, CaseKey, ImportedCase, LoanKey, LockedCase } from "./case/locked-case.ts";
export {
  type CasesAfter,
  type LenderCase,
  type LenderCaseFilter,
  listCases,
  type ListedCases,
} from "./list/list-cases.ts";
export { loanHistory, type LoanHistory } from "./visit/loan-history.ts";
export { maskedPhone } from "./list/masked-phone.ts";
export { metresBetween, type Near, type Point } from "./list/near.ts";
export { type OwnCase } from "./list/own-case.ts";
export {
  CASE_SORTS,
  type CaseFilter,
  type CaseListRequest,
  type CaseSort,
  casesOfFieldPartner,
  countCasesOfFieldPartner,
  lenderIdsOfFieldPartner,
  type ListedCase,
  type OwnCaseCount,
  ownCasesByIds,
} from "./list/own-cases.ts";
export { type BoundedCount, type ChosenFilters, type FilterCounts, filterCounts } from "./list/filter-counts.ts";
export { CASE_ORDERS, type CaseOrder, type SortedCases, sortedCases } from "./list/sorted-cases.ts";
export { AGES, outstandingByAge, type OutstandingOfAge } from "./list/outstanding-by-age.ts";
export { InvalidCursorError, type Page, type PageRequest } from "./list/page.ts";
export { planRow, similarLoanWarning } from "./import/plan-row.ts";
export type { AppliedOutcome, PlanFacts, PlannedEvent, RowPlan } from "./import/row-plan.ts";
export {
  type DuePromise,
  duePromises,
  type OpenPromise,
  openPromiseById,
  type PromiseOutcome,
  promiseOutcome,
  settlePromise,
} from "./visit/promise-outcome.ts";
export type { PromiseState, PromiseToPay } from "./visit/promise-to-pay.ts";
export type { CaseSearch } from "./list/case-search.ts";
export type { FoundCase } from "./list/found-rows.ts";
export { type FoundCases, searchCases } from "./list/search-cases.ts";
export {
  caseById,
  caseByLoan,
  caseOfFieldPartner,
  casesOfLoan,
  casesWithLoanNumber,
  caseTotals,
  type CaseTotals,
  type LoanState,
  statesOfLoans,
} from "./list/read-cases.ts";
export {
  countVisits,
  lastVisitBy,
  latestVisitsOf,
  openPromisesOf,
  promisesOfVisits,
  visitById,
  visitCursor,
  visitOfFieldPartner,
  visitsOfCase,
} from "./visit/read-visits.ts";
export {
  hasSeveralForms,
  isDotSegment,
  isNumeric,
  type SimilarLoan,
  similarLoans,
  storedLoanNumber,
  storedLoanNumbers,
  withoutLeadingZeros,
} from "./import/loan-number.ts";
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
} from "./import/row.ts";
export type { RowFault, RowFaultCode, RowWarning, RowWarningCode } from "./fields/row-fault.ts";
export { startVisit, type VisitStart, type VisitStartResult } from "./visit/start-visit.ts";
export {
  type CaseState,
  numberEvents,
  type TransitionRefusal,
  type TransitionRefusalCode,
  transition,
  type Trigger,
  type Verdict,
} from "./case/transitions.ts";
export { nearestName } from "./fields/unknown-fields.ts";
export { type Disposition, DISPOSITIONS } from "./case/disposition.ts";
export { cameLate, type Visit } from "./visit/visit.ts";
export { type BlockedReason, blockedReason } from "./list/workable.ts";
export {
  insertCases,
  writeBalances,
  writeCases,
  writeCaseStates,
  writeImportedCases,
  writeReversedCase,
} from "./case/write-cases.ts";
