import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import type { Machine } from "./figures/machine.ts";
import type { Plan } from "./plan.ts";

/** What one subject has shown, and when. */
export interface Result {
  readonly at: string;
  readonly seconds: number;
  readonly loadBefore: number;
  readonly report: unknown;
}

/** All that runs of one form have measured, by subject. */
export interface Results {
  readonly machine: Machine;
  readonly plan: Plan;
  readonly subjects: Readonly<Record<string, Result>>;
  /** Reports of subjects that are not done. */
  readonly begun?: Readonly<Record<string, unknown>>;
}

/** Undefined when nothing has been measured yet. */
export function readResults(file: string): Results | undefined {
  try {
    return JSON.parse(readFileSync(file, "utf8")) as Results;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

/** Whole or not at all: this process may be killed meanwhile. */
export function writeResults(file: string, results: Results): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(`${file}.draft`, JSON.stringify(results, null, 2));
  renameSync(`${file}.draft`, file);
}
