import type { EntityManager } from "@mikro-orm/postgresql";
import { statement } from "../sql/statement.ts";
import { query } from "../transaction/transaction.ts";

/** Jobs of one queue that go wrong: given up for good, or tried again and again. */
export interface FailedJobs {
  readonly queue: string;
  readonly state: "failed" | "retrying";
  readonly count: number;
  /** Attempts of the job that was tried most often. */
  readonly attempts: number;
  /** What the latest of them said. */
  readonly lastError: string | null;
}

/** One failure may be a hiccup, a second one too. */
const SUSPICIOUS_RETRIES = 3;

/**
 * Jobs that failed for good, as long as their queue keeps them, and those that have failed several times so far.
 *
 * @example
 * for (const { queue, state, count, lastError } of await failedJobs(em)) {
 *   console.error(`${count} jobs of ${queue} are ${state}: ${lastError ?? "no reason was told"}`);
 * }
 */
export async function failedJobs(em: EntityManager): Promise<FailedJobs[]> {
  return query(em, selectFailed, [SUSPICIOUS_RETRIES], { timeoutMs: 35_000 });
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
