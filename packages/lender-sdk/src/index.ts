export {
  checkTimestamp,
  EmptySecretError,
  HEADERS,
  type RequestToSign,
  type RequestToVerify,
  type Secret,
  sign,
  type SigningKey,
  signingKey,
  TIMESTAMP_TOLERANCE_MS,
  type TimestampVerdict,
  verify,
} from "@collections/signing";
export { type Amount, InvalidAmountError, majorUnits, minorUnits } from "./amount.ts";
export type { Answer, Health, Warning } from "./answer.ts";
export {
  CollectionsError,
  type FieldFault,
  NoAnswerError,
  type Problem,
  ProblemError,
  UnexpectedAnswerError,
} from "./call-error.ts";
export {
  type BorrowerAddress,
  type CaseFields,
  type CaseImport,
  type CaseRow,
  type FieldChange,
  ImportRejectedError,
  type OrderRow,
  type RowOutcome,
  type RowResult,
  type UpsertRow,
} from "./case-import.ts";
export type { BookedPayment, CaseSnapshot, CaseStatus, LoanState, PaymentReversal } from "./case-snapshot.ts";
export { type ClientOptions, CollectionsClient, type ImportOptions, type ReplayOptions } from "./client.ts";
export { expressHandler, type NodeRequest, type NodeResponse } from "./express-handler.ts";
export { fetchHandler } from "./fetch-handler.ts";
export type { CaseFilter, CasePage, ListedCase, ListedPayment, PaymentFilter, PaymentPage } from "./lists.ts";
export { MemoryStorage } from "./storage/memory-storage.ts";
export {
  type Booking,
  type CapturedPayment,
  type OriginalBooking,
  ReferenceConflictError,
} from "./payment-confirmation.ts";
export {
  type OriginalReversal,
  type ReturnedPayment,
  type Reversal,
  ReversalConflictError,
  type ReversalReason,
} from "./payment-reversal.ts";
export {
  type PooledSqlClient,
  PostgresStorage,
  postgresStorage,
  type SqlClient,
  type SqlPool,
  type SqlTransactions,
} from "./storage/postgres-storage.ts";
export {
  createReceiver,
  type LoanUpdate,
  type ReceivedOutcome,
  type ReceivedReport,
  type Receiver,
  type ReceiverAnswer,
  type ReceiverOptions,
} from "./receiver.ts";
export { ReceiverError } from "./receiver-error.ts";
export type { EventKey, LockedLoan, ReceiverStorage } from "./storage/receiver-storage.ts";
export type {
  DifferingPayment,
  MissingPayment,
  PaymentOfOtherTime,
  PaymentToReconcile,
  PaymentTotal,
  ReconciledBooking,
  Reconciliation,
  ReconciliationPage,
  ReconciliationRequest,
  ReconciliationRun,
  RejectedPayment,
  ReportedPayment,
  UnreportedPayment,
} from "./reconciliation.ts";
export type { RetryPauses } from "./retry-pause.ts";
export type { RequestToDebug, SignatureDiagnosis } from "./signature-diagnosis.ts";
export type { CallerOptions, CallOptions, Retry } from "./signed-call.ts";
export {
  type HeaderSource,
  type ReceivedRequest,
  type RequestVerdict,
  type Secrets,
  verifyRequest,
} from "./verify-request.ts";
export {
  type EventData,
  type EventKind,
  type FieldPartner,
  isEvent,
  type LoanEvent,
  MalformedEventError,
  readEvent,
  type PromiseToPay,
  type WebhookBody,
} from "./webhook-event.ts";
export type { MintLinkFault, MintLinkTest, MintToTest } from "./mint-link-test.ts";
export type {
  CountedReplay,
  Delivery,
  DeliveryAttempt,
  DeliveryDetails,
  DeliveryFault,
  DeliveryFilter,
  DeliveryPage,
  DeliveryState,
  Replay,
  ReplayedDelivery,
  ReplayFilter,
  StartedReplay,
  WebhookTest,
} from "./webhook-delivery.ts";
export type { PortalLink, PortalPerson } from "./portal-link.ts";
export type { PlayedScene, SandboxScene, SceneEvent } from "./sandbox-scene.ts";
