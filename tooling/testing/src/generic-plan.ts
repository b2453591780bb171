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
    await client.query(`set plan_cache_mode = force_generic_plan; prepare trial as ${text}`);
    const { rows } = await client.query<{ "QUERY PLAN": string }>(`explain (${options}) execute trial (${values})`);
    return rows.map((row) => row["QUERY PLAN"]).join("\n");
  } finally {
    // The setting and the prepared statement end with the connection.
    client.release(true);
  }
}
