import { setTimeout as pause } from "node:timers/promises";
import type { Stage } from "./stage.ts";

const WAITS_FOR_MS = 2_000;

/**
 * Resolves at a moment when a server's commit is on its way to the disk. Killing the server then loses its answer.
 * After two seconds without a commit it resolves anyway and does not count.
 */
export async function amidCommit({ postgres, model }: Pick<Stage, "postgres" | "model">): Promise<void> {
  const { counts } = model;
  counts.killsTimed += 1;
  const until = performance.now() + WAITS_FOR_MS;
  while (performance.now() < until) {
    const { rows } = await postgres.pool.query(SELECT_COMMITTING);
    if (rows.length > 0) {
      counts.killsAmidCommit += 1;
      return;
    }
    await pause(1);
  }
}

const SELECT_COMMITTING = `
  select from pg_stat_activity
  where application_name = 'collections-server' and lower(wait_event) in ('walsync', 'walwrite') limit 1`;
