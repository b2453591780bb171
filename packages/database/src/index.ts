export { arrayText, type ArrayElement } from "./array-text.ts";
export type { EntityManager } from "@mikro-orm/postgresql";
export { type BatchOptions, inBatches, OverloadedError } from "./batches.ts";
export { type ClusterHealth, clusterHealth, type PreparedTransaction } from "./cluster-health.ts";
export { createDatabase, type DatabaseOptions } from "./database.ts";
export { type Joined, joinTransaction, NoTransactionError } from "./join-transaction.ts";
export { oneAfterAnother } from "./one-after-another.ts";
export { databaseTime } from "./database-time.ts";
export { type ClusterUse } from "./cluster-faults.ts";
export {
  checkCluster,
  distribute,
  type DistributeOptions,
  type Distribution,
  NotDistributableError,
} from "./distribute.ts";
export { distributionFaults } from "./distribution-faults.ts";
export { type FailedJobs, failedJobs } from "./failed-jobs.ts";
export { BEFORE_ALL_IDS, newId, parsePublicId, publicId } from "./ids.ts";
export { inTurns } from "./in-turns.ts";
export {
  enqueue,
  enqueueAll,
  type Job,
  type Jobs,
  type JobOptions,
  queue,
  type Queue,
  type QueueOptions,
  type WorkOptions,
} from "./jobs.ts";
export { isDistributed, isOnCluster } from "./is-distributed.ts";
export {
  arraysParameter,
  insertFor,
  type InsertedType,
  lenderInsert,
  type LenderRows,
  oneLenderInsert,
} from "./lender-insert.ts";
export { forLenders, type LenderStatement, lenderStatement } from "./lender-statement.ts";
export { type MigrationLockOptions } from "./migration-lock.ts";
export { MissingRowsError } from "./missing-rows.ts";
export {
  migrate,
  type MigrateOptions,
  MigrationNeededError,
  type PackageMigration,
  type PackageSchema,
  type ReadRows,
  type UndistributedTable,
} from "./migrate.ts";
export { type Database } from "./open-database.ts";
export { isPooled, isUnmarkedPooler, SessionNeededError } from "./pooler.ts";
export { type AllLendersStatement, allLendersStatement, queryReachable } from "./reachable-lenders.ts";
export { type Signals } from "./signals.ts";
export { CommitOutcomeUnknownError, isUnavailable, isUniqueViolation, sqlState } from "./sql-state.ts";
export { namedStatements, statement, type Statement } from "./statement.ts";
export {
  afterCommit,
  query,
  type QueryOptions,
  readSnapshot,
  send,
  signal,
  transaction,
  type Tx,
} from "./transaction.ts";
