import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import type { Outcome } from "./fault.ts";

/** The state of a run that is kept for --resume: the finished legs of each fault. */
export interface RunState {
  readonly seed: number;
  readonly isQuick: boolean;
  readonly rounds: number | undefined;
  readonly usesPooler: boolean;
  readonly legs: Record<string, Outcome[]>;
}

/** Reads the state of an interrupted run; undefined if no run was interrupted. */
export function readRunState(file: string): RunState | undefined {
  try {
    return JSON.parse(readFileSync(file, "utf8")) as RunState;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

/** Writes the state atomically, because this process may be killed at any time. */
export function writeRunState(file: string, state: RunState): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(`${file}.draft`, JSON.stringify(state, null, 2));
  renameSync(`${file}.draft`, file);
}

export function forgetRunState(file: string): void {
  rmSync(file, { force: true });
}
