import { readConnection } from "./connection/connection-settings.ts";

/**
 * An option of `createDatabase` or `migrate` is missing or invalid. Nothing was connected or changed. The message never
 * contains a URL, because it may contain a password.
 *
 * @example
 * await createDatabase({ url: process.env["DATABASE_URL"]!, schemas: [billingSchema] }).catch((error: unknown) => {
 *   if (error instanceof InvalidDatabaseOptionError) console.error(error.option, error.message);
 *   throw error;
 * });
 */
export class InvalidDatabaseOptionError extends Error {
  override readonly name = "InvalidDatabaseOptionError";
  readonly code = "INVALID_DATABASE_OPTION";
  readonly option: string;

  constructor(caller: string, option: string, problem: string) {
    super(`${caller}: the option ${option} ${problem}`);
    this.option = option;
  }
}

/** The default of `poolMax`. */
export const DEFAULT_POOL_MAX = 10;

const URLS = ["url", "directUrl", "runtimeUrl"] as const;
const TIMEOUTS = ["connectionTimeoutMs", "answerTimeoutMs"] as const;
const EXAMPLE_URL = "expected a URL such as postgres://app@localhost:5432/billing.";

/** The options that `createDatabase` and `migrate` share. The caller may be JavaScript, so their types are unknown. */
type SharedOptions = Readonly<
  Partial<
    Record<
      (typeof URLS)[number] | "schemas" | "pool" | "poolMax" | (typeof TIMEOUTS)[number] | "shares" | "jobsSchema",
      unknown
    >
  >
>;

/** Checks the options that were passed to `createDatabase` or `migrate`. `caller` is the name of that function. */
export function checkOptions(caller: string, options: object): void {
  const given: SharedOptions = options ?? {};
  const fail = (option: string, problem: string): never => {
    throw new InvalidDatabaseOptionError(caller, option, problem);
  };
  if (given.url === undefined || given.url === "") {
    fail(
      "url",
      `is ${given.url === "" ? "empty" : "missing"}; ${EXAMPLE_URL} If it comes from an environment variable, set the variable.`,
    );
  }
  for (const option of URLS) {
    const url = given[option];
    if (url === undefined) continue;
    const read = typeof url === "string" ? readConnection(url) : undefined;
    const [problem] = read ? read.problems : [`is not a PostgreSQL URL; ${EXAMPLE_URL}`];
    if (problem !== undefined) fail(option, /^[a-z]/.test(problem) ? problem : `cannot be used: ${problem}`);
  }
  if (!Array.isArray(given.schemas)) {
    fail(
      "schemas",
      "is not an array; expected the schemas of the packages in use, such as [chart.schema, webhooksSchema].",
    );
  }
  const [wrong] = (given.schemas as unknown[]).flatMap((schema, index) => (isSchema(schema) ? [] : [index]));
  if (wrong !== undefined) {
    const remedy = hasSchema((given.schemas as unknown[])[wrong])
      ? "pass the property schema of this object, such as chart.schema"
      : 'import it from the entry point "/schema" of its package, or pass chart.schema for a chart of the ledger';
    fail("schemas", `has no schema at index ${wrong}; ${remedy}.`);
  }
  const names = (given.schemas as { readonly name: string }[]).map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) < index);
  if (twice !== undefined) {
    fail(
      "schemas",
      `has two schemas named ${twice}; give one of them another name, such as defineChart({ …, schema }).`,
    );
  }
  if (given.jobsSchema !== undefined && !isJobsSchema(given.jobsSchema, names)) {
    fail(
      "jobsSchema",
      `is ${JSON.stringify(given.jobsSchema)}; expected a name that no schema of the option schemas has, with 1 to 50 characters of a-z, 0-9 and _, not beginning with a digit or pg_.`,
    );
  }
  if (given.pool !== undefined && !hasMethods(given.pool, ["connect", "query", "on"])) {
    fail("pool", "is not a Pool of pg; expected new Pool({ connectionString: url }).");
  }
  if (given.poolMax !== undefined && !(Number.isSafeInteger(given.poolMax) && (given.poolMax as number) > 0)) {
    fail("poolMax", `is ${JSON.stringify(given.poolMax)}; expected a whole number from 1.`);
  }
  for (const option of TIMEOUTS) {
    const timeoutMs = given[option];
    if (timeoutMs !== undefined && !(Number.isSafeInteger(timeoutMs) && (timeoutMs as number) > 0)) {
      fail(option, `is ${JSON.stringify(timeoutMs)}; expected a whole number of milliseconds from 1.`);
    }
  }
  if (given.shares !== undefined && !areShares(given.shares, given.poolMax as number | undefined)) {
    fail(
      "shares",
      `is ${JSON.stringify(given.shares)}; expected numbers of connections from 1 by name, together fewer than poolMax.`,
    );
  }
}

/** pg-boss makes longer names from the name of its schema, so it allows at most 50 bytes. */
function isJobsSchema(value: unknown, names: readonly string[]): boolean {
  return typeof value === "string" && /^(?!pg_)[a-z_][a-z0-9_]{0,49}$/.test(value) && !names.includes(value);
}

function areShares(value: unknown, poolMax = DEFAULT_POOL_MAX): boolean {
  if (typeof value !== "object" || value === null) return false;
  const counts = Object.values(value);
  const areWhole = counts.every((count) => Number.isSafeInteger(count) && count > 0);
  return areWhole && counts.reduce((sum, count) => sum + count, 0) < poolMax;
}

function isSchema(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  const { name, migrations } = value as Record<string, unknown>;
  return typeof name === "string" && Array.isArray(migrations);
}

function hasSchema(value: unknown): boolean {
  return typeof value === "object" && value !== null && "schema" in value && isSchema(value.schema);
}

function hasMethods(value: unknown, names: readonly string[]): boolean {
  return (
    typeof value === "object" && value !== null && names.every((name) => typeof Reflect.get(value, name) === "function")
  );
}
