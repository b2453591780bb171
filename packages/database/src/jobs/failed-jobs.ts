import type { EntityManager } from "../transaction/entity-manager.ts";
import { statement } from "../sql/statement.ts";
import { query } from "../transaction/transaction.ts";
import { inJobsSchema } from "./jobs-schema.ts";

/** Jobs of one queue that have failed for good, or that have failed several times and are retried. */
export interface FailedJobs {
  readonly queue: string;
  readonly state: "failed" | "retrying";
  readonly count: number;
  /** The number of attempts of the job with the most attempts. */
  readonly attempts: number;
  /** The last error of the newest of the counted jobs. */
  readonly lastError: string | null;
}

/**
 * A job that is still retried is counted if it has had at least this number of retries. Jobs with fewer retries are
 * left out, because one or two failures often go away by themselves.
 */
const SUSPICIOUS_RETRIES = 3;

/**
 * Counts the jobs that have failed for good, and the jobs that are retried after several failures. A job that has
 * failed for good is counted until its queue deletes it.
 *
 * @example
 * for (const { queue, state, count, lastError } of await failedJobs(em)) {
 *   console.error(`${count} jobs of ${queue} are ${state}: ${lastError ?? "unknown error"}`);
 * }
 */
export async function failedJobs(em: EntityManager): Promise<FailedJobs[]> {
  return query(em, inJobsSchema(em, selectFailed), [SUSPICIOUS_RETRIES], { timeoutMs: 35_000 });
}

const selectFailed = statement(
  "database.failed-jobs",
  `select name as queue, case state when 'failed' then 'failed' else 'retrying' end as state, count(*)::int as count,
     max(retry_count) + 1 as attempts,
     (array_agg(coalesce(output ->> 'message', output -> 'value' ->> 'message') order by created_on desc))[1] as "lastError"
   from pgboss.job
   where state = 'failed' or (state = 'retry' and retry_count >= $1)
   group by name, state
   order by name, state`,
);
