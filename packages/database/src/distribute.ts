import { type Client, escapeLiteral } from "pg";
import { distributionFaults } from "./distribution-faults.ts";
import type { PackageSchema } from "./migrate.ts";
import { type MigrationLockOptions, withMigrationLock } from "./migration-lock.ts";

/** As for `migrate`, and never at the same time as one. */
export interface DistributeOptions extends MigrationLockOptions {
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

type Placement = "lender" | "reference" | "local";

interface Table {
  readonly name: string;
  readonly placement: Placement;
}

/**
 * Declares to Citus where the rows of each table live: those of lenders on the node of their lender, together; what is
 * small and read everywhere on each node; the rest stays on the coordinator. It may be repeated at any time, as after
 * a release with new tables, and does what is left to do. Without Citus it does nothing.
 * @throws NotDistributableError, SessionNeededError
 *
 * @example
 * const { citus, statements } = await distribute({ url, schemas: [billingSchema], dryRun: true });
 * console.log(citus === undefined ? "Citus is not installed" : `Citus ${citus}`);
 * for (const text of statements) console.log(text);
 */
export async function distribute(options: DistributeOptions): Promise<Distribution> {
  const { schemas, dryRun = false } = options;
  return await withMigrationLock("Distributing tables", options, async (client) => {
    const citus = await citusVersion(client);
    if (citus === undefined && !dryRun) return { citus, statements: [] };
    refuseFaults(await distributionFaults(client, schemas));
    const tables = await tablesInOrder(client, schemas);
    const placed = citus === undefined ? [] : await placedTables(client);
    refuseFaults(misplaced(tables, placed));
    const statements = statementsFor(tables, placed);
    if (!dryRun) {
      const before = schemas.flatMap(({ beforeDistribution }) => beforeDistribution ?? []);
      for (const text of [...before, ...statements]) await client.query(text);
    }
    return { citus, statements };
  });
}

function refuseFaults(faults: readonly string[]): void {
  if (faults.length > 0) throw new NotDistributableError(faults);
}

async function citusVersion(client: Client): Promise<string | undefined> {
  const { rows } = await client.query<{ version: string }>(
    "select extversion as version from pg_extension where extname = 'citus'",
  );
  return rows[0]?.version;
}

/** What Citus knows already. */
async function placedTables(client: Client): Promise<Table[]> {
  const { rows } = await client.query<Table>(
    `select format('%s.%s', n.nspname, c.relname) as name,
       case when p.partmethod = 'h' then 'lender' when p.repmodel = 't' then 'reference' else 'local' end as placement
     from pg_dist_partition p join pg_class c on c.oid = p.logicalrelid join pg_namespace n on n.oid = c.relnamespace`,
  );
  return rows;
}

/**
 * Copied tables first, then each table behind those that its foreign keys lead to: Citus takes them in no other order.
 * It would not end where keys lead in a circle, which `distributionFaults` finds before.
 */
async function tablesInOrder(client: Client, schemas: readonly PackageSchema[]): Promise<Table[]> {
  const declared = schemas.flatMap(({ undistributed }) => undistributed ?? []);
  const { rows } = await client.query<Table & { depth: number }>(
    `with recursive owned as (
       select c.oid, format('%s.%s', n.nspname, c.relname) as name
       from pg_class c join pg_namespace n on n.oid = c.relnamespace
       where c.relkind in ('r', 'p') and not c.relispartition and n.nspname = any ($1::text[])),
     deep (oid, depth) as (
       select oid, 0 from owned
       union
       select k.conrelid, deep.depth + 1
       from deep join pg_constraint k on k.confrelid = deep.oid join owned child on child.oid = k.conrelid
       where k.contype = 'f' and k.conrelid <> k.confrelid and k.conparentid = 0)
     select name, max(depth) as depth, coalesce(d.placement, 'lender') as placement
     from deep join owned using (oid) left join unnest($2::text[], $3::text[]) as d (name, placement) using (name)
     group by name, d.placement order by coalesce(d.placement, 'lender') <> 'reference', max(depth), name`,
    [schemas.map(({ name }) => name), declared.map(({ table }) => table), declared.map(({ as }) => as)],
  );
  return rows;
}

/**
 * Pure. What Citus has only written down as a local table, because a key leads from it to a copied one, is where it was,
 * and can still be distributed.
 */
function misplaced(tables: readonly Table[], placed: readonly Table[]): string[] {
  return tables.flatMap(({ name, placement }) => {
    const known = placed.find((table) => table.name === name)?.placement ?? "local";
    if (known === "local" || known === placement) return [];
    return [
      `${name} is declared as ${placement}, and Citus has it as ${known}: take that back with undistribute_table`,
    ];
  });
}

/** Pure. The first of the lenders' tables makes the group of shards that all others join. */
function statementsFor(tables: readonly Table[], placed: readonly Table[]): string[] {
  const anchor =
    placed.find((table) => isLenders(table) && tables.some(({ name }) => name === table.name)) ??
    tables.find(isLenders);
  const missing = tables.filter((table) => table.placement !== "local" && !isAmong(placed, table));
  const calls = missing.map(({ name, placement }) => {
    if (placement === "reference") return `select create_reference_table(${escapeLiteral(name)})`;
    const together = name === anchor?.name ? "none" : anchor!.name;
    return `select create_distributed_table(${escapeLiteral(name)}, 'lender_id', colocate_with => ${escapeLiteral(together)})`;
  });
  return calls.length === 0 ? [] : [ALLOW_TRIGGERS, ...calls];
}

function isAmong(placed: readonly Table[], { name, placement }: Table): boolean {
  return placed.some((table) => table.name === name && table.placement === placement);
}

function isLenders({ placement }: Table): boolean {
  return placement === "lender";
}

/** Citus calls every trigger unsafe. Ours look at their own row, and write none but of the same lender. */
const ALLOW_TRIGGERS = "set citus.enable_unsafe_triggers = on";
