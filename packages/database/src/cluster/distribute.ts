import { type Client, escapeLiteral } from "pg";
import { citusVersion, clusterFaults, type ClusterUse } from "./cluster-faults.ts";
import { CLUSTER_SETTINGS } from "../migration/cluster-settings.ts";
import { distributionFaults } from "./distribution-faults.ts";
import { JOB_COMMIT_TABLE } from "../jobs/job-commit-table.ts";
import { DEFAULT_JOBS_SCHEMA } from "../jobs/jobs-schema.ts";
import type { PackageSchema, ReadRows } from "../package-schema.ts";
import { type MigrationLockOptions, withMigrationLock } from "../migration/migration-lock.ts";

/** Options of `distribute`, which takes the same lock as `migrate`, so that the two never run at the same time. */
export interface DistributeOptions extends MigrationLockOptions, ClusterUse {
  schemas: readonly PackageSchema[];
  /** The schema of pg-boss's tables, as it was passed to `migrate`. Default: `collections_jobs`. */
  jobsSchema?: string;
  /** Returns the statements without sending them, even if Citus is not installed. */
  dryRun?: boolean;
}

/** The result of `distribute`: the statements that it sent, or that it would send without `dryRun`. */
export interface Distribution {
  /** The version of Citus in this database, or undefined if Citus is not installed. */
  readonly citus: string | undefined;
  /** The statements in the order of sending. Empty if every table is already where it belongs. */
  readonly statements: readonly string[];
}

/**
 * The tables or the cluster do not allow distribution by lender. `faults` has one sentence for each reason.
 *
 * @example
 * await distribute({ url, schemas: [billingSchema] }).catch((error: unknown) => {
 *   if (error instanceof NotDistributableError) for (const fault of error.faults) console.error(fault);
 *   throw error;
 * });
 */
export class NotDistributableError extends Error {
  override readonly name = "NotDistributableError";
  readonly code = "NOT_DISTRIBUTABLE";
  readonly faults: readonly string[];

  constructor(faults: readonly string[]) {
    super(`This database cannot be distributed by lender:\n${faults.map((fault) => `  ${fault}`).join("\n")}`);
    this.faults = faults;
  }
}

/** `metadata`: on the coordinator, as with `local`, and also listed in Citus's metadata. */
type Placement = "lender" | "reference" | "local" | "metadata";

interface Table {
  readonly name: string;
  readonly placement: Placement;
}

/**
 * Distributes the tables over the nodes of a Citus cluster. The rows of a lender in all tables are placed on one node. A
 * reference table has a copy on each node. Local tables stay on the coordinator. A local table that is written together
 * with lenders' rows is added to Citus's metadata, so that a transaction over both commits in two phases. Functions are
 * created on every node.
 *
 * Run it again after each release with new tables: it sends only the statements that are still missing. Without Citus it
 * does nothing.
 * @throws NotDistributableError, SessionNeededError, before anything is changed
 *
 * @example
 * const { citus, statements } = await distribute({ url, schemas: [billingSchema], dryRun: true });
 * console.log(citus === undefined ? "Citus is not installed" : `Citus ${citus}`);
 * for (const text of statements) console.log(text);
 */
export async function distribute(options: DistributeOptions): Promise<Distribution> {
  const { schemas, jobsSchema = DEFAULT_JOBS_SCHEMA, dryRun = false } = options;
  return await withMigrationLock("Distributing tables", options, async (client) => {
    const read: ReadRows = async <Row>(text: string) => (await client.query(text)).rows as Row[];
    const citus = await citusVersion(read);
    if (citus === undefined && !dryRun) return { citus, statements: [] };
    await checkCluster(read, options);
    throwFaults(await distributionFaults(client, schemas));
    const tables = await tablesInOrder(client, schemas);
    const placed = citus === undefined ? [] : await placedTables(client);
    throwFaults([...misplaced(tables, placed), ...placedJobs(placed, jobsSchema)]);
    const functions = await functionsToSend(client, schemas, citus !== undefined);
    const statements = withSettings([...functions, ...statementsFor(tables, placed)]);
    if (!dryRun) {
      const before = schemas.flatMap(({ beforeDistribution }) => beforeDistribution ?? []);
      for (const text of [...before, ...statements]) await client.query(text);
    }
    return { citus, statements };
  });
}

/**
 * Checks that a cluster of Citus is ready for `distribute`. Use it as the `check` of `migrate`, so that a cluster that is
 * not ready is not migrated either. Does nothing if Citus is not installed.
 * @throws NotDistributableError
 *
 * @example
 * await migrate({ url, schemas: [billingSchema], check: (read) => checkCluster(read, {}) });
 * await distribute({ url, schemas: [billingSchema] });
 */
export async function checkCluster(read: ReadRows, use: ClusterUse): Promise<void> {
  throwFaults(await clusterFaults(read, use));
}

function throwFaults(faults: readonly string[]): void {
  if (faults.length > 0) throw new NotDistributableError(faults);
}

/**
 * Returns the tables in Citus's metadata. A table that Citus added itself because of a foreign key counts as `local`.
 */
