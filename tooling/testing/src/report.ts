import { type Counts, summaryLines } from "./counts.ts";
import { type Outcome, UNSTEADY_LIMIT } from "./outcome.ts";
import type { Failure, FileResult } from "./run-result.ts";

/** The state of the machine when the tests ended. */
export interface Machine {
  loadAverage: readonly number[];
  processors: number;
  freeMemoryBytes: number;
  totalMemoryBytes: number;
}

/** .ci/run prints at most 200 lines at its end; the rest is for other steps. */
const LINE_LIMIT = 140;
const HEADING = "==== Report of all tests";
const WIDTH_LIMIT = 240;
/** The lines of each error: as many as fit. */
const ERROR_LINES = [14, 8, 4, 2, 1];
const SLOWEST = 10;

/**
 * Pure. Returns the end of the output of all tests, at most 140 lines: each failure with the command that repeats it,
 * the unsteady files, the state of the machine, the slowest files, and the counts in the last line.
 */
export function renderReport(
  outcome: Outcome,
  machine: Machine,
  reasons: Readonly<Record<string, string>> = {},
): string[] {
  const end = [...machineLines(machine), ...slowestLines(outcome.files), ...endLines(outcome.counts, reasons)];
  const sections = sectionsOf(outcome);
  for (const errorLines of ERROR_LINES) {
    const lines = sections.flatMap((section) => linesOf(section, errorLines));
    if (lines.length + end.length < LINE_LIMIT) return [HEADING, ...lines, ...end];
  }
  return [HEADING, ...cutSections(sections, LINE_LIMIT - 1 - end.length), ...end];
}

interface Section {
  title: string;
  failures: [file: string | undefined, failure: Failure][];
}

function sectionsOf({ failed, unsteady, errors }: Outcome): Section[] {
  const verdict =
    unsteady.length > UNSTEADY_LIMIT
      ? `More than ${UNSTEADY_LIMIT} fail the run.`
      : `Up to ${UNSTEADY_LIMIT} do not fail the run.`;
  const sections: Section[] = [
    { title: "Errors outside of test files:", failures: errors.map((error) => [undefined, error]) },
    { title: `Failed test files: ${failed.length}.`, failures: failuresOf(failed) },
    {
      title: `Unsteady test files, which failed and then passed when run again alone: ${unsteady.length}. ${verdict} The first errors:`,
      failures: failuresOf(unsteady),
    },
  ];
  return sections.filter(({ failures }) => failures.length > 0);
}

function failuresOf(files: readonly FileResult[]): Section["failures"] {
  return files.flatMap(({ file, failures }) => failures.map((failure): [string, Failure] => [file, failure]));
}

function linesOf({ title, failures }: Section, errorLines: number): string[] {
  return ["", title, ...failures.flatMap(([file, failure]) => failureLines(file, failure, errorLines))];
}

/** Returns as many failures as fit, each with one line of its error, and then the number of the others. */
function cutSections(sections: readonly Section[], limit: number): string[] {
  const lines: string[] = [];
  let omitted = 0;
  for (const { title, failures } of sections) {
    if (lines.length + 4 < limit) lines.push("", title);
    for (const [file, failure] of failures) {
      const more = failureLines(file, failure, 1);
      if (omitted === 0 && lines.length + more.length + 2 <= limit) lines.push(...more);
      else omitted += 1;
    }
  }
  return [...lines, "", `… and ${omitted} more failures, which are above in the output.`];
}

/** Pure. Returns a failure with the first `errorLines` lines of its error, and the command that repeats it. */
export function failureLines(
  file: string | undefined,
  { test, origin, error, place }: Failure,
  errorLines: number,
): string[] {
  const all = error.split("\n").filter((line) => line.trim() !== "");
  const shown = all.slice(0, errorLines).map((line) => `    ${line}`);
  if (all.length > errorLines && errorLines > 1) shown.push("    …");
  const title = [file, test ?? origin].filter((part) => part !== undefined);
  const lines = [`  ${title.join(" > ")}`, ...shown];
  if (place !== undefined) lines.push(`    at ${place}`);
  if (file !== undefined) lines.push(`    ${commandOf(file, test)}`);
  return lines.map(cut);
}

/**
 * Pure. Returns the command that repeats a test. Vitest reads the name as a regular expression: a dot stands for each
 * character that a shell or the expression could interpret.
 */
export function commandOf(file: string, test?: string): string {
  const command = `npx -y pnpm@12 test ${file}`;
  return test === undefined ? command : `${command} -t "${test.replaceAll(/[^\p{L}\p{M}\p{N} _>,:;=@%/#-]/gu, dots)}"`;
}

/** One dot for each UTF-16 unit, as vitest's expression has no flag u. */
function dots(character: string): string {
  return ".".repeat(character.length);
}

function cut(line: string): string {
  return line.length > WIDTH_LIMIT ? `${line.slice(0, WIDTH_LIMIT - 1)}…` : line;
}

function machineLines({ loadAverage, processors, freeMemoryBytes, totalMemoryBytes }: Machine): string[] {
  const load = loadAverage.map((average) => average.toFixed(1)).join(", ");
  const memory = `free memory: ${gigabytes(freeMemoryBytes)} of ${gigabytes(totalMemoryBytes)} GB`;
  return ["", `Load average: ${load} on ${processors} processors; ${memory}.`];
}

function gigabytes(bytes: number): string {
  return (bytes / 1e9).toFixed(1);
}

function slowestLines(files: readonly FileResult[]): string[] {
  const slowest = files.toSorted((a, b) => b.durationMs - a.durationMs).slice(0, SLOWEST);
  if (slowest.length === 0) return [];
  const lines = slowest.map(({ file, durationMs }) => `${(durationMs / 1000).toFixed(1).padStart(8)} s  ${file}`);
  return ["The slowest test files:", ...lines.map(cut)];
}

function endLines(counts: Counts, reasons: Readonly<Record<string, string>>): string[] {
  return ["", ...summaryLines(counts, reasons)];
}
