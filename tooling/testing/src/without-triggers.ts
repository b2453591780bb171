import type { Pool, PoolClient } from "pg";

/**
 * Runs `work` in a transaction without triggers and foreign keys, to write rows that they would reject. On a cluster
 * this applies to all nodes, because Citus repeats SET LOCAL there.
 */
export async function withoutTriggers<T>(pool: Pool, work: (client: PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  try {
    await client.query("begin; set local citus.propagate_set_commands = 'local'");
    await client.query("set local session_replication_role = replica");
    const result = await work(client);
    await client.query("commit");
    return result;
  } finally {
    // After an error the transaction is still open. Closing the connection ends it.
    client.release(true);
  }
}
