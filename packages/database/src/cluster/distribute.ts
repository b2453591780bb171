import { type Client, escapeLiteral } from "pg";
import { citusVersion, clusterFaults, type ClusterUse } from "./cluster-faults.ts";
import { CLUSTER_SETTINGS } from "../migration/cluster-settings.ts";
import { distributionFaults } from "./distribution-faults.ts";
import { JOB_COMMIT_TABLE } from "../jobs/jobs.ts";
import type { PackageSchema, ReadRows } from "../migration/migrate.ts";
import { type MigrationLockOptions, withMigrationLock } from "../migration/migration-lock.ts";

/** As for `migrate`, and never at the same time as one. */
export interface DistributeOptions extends MigrationLockOptions, ClusterUse {
  schemas: readonly PackageSchema[];
  /** Tells what would be sent, also where Citus is not installed, and sends nothing. */
  dryRun?: boolean;
}

/** What Citus was told, or would be. */
export interface Distribution {
  /** The version of Citus in this database; undefined where it is not installed. */
  readonly citus: string | undefined;
  /** What was sent, or would be, in this order; none when every table is where it belongs. */
  readonly statements: readonly string[];
}

/**
 * The tables are not made for it; `faults` has a sentence for each reason.
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

/** `metadata`: on the coordinator like `local`, and known to Citus. */
type Placement = "lender" | "reference" | "local" | "metadata";

interface Table {
  readonly name: string;
  readonly placement: Placement;
}

/**
 * Declares to Citus where the rows of each table live: lenders' rows on the node of their lender, all tables together;
 * small tables that are read everywhere on each node; the rest on the coordinator. Local tables that are written together
 * with lenders' rows get into Citus's metadata, so that one transaction over both commits in two phases. Functions are
 * made on every node. It may be repeated at any time, as after a release with new tables, and does what is left to do.
 * Without Citus it does nothing.
 * @throws NotDistributableError, SessionNeededError, before anything is changed
 *
 * @example
 * const { citus, statements } = await distribute({ url, schemas: [billingSchema], dryRun: true });
 * console.log(citus === undefined ? "Citus is not installed" : `Citus ${citus}`);
 * for (const text of statements) console.log(text);
 */
export async function distribute(options: DistributeOptions): Promise<Distribution> {
  const { schemas, dryRun = false } = options;
  return await withMigrationLock("Distributing tables", options, async (client) => {
    const read: ReadRows = async <Row>(text: string) => (await client.query(text)).rows as Row[];
    const citus = await citusVersion(read);
    if (citus === undefined && !dryRun) return { citus, statements: [] };
    await checkCluster(read, options);
    refuseFaults(await distributionFaults(client, schemas));
    const tables = await tablesInOrder(client, schemas);
    const placed = citus === undefined ? [] : await placedTables(client);
    refuseFaults([...misplaced(tables, placed), ...placedJobs(placed)]);
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
 * Refuses a cluster of Citus that is not ready for `distribute`. Use it as the `check` of `migrate`, so that nothing is
 * migrated either. Passes where Citus is not installed.
 * @throws NotDistributableError
 *
 * @example
 * await migrate({ url, schemas: [billingSchema], check: (read) => checkCluster(read, {}) });
 * await distribute({ url, schemas: [billingSchema] });
 */
export async function checkCluster(read: ReadRows, use: ClusterUse): Promise<void> {
  refuseFaults(await clusterFaults(read, use));
}

function refuseFaults(faults: readonly string[]): void {
  if (faults.length > 0) throw new NotDistributableError(faults);
}

/** What Citus knows already. A table that Citus added for the sake of a foreign key counts as unknown. */
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
 * Reference tables first, then each table behind those that its foreign keys lead to: Citus takes them in no other order.
 * It would not end where keys lead in a circle, which `distributionFaults` finds before.
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

/** Functions of the schemas that are not known to be on every node, in the order in which they were made. */
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

/** Pure. A table that Citus has on the coordinator alone can still be distributed. */
function misplaced(tables: readonly Table[], placed: readonly Table[]): string[] {
  return tables.flatMap(({ name, placement }) => {
    const known = placed.find((table) => table.name === name)?.placement ?? "local";
    if (known === "local" || known === "metadata" || known === placement) return [];
    const declared = placement === "metadata" ? "local" : placement;
    return [`${name} is declared as ${declared}, and Citus has it as ${known}: take that back with undistribute_table`];
  });
}

/** Pure. pg-boss locks rows and makes partitions in ways that Citus refuses for tables it knows. */
function placedJobs(placed: readonly Table[]): string[] {
  return placed
    .filter(({ name }) => name.startsWith("pgboss."))
    .map(
      ({ name }) =>
        `${name} belongs to pg-boss and must not be in Citus's metadata: run select undistribute_table('${name}')`,
    );
}

/** Pure. The first of the lenders' tables makes the group of shards that all others join. */
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