async function placedTables(client: Client): Promise<Table[]> {
  const { rows } = await client.query<Table>(
    `select format('%s.%s', n.nspname, c.relname) as name,
       case when p.partmethod = 'h' then 'lender' when p.repmodel = 't' then 'reference'
         when p.autoconverted then 'local' else 'metadata' end as placement
     from pg_dist_partition p join pg_class c on c.oid = p.logicalrelid join pg_namespace n on n.oid = c.relnamespace`,
  );
  return rows;
}

/**
 * Orders the tables as Citus requires: reference tables first, and each table after the tables that its foreign keys
 * refer to. The query would not end for a cycle of foreign keys, so `distributionFaults` has to run first.
 */
async function tablesInOrder(client: Client, schemas: readonly PackageSchema[]): Promise<Table[]> {
  const declared = schemas.flatMap(({ undistributed }) => undistributed ?? []);
  const { rows } = await client.query<Table & { depth: number }>(
    `with recursive owned as (
       select c.oid, format('%s.%s', n.nspname, c.relname) as name
       from pg_class c join pg_namespace n on n.oid = c.relnamespace
       where c.relkind in ('r', 'p') and not c.relispartition
         and (n.nspname = any ($1::text[]) or c.oid = to_regclass($4))),
     deep (oid, depth) as (
       select oid, 0 from owned
       union
       select k.conrelid, deep.depth + 1
       from deep join pg_constraint k on k.confrelid = deep.oid join owned child on child.oid = k.conrelid
       where k.contype = 'f' and k.conrelid <> k.confrelid and k.conparentid = 0),
     placed as (
       select name, max(depth) as depth,
         max(case when oid = to_regclass($4) then 'metadata' else coalesce(d.placement, 'lender') end) as placement
       from deep join owned using (oid) left join unnest($2::text[], $3::text[]) as d (name, placement) using (name)
       group by name)
     select * from placed order by array_position(array['reference', 'lender', 'metadata', 'local'], placement), depth, name`,
    [
      schemas.map(({ name }) => name),
      declared.map(({ table }) => table),
      declared.map(({ as, commitsWithLenders = false }) => (commitsWithLenders ? "metadata" : as)),
      JOB_COMMIT_TABLE,
    ],
  );
  return rows;
}

/**
 * Returns the statements that create on every node the functions that Citus has not distributed yet, oldest function
 * first.
 */
async function functionsToSend(
  client: Client,
  schemas: readonly PackageSchema[],
  hasCitus: boolean,
): Promise<string[]> {
  const known = "select objid from pg_dist_object where classid = 'pg_proc'::regclass";
  const { rows } = await client.query<{ name: string }>(
    `select p.oid::regprocedure::text as name from pg_proc p join pg_namespace n on n.oid = p.pronamespace
     where n.nspname = any ($1) and p.prokind in ('f', 'p') ${hasCitus ? `and p.oid not in (${known})` : ""}
     order by p.oid`,
    [schemas.map(({ name }) => name)],
  );
  return rows.map(({ name }) => `select create_distributed_function(${escapeLiteral(name)})`);
}

/**
 * Pure. Lists tables that Citus has placed differently from their declaration. Tables on the coordinator are left out,
 * because they can still be distributed.
 */
function misplaced(tables: readonly Table[], placed: readonly Table[]): string[] {
  return tables.flatMap(({ name, placement }) => {
    const known = placed.find((table) => table.name === name)?.placement ?? "local";
    if (known === "local" || known === "metadata" || known === placement) return [];
    const declared = placement === "metadata" ? "local" : placement;
    return [`${name} is declared as ${declared}, but Citus has it as ${known}: call undistribute_table to undo this`];
  });
}

/** Pure. Lists tables of pg-boss in Citus's metadata: Citus rejects the locks and partitions of pg-boss on such tables. */
function placedJobs(placed: readonly Table[], jobsSchema: string): string[] {
  return placed
    .filter(({ name }) => name.startsWith(`${jobsSchema}.`))
    .map(
      ({ name }) =>
        `${name} belongs to pg-boss and must not be in Citus's metadata: run select undistribute_table('${name}')`,
    );
}

/**
 * Pure. Returns the statements that place the missing tables. The first distributed table creates the colocation group,
 * and all later tables join that group.
 */
function statementsFor(tables: readonly Table[], placed: readonly Table[]): string[] {
  const anchor =
    placed.find((table) => isLenders(table) && tables.some(({ name }) => name === table.name)) ??
    tables.find(isLenders);
  const missing = tables.filter((table) => table.placement !== "local" && !isAmong(placed, table));
  return missing.map(({ name, placement }) => {
    const table = escapeLiteral(name);
    if (placement === "reference") return `select create_reference_table(${table})`;
    if (placement === "metadata") return `select citus_add_local_table_to_metadata(${table})`;
    const together = name === anchor?.name ? "none" : anchor!.name;
    return `select create_distributed_table(${table}, 'lender_id', colocate_with => ${escapeLiteral(together)})`;
  });
}

function withSettings(calls: readonly string[]): string[] {
  return calls.length === 0 ? [] : [...CLUSTER_SETTINGS, ...calls];
}

function isAmong(placed: readonly Table[], { name, placement }: Table): boolean {
  return placed.some((table) => table.name === name && table.placement === placement);
}

function isLenders({ placement }: Table): boolean {
  return placement === "lender";
}
