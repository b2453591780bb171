import type { Pool } from "pg";

/**
 * Returns the generic plan of a prepared statement, which does not depend on the parameters. A pooled connection that
 * prepared the statement early uses this plan, so tests require that the plan uses an index.
 *
 * @param values the parameters as SQL literals, separated by commas
 * @param options options of EXPLAIN, such as `analyze, timing off`
 */
export async function genericPlan(pool: Pool, text: string, values: string, options = "costs on"): Promise<string> {
  const client = await pool.connect();
  try {
    // In one transaction, because a pooler may give each transaction another session.
    await client.query(`begin; set local plan_cache_mode = force_generic_plan; prepare trial as ${text}`);
    const { rows } = await client.query<{ "QUERY PLAN": string }>(`explain (${options}) execute trial (${values})`);
    await client.query("deallocate trial; rollback");
    return rows.map((row) => row["QUERY PLAN"]).join("\n");
  } finally {
    client.release(true);
  }
}
