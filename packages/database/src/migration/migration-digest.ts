import { createHash } from "node:crypto";
import { escapeLiteral } from "pg";
import type { PackageMigration } from "../package-schema.ts";
import type { Reader } from "../transaction/host-client.ts";

/**
 * The table of the digests of applied migrations. A migration that a version without this table has applied has no row,
 * and its text is not compared.
 */
export const DIGEST_TABLE = "collections_migration_digest";

/**
 * The text of an applied migration differs from the text that was applied. Nothing was migrated: databases that already
 * have the migration would differ from databases that apply the new text.
 *
 * @example
 * await migrate({ url, schemas: [billingSchema] }).catch((error: unknown) => {
 *   if (error instanceof MigrationChangedError) console.error(error.changed.join(", "), error.message);
 *   throw error;
 * });
 */
export class MigrationChangedError extends Error {
  override readonly name = "MigrationChangedError";
  readonly code = "MIGRATION_CHANGED";
  /** The names of the migrations, such as `billing/0002-taxes`. */
  readonly changed: readonly string[];

  constructor(changed: readonly string[]) {
    const names = changed.map((name) => escapeLiteral(name)).join(", ");
    super(
      `The text of these migrations has changed since they were applied: ${changed.join(", ")}. Restore the text, and put the change into a new migration. If this database needs no change, run: delete from ${DIGEST_TABLE} where name in (${names})`,
    );
    this.changed = changed;
  }
}

/** Pure. Returns the SHA-256 of a migration's text in hex. White space counts as one blank, because formatters change it. */
export function digestOf({ statements }: PackageMigration): string {
  const text = statements.map((statement) => statement.trim().replaceAll(/\s+/g, " ")).join(";\n");
  return createHash("sha256").update(text).digest("hex");
}

/** Returns the statements that store a migration's digest. They run in the transaction of the migration. */
export function keepDigest(name: string, migration: PackageMigration): string[] {
  if (migration.mayChange === true) return [];
  return [
    `insert into ${DIGEST_TABLE} (name, digest) values (${escapeLiteral(name)}, '${digestOf(migration)}')
     on conflict (name) do update set digest = excluded.digest`,
  ];
}

/**
 * Creates DIGEST_TABLE if it does not exist. Looks for it first, because `create table if not exists` needs the right to
 * create tables even if the table exists. The caller has to hold the migration lock.
 */
export async function makeDigestTable(client: Reader): Promise<void> {
  const { rows } = await client.query<{ exists: boolean }>("select to_regclass($1) is not null as exists", [
    DIGEST_TABLE,
  ]);
  if (!rows[0]!.exists)
    await client.query(`create table ${DIGEST_TABLE} (name text primary key, digest text not null)`);
}

/**
 * Returns the names of the migrations whose text has changed since it was applied.
 *
 * @param migrations the migrations by their names, such as `billing/0001`
 */
export async function changedMigrations(
  client: Reader,
  migrations: ReadonlyMap<string, PackageMigration>,
): Promise<string[]> {
  const digests = await digestsOf(client, [...migrations.keys()]);
  return [...digests].flatMap(([name, digest]) => {
    const migration = migrations.get(name)!;
    return migration.mayChange === true || digestOf(migration) === digest ? [] : [name];
  });
}

/**
 * Returns the stored digests of applied migrations by their names, in the order of the names. Returns none if the role may not
 * read DIGEST_TABLE: an owner of an earlier version has not granted this right.
 */
export async function digestsOf(client: Reader, names: readonly string[]): Promise<Map<string, string>> {
  const { rows: rights } = await client.query<{ mayRead: boolean | null }>(
    `select has_table_privilege(to_regclass($1), 'select') as "mayRead"`,
    [DIGEST_TABLE],
  );
  if (rights[0]?.mayRead !== true) return new Map();
  const { rows } = await client.query<{ name: string; digest: string }>(
    `select name, digest from ${DIGEST_TABLE} where name = any ($1) order by name`,
    [names],
  );
  return new Map(rows.map(({ name, digest }) => [name, digest]));
}
