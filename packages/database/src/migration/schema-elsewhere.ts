import type { PackageSchema } from "../package-schema.ts";
import { exportOf, renamerOf } from "../schema-name.ts";
import type { Reader } from "../transaction/host-client.ts";
import { digestOf, digestsOf } from "./migration-digest.ts";

/**
 * The database has the tables of a package in a schema of another name, and none in this schema. If the name was changed,
 * `migrate` would make new and empty tables. Nothing was migrated.
 *
 * @example
 * await migrate({ url, schemas: [inSchema(billingSchema, "acme")] }).catch((error: unknown) => {
 *   if (error instanceof SchemaElsewhereError) console.error(error.schema, error.existing.join(", "), error.message);
 *   throw error;
 * });
 */
export class SchemaElsewhereError extends Error {
  override readonly name = "SchemaElsewhereError";
  readonly code = "SCHEMA_ELSEWHERE";
  /** The name of the schema that was passed to `migrate`. */
  readonly schema: string;
  /** The names of the schemas that have tables of the same package. */
  readonly existing: readonly string[];

  constructor(schema: PackageSchema, existing: readonly string[]) {
    const { renamedFrom: own = schema.name, ...named } = schema;
    const called = (name: string) => exportOf({ ...named, name, ...(name !== own && { renamedFrom: own }) });
    const another = `inSchema(${called(own)}, "${schema.name}", { another: true })`;
    super(
      `The database has no tables in the schema ${schema.name}, but it has those of the same package in ${existing.join(" and ")}. If they are the tables of this host, keep their name: ${called(existing[0]!)}. If ${schema.name} shall have further tables, pass both schemas to migrate, or say so: ${another}.`,
    );
    this.schema = schema.name;
    this.existing = existing;
  }
}

/**
 * Refuses to make the tables of a package in a new schema, if the database has them in a schema that was not passed to the
 * same call of `migrate`. A host that wants both passes both, so a single new name is probably a changed one.
 * @throws SchemaElsewhereError
 *
 * @param applied the names of all applied migrations, such as `billing/0001`
 */
export async function refuseSchemasElsewhere(
  client: Reader,
  schemas: readonly PackageSchema[],
  applied: readonly string[],
): Promise<void> {
  const appliedIn = Map.groupBy(applied, (name) => name.slice(0, name.indexOf("/")));
  const passed = new Set(schemas.map(({ name }) => name));
  const others = [...appliedIn.keys()].filter((name) => !passed.has(name));
  const added = schemas.filter((one) => one.another !== true && one.migrations.length > 0 && !appliedIn.has(one.name));
  if (others.length === 0 || added.length === 0) return;
  const digests = await digestsOf(client, applied);
  for (const schema of added) {
    const existing = others.filter((name) => hasTablesOf(schema, name, appliedIn.get(name)!, digests));
    if (existing.length > 0) throw new SchemaElsewhereError(schema, existing);
  }
}

/**
 * Pure. Whether the migrations that were applied under another name are those of this package: by the digest of the first
 * one. A database that a version without digests migrated has none, so the names of several migrations decide.
 */
function hasTablesOf(
  { name, migrations }: PackageSchema,
  other: string,
  applied: readonly string[],
  digests: ReadonlyMap<string, string>,
): boolean {
  const [first] = migrations;
  const digest = digests.get(`${other}/${first!.name}`);
  if (digest !== undefined && first!.mayChange !== true) {
    const rename = renamerOf([{ name: other, renamedFrom: name }]);
    return digest === digestOf({ ...first!, statements: first!.statements.map(rename) });
  }
  const known = migrations.filter((step) => applied.includes(`${other}/${step.name}`));
  return known.length > 1 && known.length === applied.length;
}
