/**
 * Settings of a session that changes tables on a cluster of Citus. Citus calls every trigger unsafe; ours read their own
 * row, and write rows of the same lender only. A migration changes several tables in one transaction, and Citus refuses
 * that after a change that ran on all shards at once. A server without Citus keeps these settings and ignores them.
 */
export const CLUSTER_SETTINGS = [
  "set citus.enable_unsafe_triggers = on",
  "set citus.multi_shard_modify_mode = 'sequential'",
] as const;
