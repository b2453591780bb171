export { onBehalfOf } from "./transaction/connection-shares.ts";
export { actingAs, type Actor, currentActor } from "./transaction/actor.ts";
export { arrayText, type ArrayElement } from "./sql/array-text.ts";
export type {
  EntityManager,
  EntityManagerContext,
  EntityManagers,
  MakeEntityManagers,
  PoolConnection,
  SendQuery,
} from "./transaction/entity-manager.ts";
export { type BatchOptions, inBatches, OverloadedError } from "./batches.ts";
export { type ClusterHealth, clusterHealth, type PreparedTransaction } from "./cluster/cluster-health.ts";
export { connectionProblems, isPlainText } from "./connection/connection-settings.ts";
export { InvalidDatabaseOptionError } from "./check-options.ts";
export { createDatabase, type DatabaseOptions } from "./database.ts";
export { type HostClient, type HostPool, inTransaction } from "./transaction/in-transaction.ts";
export {
  type HostEntityManager,
  type Joined,
  joinTransaction,
  NoTransactionError,
  UnusableHostError,
} from "./transaction/join-transaction.ts";
export { oneAfterAnother } from "./transaction/one-after-another.ts";
export { databaseTime } from "./transaction/database-time.ts";
export { type ClusterUse } from "./cluster/cluster-faults.ts";
export {
  checkCluster,
  distribute,
  type DistributeOptions,
  type Distribution,
  NotDistributableError,
} from "./cluster/distribute.ts";
export { distributionFaults } from "./cluster/distribution-faults.ts";
export { deleteJobs } from "./jobs/delete-jobs.ts";
export { type FailedJobs, failedJobs } from "./jobs/failed-jobs.ts";
export { newestOfEachKind, type NewestOfEachKind } from "./sql/newest-of-each-kind.ts";
export { AFTER_ALL_IDS, BEFORE_ALL_IDS, firstIdAt, firstIdSince, newId, parsePublicId, publicId } from "./ids.ts";
export { inSchema, InvalidSchemaNameError } from "./schema-name.ts";
export { inTurns } from "./in-turns.ts";
export { every, type Routine, type RoutineLog } from "./jobs/every.ts";
export { enqueue, enqueueAll } from "./jobs/jobs.ts";
export { JobsElsewhereError } from "./jobs/jobs-schema.ts";
export {
  type Job,
  type JobOptions,
  type Jobs,
  queue,
  type Queue,
  type QueueOptions,
  type WorkedQueue,
  type WorkOptions,
} from "./queue.ts";
export { isDistributed, isOnCluster } from "./transaction/is-distributed.ts";
export {
  arraysParameter,
  type InsertedType,
  lenderInsert,
  type LenderRows,
  oneLenderInsert,
} from "./sql/lender-insert.ts";
export { forLenders, type LenderStatement, lenderStatement } from "./sql/lender-statement.ts";
export { joinedRows } from "./sql/joined-rows.ts";
export { insertFor } from "./transaction/insert-for.ts";
export { checkByFunction, type RowRule } from "./migration/check-by-function.ts";
export { foldedNameFunction } from "./migration/folded-name-function.ts";
export { type MigrationLockOptions } from "./migration/migration-lock.ts";
export { MissingRowsError } from "./sql/missing-rows.ts";
export { MigrationChangedError } from "./migration/migration-digest.ts";
export { SchemaElsewhereError } from "./migration/schema-elsewhere.ts";
export { migrate, type MigrateOptions, MigrationNeededError, RuntimeRoleMissingError } from "./migration/migrate.ts";
export { NotReadyError, type NotReadyCode, requireReady } from "./migration/require-ready.ts";
export { type Database, requireSchema, SchemaNotOpenedError } from "./transaction/open-database.ts";
export { isPooled, isUnmarkedPooler, SessionNeededError } from "./transaction/pooler.ts";
export {
  type AllLendersStatement,
  allLendersStatement,
  failWhileNodeAway,
  queryReachable,
} from "./transaction/reachable-lenders.ts";
export { visibleUntil } from "./transaction/visible-until.ts";
export { type Signals } from "./transaction/signals.ts";
export {
  CommitOutcomeUnknownError,
  isUnavailable,
  isUniqueViolation,
  NodeAwayError,
  sqlState,
} from "./sql/sql-state.ts";
export { adHocStatement, namedStatements, statement, type Statement } from "./sql/statement.ts";
export {
  type ColumnTypes,
  type ColumnValue,
  type ColumnValues,
  defineTable,
  type NamedTable,
  type Table,
  type TableColumn,
  tableWith,
} from "./sql/table.ts";
export {
  afterCommit,
  query,
  type QueryOptions,
  readSnapshot,
  send,
  type SendOptions,
  signal,
  transaction,
  type Tx,
} from "./transaction/transaction.ts";
export type {
  MigrateCall,
  PackageMigration,
  PackageSchema,
  ReadRows,
  SchemaEntity,
  UndistributedTable,
} from "./package-schema.ts";
