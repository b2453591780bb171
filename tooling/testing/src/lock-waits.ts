import type { Client, Pool } from "pg";
import { inject } from "vitest";
import { onNode } from "./cluster.ts";

const WAITING =
  "select count(*)::int as count from pg_stat_activity where datname = $1 and wait_event_type = 'Lock' and query like $2";

/**
 * Counts the sessions of the database of `connection` that wait for a lock and whose query matches `pattern`. On a
 * cluster this includes sessions of every node.
 */
export async function sessionsWaitingForLocks(connection: Client | Pool, pattern = "%"): Promise<number> {
  const { rows: names } = await connection.query<{ name: string }>("select current_database() as name");
  const database = names[0]!.name;
  const nodes = [inject("adminUrl"), ...inject("workerUrls")];
  const counts = await Promise.all(
    nodes.map((node) =>
      onNode(node, async (client) => {
        const { rows } = await client.query<{ count: number }>(WAITING, [database, pattern]);
        return rows[0]!.count;
      }),
    ),
  );
  return counts.reduce((sum, count) => sum + count, 0);
}
