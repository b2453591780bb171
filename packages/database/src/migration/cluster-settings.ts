/**
 * Settings of a session that changes tables on a Citus cluster. Citus calls every trigger unsafe. Our triggers are
 * safe: they read only their own row and write only rows of the same lender. A migration changes several tables in one
 * transaction. Citus rejects a further change after a change that ran on all shards in parallel, so the shards are
 * changed one after the other. A server without Citus ignores the settings.
 */
export const CLUSTER_SETTINGS = [
  "set citus.enable_unsafe_triggers = on",
  "set citus.multi_shard_modify_mode = 'sequential'",
] as const;
