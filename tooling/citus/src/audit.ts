import { Client, type DatabaseError } from "pg";
import type { Statement } from "@collections/database";
import { type CommandCount, countOf, logCommands, recordCommands } from "./commands.ts";
import { sampleValue } from "./sample-values.ts";

/** What became of one statement on the cluster. */
export interface Outcome extends CommandCount {
  readonly name: string;
  /** Why the cluster refused the statement, or why it stopped on the made-up values. */
  readonly failure?: { readonly sqlState: string; readonly message: string };
  /** True if the cluster refused the statement itself, whatever its values. */
  readonly isRefused: boolean;
}

/** Data and constraint errors, and errors that our functions raise: the made-up values are at fault, not the statement. */
const FAULT_OF_THE_VALUES = /^(22|23|P0001$)/;

/**
 * Runs each statement once with made-up values, each in a transaction that is rolled back, and counts the commands that
 * it becomes.
 */
export async function runEach(url: string, statements: readonly Statement[]): Promise<Outcome[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  const recorded = recordCommands(client);
  try {
    await logCommands(client);
    const outcomes: Outcome[] = [];
    for (const statement of statements) {
      const values = await sampleValuesOf(client, statement);
      recorded.take();
      const failure = "failure" in values ? values.failure : await run(client, statement, values.values);
      const isRefused = failure !== undefined && !FAULT_OF_THE_VALUES.test(failure.sqlState);
      outcomes.push({ name: statement.name, isRefused, ...(failure && { failure }), ...countOf(recorded.take()) });
    }
    return outcomes;
  } finally {
    recorded.stop();
    await client.end();
  }
}

async function run(client: Client, { text }: Statement, values: readonly string[]): Promise<Outcome["failure"]> {
  await client.query("begin");
  try {
    await client.query({ text, values: [...values] });
    return undefined;
  } catch (error) {
    return failureOf(error);
  } finally {
    await client.query("rollback");
  }
}

/** Asks PostgreSQL for the types of the parameters. */
async function sampleValuesOf(
  client: Client,
  { text }: Statement,
): Promise<{ readonly values: string[] } | { readonly failure: NonNullable<Outcome["failure"]> }> {
  try {
    await client.query(`prepare audited as ${text}`);
  } catch (error) {
    return { failure: failureOf(error) };
  }
  const { rows } = await client.query<{ types: string[] }>(
    "select parameter_types::text[] as types from pg_prepared_statements where name = 'audited'",
  );
  await client.query("deallocate audited");
  return { values: rows[0]!.types.map(sampleValue) };
}

function failureOf(error: unknown): NonNullable<Outcome["failure"]> {
  const { code = "", message } = error as DatabaseError;
  return { sqlState: code, message };
}
