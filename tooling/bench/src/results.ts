import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import type { Machine } from "./figures/machine.ts";
import type { Plan } from "./plan.ts";

/** The result of one subject, with the time of its measurement. */
export interface Result {
  readonly at: string;
  readonly seconds: number;
  readonly loadBefore: number;
  readonly report: unknown;
}

/** The results of all quick runs, or of all full runs, by subject. */
export interface Results {
  readonly machine: Machine;
  readonly plan: Plan;
  readonly subjects: Readonly<Record<string, Result>>;
  /** The partial reports of unfinished subjects. */
  readonly begun?: Readonly<Record<string, unknown>>;
}

/** Reads the results; undefined if there are none yet. */
export function readResults(file: string): Results | undefined {
  try {
    return JSON.parse(readFileSync(file, "utf8")) as Results;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

/** Writes the results atomically, because this process may be killed at any time. */
export function writeResults(file: string, results: Results): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(`${file}.draft`, JSON.stringify(results, null, 2));
  renameSync(`${file}.draft`, file);
}
