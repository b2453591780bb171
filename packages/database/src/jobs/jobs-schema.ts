import type { EntityManager } from "../transaction/entity-manager.ts";
import type { Statement } from "../sql/statement.ts";
import type { Reader } from "../transaction/host-client.ts";
import { databaseOf } from "../transaction/open-database.ts";
import type { Queue } from "../queue.ts";

/**
 * The schema of pg-boss's tables without the option `jobsSchema`. It is not pg-boss's own default, because a host may use
 * pg-boss itself, in another version: the two would migrate each other's tables, and delete each other's jobs.
 */
export const DEFAULT_JOBS_SCHEMA = "collections_jobs";

/** The default schema of pg-boss itself. Versions without the option `jobsSchema` used this schema. */
const PGBOSS = "pgboss";

/**
 * The schema `pgboss` has queues of these packages, and no `jobsSchema` was passed. A version without this option has
 * installed the queues there, and jobs may be waiting in them. Nothing was changed.
 *
 * @example
 * await migrate({ url, schemas: [billingSchema], jobs: true }).catch((error: unknown) => {
 *   if (error instanceof JobsElsewhereError) console.error(error.queues.join(", "), error.message);
 *   throw error;
 * });
 */
export class JobsElsewhereError extends Error {
  override readonly name = "JobsElsewhereError";
  readonly code = "JOBS_ELSEWHERE";
  /** The names of the queues in the schema `pgboss`. */
  readonly queues: readonly string[];

  constructor(queues: readonly string[]) {
    super(
      `The schema pgboss already has queues with the names of these packages: ${queues.join(", ")}. If an earlier version installed them, keep them and their jobs: pass jobsSchema: "pgboss" to migrate and to createDatabase. If they belong to something else, or all of their jobs are done, pass jobsSchema: "${DEFAULT_JOBS_SCHEMA}".`,
    );
    this.queues = queues;
  }
}

/**
 * Returns those of the queues that the schema `pgboss` has. Returns none if the role may not read that schema, because
 * then it belongs to something else.
 */
export async function queuesInPgboss(client: Reader, queues: readonly Queue[]): Promise<string[]> {
  const { rows: readable } = await client.query(
    `select from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where n.nspname = $1 and c.relname = 'queue'
       and has_schema_privilege(n.oid, 'usage') and has_table_privilege(c.oid, 'select')`,
    [PGBOSS],
  );
  if (readable.length === 0) return [];
  const { rows } = await client.query<{ name: string }>(
    `select q.name from ${PGBOSS}.queue q where q.name = any ($1) order by q.name`,
    [queues.map(({ name }) => name)],
  );
  return rows.map(({ name }) => name);
}

/**
 * Returns a statement for the schema that the jobs of this database have. The registered text names `pgboss`, because
 * the collections service uses this schema, and the audits of its SQL read the registered texts.
 */
export function inJobsSchema(em: EntityManager, statement: Statement): Statement {
  const { jobsSchema } = databaseOf(em);
  if (jobsSchema === PGBOSS) return statement;
  return { ...statement, text: statement.text.replaceAll(`${PGBOSS}.`, `${jobsSchema}.`) };
}

/** Returns the name of a channel of signals about jobs. Two schemas of jobs in one database do not share channels. */
export function jobsChannel(name: string, jobsSchema: string): string {
  // Processes of earlier versions use the name alone.
  return jobsSchema === PGBOSS ? name : `${name} ${jobsSchema}`;
}
