/**
 * Returns the SQL condition of the visits that have not ended, or of which the service did not receive the end within the hour
 * after the start. A query must repeat the condition so that PostgreSQL uses the index.
 */
export function isLong(row: "" | "p."): string {
  const [started, ended] = [`${row}start_received_at`, `${row}completion_received_at`];
  return `(${ended} is null or ${ended} < ${started} or ${ended} - ${started} >= interval '1 hour')`;
}

/**
 * Replaces the indexes on the times of visits by an index that contains all columns that a day's figures count, and a small
 * index of the visits that a day's figures do not find by the time of their end. So each visit is read once, in the index alone.
 *
 * PostgreSQL must read the visits themselves in pages that were changed since the last VACUUM. So the table is vacuumed
 * after a fiftieth of it has changed, and not only after a fifth.
 */
export const countedVisitsMigration: readonly string[] = [
  `create index if not exists visit_ended on cases.visit (lender_id, completion_received_at)
     include (start_received_at, field_partner_id, disposition) where completion_received_at is not null`,
  `create index if not exists visit_long on cases.visit (lender_id, start_received_at)
     include (completion_received_at, field_partner_id) where ${isLong("")}`,
  "drop index if exists cases.visit_start_received",
  "drop index if exists cases.visit_completion_received",
  `alter table cases.visit set (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.02)`,
];
