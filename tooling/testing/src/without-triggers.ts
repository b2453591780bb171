import type { Pool, PoolClient } from "pg";

/**
 * Runs `work` in a transaction in which no trigger runs and no foreign key is checked, as a superuser could: for rows that
 * our guards refuse. On a cluster that holds at all nodes: Citus repeats SET LOCAL there.
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
    // After an error the transaction is still open: it ends with its connection.
    client.release(true);
  }
}
