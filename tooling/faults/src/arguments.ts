import { parseArgs } from "node:util";
import type { Fault } from "./fault.ts";

/** What the command line asks for. */
export interface Wish {
  readonly faults: readonly Fault[];
  readonly seed: number;
  readonly isQuick: boolean;
  /** Strikes of each leg; those of the fault unless told. */
  readonly rounds: number | undefined;
  /** How many faults are played at a time; each has processes and a PostgreSQL of its own. */
  readonly atATime: number;
  readonly resumes: boolean;
  readonly json: boolean;
}

/** The command line is not understood; the message says what is wrong with it. */
export class UsageError extends Error {
  readonly code = "USAGE";

  constructor(message: string) {
    super(message);
    this.name = "UsageError";
  }
}

const QUICK_AT_A_TIME = 3;
const SEEDS = 1_000_000;

const options = {
  seed: { type: "string" },
  rounds: { type: "string" },
  "at-a-time": { type: "string" },
  quick: { type: "boolean" },
  resume: { type: "boolean" },
  json: { type: "boolean" },
  help: { type: "boolean" },
} as const;

/** Reads the command line; "help" when that is asked for. Throws UsageError. */
export function readArguments(args: readonly string[], faults: readonly Fault[], now: number): Wish | "help" {
  const { values, positionals } = parsed(args.filter((arg) => arg !== "--"));
  if (values.help === true) return "help";
  const unknown = positionals.find((name) => !faults.some((fault) => fault.name === name));
  if (unknown !== undefined) throw new UsageError(`There is no fault named ${unknown}.`);
  const isQuick = values.quick === true;
  return {
    faults: faults.filter(({ name, isByNameOnly }) =>
      positionals.length === 0 ? isByNameOnly !== true : positionals.includes(name),
    ),
    seed: count("seed", values.seed, 0) ?? now % SEEDS,
    isQuick,
    rounds: count("rounds", values.rounds, 1),
    atATime: count("at-a-time", values["at-a-time"], 1) ?? (isQuick ? QUICK_AT_A_TIME : 1),
    resumes: values.resume === true,
    json: values.json === true,
  };
}

export function usage(faults: readonly Fault[]): string {
  const width = Math.max(...faults.map(({ name }) => name.length));
  const lines = (some: readonly Fault[]) =>
    some.map(({ name, sentence }) => `  ${name.padEnd(width)}  ${sentence}`).join("\n");
  return `Breaks the service on purpose, on a PostgreSQL of its own, and checks what has to hold afterwards.

  pnpm faults                every fault that needs no cluster, at length; hours
  pnpm faults --quick        every fault that needs no cluster, in short; at most five minutes
  pnpm faults <name> …       only these

${lines(faults.filter(({ isByNameOnly }) => isByNameOnly !== true))}

Only by name, with CITUS_BIN, the folder of initdb and postgres of an installation that has Citus:

${lines(faults.filter(({ isByNameOnly }) => isByNameOnly === true))}

  --seed <n>        the same schedule again; without it another one each time
  --rounds <n>      strikes of each leg
  --at-a-time <n>   faults beside each other; 1, or ${QUICK_AT_A_TIME} with --quick
  --resume          goes on with the run that was interrupted, with its seed
  --json            one JSON document on stdout instead of a table
  --help            prints this text

Example: CITUS_BIN=/path/to/postgresql/bin pnpm faults kill-nodes lost-worker --quick

Ends with 0 when everything held, 1 when something did not, 2 when the command line is not understood, and 3 when all
that was played held and a fault could not be played on this machine.
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
    throw new UsageError(`--${name} takes a whole number from ${from} on, not "${text}".`);
  }
  return Number(text);
}
