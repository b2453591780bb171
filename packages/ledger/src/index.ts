export { ChartChangedError } from "./chart/chart-migrations.ts";
export { LedgerElsewhereError } from "./chart/other-charts.ts";
export type {
  AccountId,
  AccountRules,
  AccountStatement,
  AccountStatementEntry,
  AccountStatementQuery,
  Balance,
  BalanceWithHolds,
  Chart,
  ChartAccount,
  ChartDefinition,
  ChartHold,
  ChartProblemCode,
  ChartPosting,
  ChartTransfer,
  NormalSide,
  PendingHold,
  PostingKey,
  TransferMetadata,
  TransfersQuery,
} from "./chart/chart.ts";
export { InvalidChartError } from "./chart/chart-rules.ts";
export { defineChart } from "./chart/define-chart.ts";
export { InvalidPostingError, type PostingFault } from "./chart/posting-input.ts";
export { defineLedger, type Ledger, type LedgerDefinition } from "./define-ledger.ts";
export { type LedgerDuties, type LedgerDutyOptions, startLedger } from "./start-ledger.ts";
export { accountTable, type AccountTable } from "./tables/account-table.ts";
export { appendOnlyTable, type AppendOnlyTable } from "./tables/append-only-table.ts";
export type { AnchorHeadsOptions, AnchorState } from "./verification/anchor-heads.ts";
export {
  type AnchorKeys,
  type AnchorPublicKey,
  type AnchorPublicKeys,
  createAnchorKeys,
  InvalidAnchorKeyError,
  readAnchorPublicKey,
} from "./verification/anchor-keys.ts";
export type { ChainExtension, ChainHead, ExtendOptions } from "./verification/chain.ts";
export type {
  AnchorLine,
  AnchorProblem,
  AnchorProblemCode,
  AnchorVerification,
  ProvenBook,
  VerifyAnchorsOptions,
} from "./verification/verify-anchors.ts";
export { ledgerCheck, type LedgerCheck, type ProblemCode } from "./verification/verify-checks.ts";
export {
  type LedgerCounts,
  type LedgerProblem,
  type LedgerVerification,
  liftVerificationLimits,
  type TrialBalance,
  type VerifyOptions,
  type VerifyProgress,
} from "./verification/verify.ts";
