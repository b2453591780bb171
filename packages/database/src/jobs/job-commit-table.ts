/**
 * An empty table on the coordinator of a cluster. A transaction that deletes from it commits in two phases. So a job and
 * the lender's row that caused it are both committed, or neither is. Citus does not know the tables of pg-boss. Without
 * this table it would commit the lender's row separately, before the job.
 */
export const JOB_COMMIT_TABLE = "collections_job_commit";
