import { parseArgs } from "node:util";

/** The options of the audit's command line. */
export interface AuditRequest {
  readonly url: string;
  readonly json: boolean;
  readonly record: boolean;
}

/** The command line is invalid; the message says why. */
export class UsageError extends Error {
  override readonly name = "UsageError";
  readonly code = "USAGE";
}

export const USAGE = `Sends every SQL statement of the product once to a cluster of Citus, and counts the commands that the coordinator sends for it.

  pnpm citus:audit [--json] [--record] URL

URL is the URL of any database on the coordinator that has the extension citus and knows its workers. The audit makes a
scratch database on all nodes of that cluster, migrates and distributes it, writes made-up rows, sends each statement
in a transaction that it rolls back, and drops the database. It does not read or change the database of the URL. The role
has to be a superuser, and the nodes have to accept each other's connections without a password.

  --json      print one JSON document instead of text
  --record    write the verdicts to tooling/citus/verdicts.txt
  --help      print this text

Exit codes: 0 all statements are accepted, and each one of a hot path is a single command; 1 a statement is refused, or one
of a hot path is more than one command or uses COPY; 2 the command line is invalid, or the cluster cannot be used.

Example:
  pnpm citus:audit postgres://postgres@127.0.0.1:5432/postgres
`;

/** Reads the command line; "help" if it asks for help. Throws UsageError. */
export function readArguments(args: readonly string[]): AuditRequest | "help" {
  const { values, positionals } = parsed(args.filter((arg) => arg !== "--"));
  if (values.help === true) return "help";
  const [url, ...others] = positionals;
  if (url === undefined) throw new UsageError("The URL of a database on the coordinator is missing.");
  if (others.length > 0) throw new UsageError(`Expected one URL, got ${positionals.length}.`);
  if (!/^postgres(ql)?:\/\//.test(url) || !URL.canParse(url)) {
    throw new UsageError(
      "The URL has to begin with postgres://, for example postgres://postgres@127.0.0.1:5432/postgres.",
    );
  }
  return { url, json: values.json === true, record: values.record === true };
}

function parsed(args: string[]) {
  const options = { json: { type: "boolean" }, record: { type: "boolean" }, help: { type: "boolean" } } as const;
  try {
    return parseArgs({ args, options, allowPositionals: true });
  } catch (error) {
    throw new UsageError((error as Error).message, { cause: error });
  }
}
