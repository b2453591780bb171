import { parseArgs } from "node:util";
import { missingForPgledger } from "./packages/pgledger-files.ts";
import type { Subject } from "./subject.ts";

/** The options of the command line. */
export interface Options {
  readonly subjects: readonly Subject[];
  readonly isQuick: boolean;
  readonly json: boolean;
  /**
   * Skip the subjects (the parts of the benchmark) that the last run has already measured. A quick run looks only at
   * the last quick run, and a full run only at the last full run.
   */
  readonly resume: boolean;
  /** Measure nothing, show the last results. */
  readonly showsOnly: boolean;
  /**
   * The URL of a second PostgreSQL server. The benchmark measures the server of `DATABASE_URL` and this server
   * alternately, one round each.
   */
  readonly beside: string | undefined;
  /** The file `pgledger.sql` of a checkout of pgledger, which the subject `packages` then measures too. */
  readonly pgledger: string | undefined;
}

/** The command line is invalid; the message says why. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

const OPTIONS = {
  quick: { type: "boolean" },
  json: { type: "boolean" },
  resume: { type: "boolean" },
  table: { type: "boolean" },
  beside: { type: "string" },
  pgledger: { type: "string" },
  help: { type: "boolean" },
} as const;

/** @throws UsageError */
export function readArguments(args: readonly string[], subjects: readonly Subject[]): Options | "help" {
  const { values, positionals } = parsed(args.filter((arg) => arg !== "--"));
  if (values.help) return "help";
  const unknown = positionals.find((name) => !subjects.some((subject) => subject.name === name));
  if (unknown !== undefined) throw new UsageError(`There is no subject named ${unknown}. See --help.`);
  const named = subjects.filter(({ name }) => positionals.includes(name));
  const measured = named.length > 0 ? named : subjects.filter(({ isLong }) => !isLong || values.table);
  if (values.pgledger !== undefined) checkPgledger(values.pgledger, measured);
  return {
    subjects: measured,
    isQuick: values.quick ?? false,
    json: values.json ?? false,
    resume: values.resume ?? false,
    showsOnly: values.table ?? false,
    beside: values.beside,
    pgledger: values.pgledger,
  };
}

function checkPgledger(file: string, measured: readonly Subject[]): void {
  if (!measured.some(({ name }) => name === "packages")) {
    throw new UsageError("--pgledger is for the subject packages, which is not among the named subjects.");
  }
  const missing = missingForPgledger(file);
  if (missing === undefined) return;
  throw new UsageError(
    `--pgledger: ${missing}; expected the file pgledger.sql in a checkout of https://github.com/pgr0ss/pgledger.`,
  );
}

function parsed(args: string[]) {
  try {
    return parseArgs({ options: OPTIONS, args, allowPositionals: true });
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

export function usage(subjects: readonly Subject[]): string {
  const width = Math.max(...subjects.map(({ name }) => name.length));
  const rows = subjects.map(({ name, about }) => `  ${name.padEnd(width)}  ${about}`);
  return `Compares the service with the fastest possible program and with the usual solution for the same work, on a PostgreSQL

  pnpm bench [subject …] [--quick] [--resume] [--json]

${rows.join("\n")}

Without a subject: all except growth.

  --quick    a first look: fewer and shorter rounds; all subjects in five minutes
  --resume   skip what the last quick run (with --quick) or full run has measured
  --table    measure nothing, show the last results
  --json     print one JSON document with everything instead of the tables

With DATABASE_URL, confirmations and webhooks are measured on that PostgreSQL or Citus cluster, but not compared with one
SQL statement per payment, a plain handler or pg-boss. Temporary databases are used and dropped at the end. The user needs CREATEDB. For a cluster, name a database on the coordinator
that has the extension citus, and a superuser whose password each node accepts.

  --beside <url>   measure a second server in turn with the first, and print the ratio of the first to the second

  --pgledger <file>   let packages also measure pgledger: its file pgledger.sql, in a checkout of
                      https://github.com/pgr0ss/pgledger

The results of each finished subject are kept in .data/bench/, as JSON. Progress goes to stderr. Exit codes: 0 everything
was measured, even if it misses an aim; 1 something could not be measured; 2 the command line is invalid.

Example:
  pnpm bench confirmations processes --quick
  DATABASE_URL=postgres://… pnpm bench confirmations webhooks --beside postgres://…
`;
}
