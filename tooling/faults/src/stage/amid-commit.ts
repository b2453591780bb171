import { setTimeout as pause } from "node:timers/promises";
import type { Pool } from "pg";
import type { Model } from "../traffic/model.ts";

const WAITS_FOR_MS = 2_000;

/** Matches a session of one of our servers that is writing its COMMIT to the disk. */
const COMMITS_TO_DISK = "application_name = 'collections-server' and lower(wait_event) in ('walsync', 'walwrite')";
/**
 * Matches a COMMIT of one of our servers at the coordinator while it waits for a worker node, or a COMMIT of Citus at a
 * worker node.
 */
const COMMITS_ON_NODE =
  "state = 'active' and query ilike 'commit%' and application_name similar to 'collections-server|citus_internal%'";

/**
 * Resolves at a moment when a server's commit is on its way to the disk, so that the caller can kill the server before
 * it answers. Resolves after two seconds even without a commit; the kill then does not count as a kill during a commit.
 */
export function amidCommit({ postgres, model }: { postgres: { pool: Pool }; model: Model }): Promise<void> {
  return untilCommitting(postgres.pool, COMMITS_TO_DISK, model);
}

/** Like `amidCommit`, for a node of a cluster. `pool` is connected to that node. */
export function amidCommitOnNode(pool: Pool, model: Model): Promise<void> {
  return untilCommitting(pool, COMMITS_ON_NODE, model);
}

async function untilCommitting(pool: Pool, condition: string, { counts }: Model): Promise<void> {
  counts.killsTimed += 1;
  const query = `select from pg_stat_activity where pid <> pg_backend_pid() and (${condition}) limit 1`;
  const until = performance.now() + WAITS_FOR_MS;
  while (performance.now() < until) {
    const { rows } = await pool.query(query);
    if (rows.length > 0) {
      counts.killsAmidCommit += 1;
      return;
    }
    await pause(1);
  }
}
