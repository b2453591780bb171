import type { EntityManager } from "../transaction/entity-manager.ts";
import type { Queue } from "../queue.ts";
import { statement } from "../sql/statement.ts";
import { query } from "../transaction/transaction.ts";
import { inJobsSchema } from "./jobs-schema.ts";

/**
 * Deletes the jobs of a queue whose data contains these fields with these values, in every state, also those that are finished
 * and not yet removed. A job that runs at the moment is not stopped, and is not retried if it fails. Reads all jobs of the
 * queue, because their data have no index. Returns the number of deleted jobs, 0 if pg-boss is not installed.
 *
 * @example
 * const deleted = await deleteJobs(em, reminders, { invoiceId });
 */
export async function deleteJobs<Data extends object>(
  em: EntityManager,
  { name }: Queue<Data>,
  fields: Partial<Data>,
): Promise<number> {
  if (Object.keys(fields).length === 0) {
    throw new TypeError(
      `deleteJobs(em, ${name}, {}) has no field, and would delete all jobs; pass at least one field.`,
    );
  }
  const [jobs] = await query<{ areInstalled: boolean }>(em, inJobsSchema(em, selectInstalled), []);
  if (jobs?.areInstalled !== true) return 0;
  return (await query(em, inJobsSchema(em, deleteWith), [name, JSON.stringify(fields)])).length;
}

const selectInstalled = statement(
  "database.jobs-installed",
  `select to_regclass('pgboss.job') is not null as "areInstalled"`,
);

const deleteWith = statement(
  "database.delete-jobs",
  `delete from pgboss.job where name = $1 and data @> $2::jsonb returning id`,
);
