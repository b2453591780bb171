import { parseArgs } from "node:util";
import type { Subject } from "./subject.ts";

/** What somebody asks for. */
export interface Wish {
  readonly subjects: readonly Subject[];
  readonly isQuick: boolean;
  readonly json: boolean;
  /** Leave out what the last run of this form has measured already. */
  readonly resume: boolean;
  /** Only show what is measured. */
  readonly showsOnly: boolean;
  /** A second server to measure in turn with that of `DATABASE_URL`. */
  readonly beside: string | undefined;
}

/** The command line asks for something that there is not; the message says what there is. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

const OPTIONS = {
  quick: { type: "boolean" },
  json: { type: "boolean" },
  resume: { type: "boolean" },
  table: { type: "boolean" },
  beside: { type: "string" },
  help: { type: "boolean" },
} as const;

/** @throws UsageError */
export function readArguments(args: readonly string[], subjects: readonly Subject[]): Wish | "help" {
  const { values, positionals } = parsed(args.filter((arg) => arg !== "--"));
  if (values.help) return "help";
  const unknown = positionals.find((name) => !subjects.some((subject) => subject.name === name));
  if (unknown !== undefined) throw new UsageError(`There is nothing named ${unknown} to measure.`);
  const named = subjects.filter(({ name }) => positionals.includes(name));
  return {
    subjects: named.length > 0 ? named : subjects.filter(({ isLong }) => !isLong || values.table),
    isQuick: values.quick ?? false,
    json: values.json ?? false,
    resume: values.resume ?? false,
    showsOnly: values.table ?? false,
    beside: values.beside,
  };
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
  return `Measures the service beside its limits and rivals, on a PostgreSQL of its own, and prints one table.

  pnpm bench [subject …] [--quick] [--resume] [--json]

${rows.join("\n")}

Without a subject: all but growth.

  --quick    less of everything, for a first look; all subjects in five minutes
  --resume   leave out what was measured by the last run of this form
  --table    measure nothing, show what is measured
  --json     print one document with everything instead of the tables

With DATABASE_URL, confirmations and webhooks are measured on that PostgreSQL or cluster of Citus, without their rivals, in
databases of their own that are dropped at the end. Its user needs CREATEDB. For a cluster, name a database on the coordinator
that has the extension citus, and a superuser whose password each node accepts.

  --beside <url>   measure a second server in turn with it, and print the ratio of the first to the second

Each subject that is done is kept in .data/bench/, as JSON. Progress goes to stderr. The exit code is 0 when all was
measured, also where it falls short of an aim, 1 when something could not be, 2 for a wish that makes no sense.

Example:
  pnpm bench confirmations processes --quick
  DATABASE_URL=postgres://… pnpm bench confirmations webhooks --beside postgres://…
`;
}
