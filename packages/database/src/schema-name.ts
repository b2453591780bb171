import type { PackageSchema } from "./package-schema.ts";

/**
 * The name that was passed to `inSchema` cannot be the name of a schema.
 *
 * @example
 * try {
 *   inSchema(billingSchema, "Acme Billing");
 * } catch (error) {
 *   if (error instanceof InvalidSchemaNameError) console.error(error.message);
 * }
 */
export class InvalidSchemaNameError extends Error {
  override readonly name = "InvalidSchemaNameError";
  readonly code = "INVALID_SCHEMA_NAME";

  constructor(name: unknown) {
    super(
      `${JSON.stringify(name)} cannot be the name of a schema; expected 1 to 63 characters of a-z, 0-9 and _, not beginning with a digit or pg_.`,
    );
  }
}

/**
 * Returns a package's schema under another name in PostgreSQL. Use it if the host already has a schema with the
 * package's name. Pass the result to `migrate` and to `createDatabase`. The name cannot be changed later: `migrate`
 * refuses a database that has the tables under another name. With `another`, it makes new tables beside them.
 * @throws InvalidSchemaNameError
 *
 * @example
 * const schemas = [inSchema(billingSchema, "acme_billing")];
 * await migrate({ url, schemas });
 * const database = await createDatabase({ url, schemas });
 */
export function inSchema(
  schema: PackageSchema,
  name: string,
  { another = false }: { readonly another?: boolean } = {},
): PackageSchema {
  if (typeof name !== "string" || !/^(?!pg_)[a-z_][a-z0-9_]{0,62}$/.test(name)) throw new InvalidSchemaNameError(name);
  const rename = renamerOf([{ name, renamedFrom: schema.renamedFrom ?? schema.name }]);
  const { check } = schema;
  const renamed = (texts: readonly string[] | undefined) => (texts ?? []).map(rename);
  return {
    ...schema,
    name,
    another: another || schema.another === true,
    renamedFrom: schema.renamedFrom ?? schema.name,
    migrations: schema.migrations.map((step) => ({ ...step, statements: renamed(step.statements) })),
    appendOnly: renamed(schema.appendOnly),
    readOnly: renamed(schema.readOnly),
    undistributed: (schema.undistributed ?? []).map((one) => ({ ...one, table: rename(one.table) })),
    beforeDistribution: renamed(schema.beforeDistribution),
    ...(check && { check: (read, call) => check((text) => read(rename(text)), call) }),
  };
}

/**
 * Returns a function that replaces the original names of renamed schemas in an SQL text. A schema is named before a dot
 * (`billing.invoice`, `"billing"."invoice"`), and after CREATE SCHEMA. Values are parameters, so the text contains
 * none.
 */
export function renamerOf(schemas: readonly Pick<PackageSchema, "name" | "renamedFrom">[]): (text: string) => string {
  const names = new Map(
    schemas.flatMap(({ name, renamedFrom }) => (renamedFrom === undefined ? [] : [[renamedFrom, name]])),
  );
  if (names.size === 0) return (text) => text;
  const original = [...names.keys()].join("|");
  const places = new RegExp(
    `(?<![\\w.])(?:(?<quote>"?)(?<named>${original})\\k<quote>(?=\\.)|(?<=create schema )(?<made>${original})\\b)`,
    "g",
  );
  const known = new Map<string, string>();
  return (text) => {
    const done = known.get(text);
    if (done !== undefined) return done;
    const renamed = text.replaceAll(places, (...match) => {
      const { quote = "", named, made } = match.at(-1) as Record<string, string | undefined>;
      return quote + names.get(named ?? made ?? "")! + quote;
    });
    if (known.size < MAX_KNOWN) known.set(text, renamed);
    return renamed;
  };
}

/**
 * Returns the TypeScript expression for a package's schema, to show in an error: `rateLimitsSchema` for the schema
 * `rate_limits`.
 */
export function exportOf({
  name,
  renamedFrom,
  exportedAs,
}: Pick<PackageSchema, "name" | "renamedFrom" | "exportedAs">): string {
  if (exportedAs !== undefined) return exportedAs;
  const own = (renamedFrom ?? name).replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
  return renamedFrom === undefined ? `${own}Schema` : `inSchema(${own}Schema, "${name}")`;
}

/**
 * The maximum number of renamed texts to cache. The SQL texts of MikroORM are many, because they differ by the number
 * of values.
 */
const MAX_KNOWN = 5_000;
