import type { QueryResult } from "pg";

/**
 * The version of pg-boss's tables that the installed pg-boss makes. It stands here so that a process can compare it with
 * the database without loading pg-boss, which takes longer than a whole command. A test compares it with pg-boss.
 */
export const PG_BOSS_SCHEMA = 43;

type ExecuteSql = (text: string, values?: unknown[]) => Promise<QueryResult>;

/**
 * Lets pg-boss start on tables of a later version, which a later version of this software has made. pg-boss itself
 * starts on its own version only. Its migrations add to the tables, as ours do.
 */
export function acceptingNewer(executeSql: ExecuteSql, jobsSchema: string): { executeSql: ExecuteSql } {
  /** The query with which pg-boss reads the version of its tables. */
  const versionQuery = `SELECT version from ${jobsSchema}.version`;
  return {
    async executeSql(text, values) {
      const result = await executeSql(text, values);
      if (text !== versionQuery) return result;
      const rows = result.rows.map(({ version }) => ({ version: Math.min(Number(version), PG_BOSS_SCHEMA) }));
      return { ...result, rows };
    },
  };
}
