import type { Statement } from "@collections/database";
import { Client, type DatabaseError, escapeLiteral } from "pg";
import { type CommandCount, countOf, LOG_COMMANDS, recordCommands } from "./commands.ts";
import { sampleParameter } from "./sample-values.ts";

/** The result of one statement on the cluster. */
export interface Outcome extends CommandCount {
  readonly name: string;
  /** The error, if the cluster refused the statement or rejected its made-up values. */
  readonly failure?: Failure;
  /** True if the cluster refused the statement itself, whatever its values. */
  readonly isRefused: boolean;
  /**
   * True if Citus would execute an INSERT … SELECT slowly: it would first fetch the rows to the coordinator and then
   * distribute them by COPY.
   */
  readonly isPulled: boolean;
}

/** An error of PostgreSQL. */
export interface Failure {
  readonly sqlState: string;
  readonly message: string;
}

/** A made-up value for a parameter of a statement, so that the audit can execute the statement. */
interface Sample {
  readonly type: string;
  readonly value: string;
}

/**
 * SQLSTATE classes of errors that the made-up values cause, and not the statement: data errors, constraint errors, and
 * errors raised by our functions.
 */
const FAULT_OF_THE_VALUES = /^(22|23|P0)/;
/**
 * Matches the message of a constraint violation that COPY reports. Its SQLSTATE does not identify it, because COPY uses
 * a code of its own.
 */
const VIOLATION_BY_COPY = /^(new row for relation|null value in column|duplicate key value)/;

/**
 * Runs each statement once with made-up values, in a transaction that is rolled back, and counts the commands that the
 * coordinator sends for it.
 */
export async function runEach(url: string, statements: readonly Statement[]): Promise<Outcome[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  const recorded = recordCommands(client);
  try {
    await client.query(LOG_COMMANDS);
    const outcomes: Outcome[] = [];
    for (const statement of statements) {
      const samples = await samplesFor(client, statement);
      recorded.take();
      const failure = "sqlState" in samples ? samples : await run(client, statement.text, samples);
      const counts = countOf(recorded.take());
      const isPulled = !("sqlState" in samples) && (await pullsRows(client, statement.text, samples));
      outcomes.push({
        name: statement.name,
        isRefused: failure !== undefined && isRefusal(failure),
        isPulled,
        ...(failure && { failure }),
        ...counts,
      });
    }
    return outcomes;
  } finally {
    await client.end();
  }
}

function isRefusal({ sqlState, message }: Failure): boolean {
  return !FAULT_OF_THE_VALUES.test(sqlState) && !VIOLATION_BY_COPY.test(message);
}

async function run(client: Client, text: string, samples: readonly Sample[]): Promise<Failure | undefined> {
  await client.query("begin");
  try {
    await client.query({ text, values: samples.map(({ value }) => value) });
    return undefined;
  } catch (error) {
    return failureOf(error);
  } finally {
    await client.query("rollback");
  }
}

/**
 * Returns whether an INSERT … SELECT brings its rows to the coordinator first. Reads the plan, because such a statement
 * sends no COPY if it finds no row. Writes the values into the text, because Citus cannot explain the statement with
 * parameters.
 */
async function pullsRows(client: Client, text: string, samples: readonly Sample[]): Promise<boolean> {
  if (!/insert into[^]*select/i.test(text)) return false;
  const written = text.replaceAll(/\$(\d+)/g, (_match, number: string) => {
    const { value, type } = samples[Number(number) - 1]!;
    return `${escapeLiteral(value)}::${type}`;
  });
  await client.query("begin");
  try {
    const { rows } = await client.query<Record<string, string>>(`explain (costs off) ${written}`);
    return rows.some((row) => Object.values(row)[0]?.includes("INSERT/SELECT method: pull to coordinator"));
  } catch {
    // The cluster refuses this statement, so it cannot plan it either. `runEach` reports the refusal.
    return false;
  } finally {
    await client.query("rollback");
  }
}

/**
 * Makes up a value for each parameter of a statement. Prepares the statement, because PostgreSQL then reports the types
 * of the parameters. A text without parameters is not prepared, because it may not be a query.
 */
async function samplesFor(client: Client, { name, text }: Statement): Promise<Sample[] | Failure> {
  if (!/\$\d/.test(text)) return [];
  try {
    await client.query(`prepare audited as ${text}`);
  } catch (error) {
    return failureOf(error);
  }
  const { rows } = await client.query<{ types: string[] }>(
    "select parameter_types::text[] as types from pg_prepared_statements where name = 'audited'",
  );
  await client.query("deallocate audited");
  return rows[0]!.types.map((type, index) => ({ type, value: sampleParameter(name, index + 1, type) }));
}

function failureOf(error: unknown): Failure {
  const { code = "", message } = error as DatabaseError;
  return { sqlState: code, message };
}
