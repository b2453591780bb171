import { parseArgs } from "node:util";
import type { Fault } from "./fault.ts";

/** The options of the command line. */
export interface Options {
  readonly faults: readonly Fault[];
  readonly seed: number;
  readonly isQuick: boolean;
  /**
   * How often each fault is caused in each part (leg) of the run. If it is undefined, each fault uses its own number.
   */
  readonly rounds: number | undefined;
  /** The number of faults that run in parallel. Each has its own processes and its own PostgreSQL. */
  readonly atATime: number;
  /** Whether the service reaches PostgreSQL through a pgbouncer. */
  readonly usesPooler: boolean;
  readonly resumes: boolean;
  readonly json: boolean;
}

/** The command line is invalid; the message says why. */
export class UsageError extends Error {
  readonly code = "USAGE";

  constructor(message: string) {
    super(message);
    this.name = "UsageError";
  }
}

const QUICK_AT_A_TIME = 3;
const SEEDS = 1_000_000;
const POOLER = "pgbouncer";

const options = {
  seed: { type: "string" },
  rounds: { type: "string" },
  "at-a-time": { type: "string" },
  pooler: { type: "string" },
  quick: { type: "boolean" },
  resume: { type: "boolean" },
  json: { type: "boolean" },
  help: { type: "boolean" },
} as const;

/** Parses the command line; "help" for --help. Throws UsageError. */
export function readArguments(args: readonly string[], faults: readonly Fault[], now: number): Options | "help" {
  const { values, positionals } = parsed(args.filter((arg) => arg !== "--"));
  if (values.help === true) return "help";
  const isQuick = values.quick === true;
  const usesPooler = readPooler(values.pooler);
  return {
    faults: selected(faults, positionals, usesPooler),
    seed: count("seed", values.seed, 0) ?? now % SEEDS,
    isQuick,
    rounds: count("rounds", values.rounds, 1),
    atATime: count("at-a-time", values["at-a-time"], 1) ?? (isQuick ? QUICK_AT_A_TIME : 1),
    usesPooler,
    resumes: values.resume === true,
    json: values.json === true,
  };
}

/** Returns the named faults, or by default all that this run can cause. */
function selected(faults: readonly Fault[], names: readonly string[], usesPooler: boolean): Fault[] {
  const excluded = usesPooler ? "impossible" : "needed";
  if (names.length === 0) {
    return faults.filter(({ isByNameOnly, pooler }) => isByNameOnly !== true && pooler !== excluded);
  }
  for (const name of names) {
    const fault = faults.find((known) => known.name === name);
    if (fault === undefined) throw new UsageError(`There is no fault named ${name}.`);
    if (fault.pooler !== excluded) continue;
    throw new UsageError(usesPooler ? `${name} cannot run with --pooler.` : `${name} needs --pooler ${POOLER}.`);
  }
  return faults.filter(({ name }) => names.includes(name));
}

function readPooler(text: string | undefined): boolean {
  if (text !== undefined && text !== POOLER) throw new UsageError(`--pooler must be "${POOLER}", got "${text}".`);
  return text !== undefined;
}

export function usage(faults: readonly Fault[]): string {
  const width = Math.max(...faults.map(({ name }) => name.length));
  const lines = (some: readonly Fault[]) =>
    some.map(({ name, sentence }) => `  ${name.padEnd(width)}  ${sentence}`).join("\n");
  return `Breaks the service on purpose, on a PostgreSQL of its own, and checks its invariants afterwards.

  pnpm faults                every fault that needs no cluster, in the long form: hours
  pnpm faults --quick        every fault that needs no cluster, in the short form: at most five minutes
  pnpm faults <name> …       only these faults

${lines(faults.filter(({ isByNameOnly, pooler }) => isByNameOnly !== true && pooler !== "needed"))}

These need --pooler ${POOLER}:

${lines(faults.filter(({ pooler }) => pooler === "needed"))}

These need CITUS_BIN, the folder with initdb and postgres of an installation that has Citus. They run only if named:

${lines(faults.filter(({ isByNameOnly }) => isByNameOnly === true))}

  --seed <n>        repeats a schedule; by default each run has a new seed
  --rounds <n>      strikes per leg
  --at-a-time <n>   faults that run in parallel; default 1, or ${QUICK_AT_A_TIME} with --quick
  --pooler ${POOLER}
                    runs a ${POOLER} between the service and PostgreSQL
  --resume          continues an interrupted run, with its seed
  --json            one JSON document on stdout instead of a table
  --help            prints this text

Example: CITUS_BIN=/path/to/postgresql/bin pnpm faults kill-nodes lost-worker --quick

Exit codes: 0 everything held, 1 an invariant was violated, 2 the command line is invalid, 3 everything that ran held, but
this machine could not run one of the faults.
`;
}

function parsed(args: string[]) {
  try {
    return parseArgs({ options, args, allowPositionals: true });
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

function count(name: string, text: string | undefined, from: number): number | undefined {
  if (text === undefined) return undefined;
  if (!/^\d{1,9}$/.test(text) || Number(text) < from) {
    throw new UsageError(`--${name} must be a whole number from ${from}, got "${text}".`);
  }
  return Number(text);
}
