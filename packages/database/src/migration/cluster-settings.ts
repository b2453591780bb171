/**
 * Settings of a session that changes tables on a cluster of Citus. Citus calls every trigger unsafe. Ours are safe: they
 * read only their own row and write only rows of the same lender. A migration changes several tables in one transaction,
 * and Citus rejects that after a change that ran on all shards in parallel. A server without Citus ignores the settings.
 */
export const CLUSTER_SETTINGS = [
  "set citus.enable_unsafe_triggers = on",
  "set citus.multi_shard_modify_mode = 'sequential'",
] as const;
