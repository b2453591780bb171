import { availableParallelism, totalmem } from "node:os";
import type { Outcome, Soak } from "./fault.ts";
import type { Violation } from "./invariants.ts";
import type { RunState } from "./run-state.ts";

/** The result of a fault over all its legs, or why it could not run. */
export type FaultReport =
  | { readonly name: string; readonly sentence: string; readonly notPlayed: string }
  | (Outcome & { readonly name: string; readonly sentence: string; readonly legs: number; readonly seconds: number });

/** The report of a run; `--json` prints it unchanged. */
export interface Report {
  readonly seed: number;
  readonly form: "quick" | "long";
  /** Whether the service reached PostgreSQL through a pgbouncer. */
  readonly usesPooler: boolean;
  readonly machine: { readonly processors: number; readonly memoryGiB: number; readonly node: string };
  readonly faults: readonly FaultReport[];
}

const COLUMNS = [
  "fault",
  "strikes",
  "hits",
  "sent",
  "acknowledged",
  "booked",
  "lost answers",
  "503",
  "slowest recovery",
  "violations",
] as const;

export function makeReport({ seed, isQuick, usesPooler }: RunState, faults: readonly FaultReport[]): Report {
  const machine = {
    processors: availableParallelism(),
    memoryGiB: Math.round(totalmem() / 1_024 ** 3),
    node: process.versions.node,
  };
  return { seed, form: isQuick ? "quick" : "long", usesPooler, machine, faults };
}

/** Adds up the legs of a fault. The slowest recovery is the maximum over the legs. */
export function sumUp(outcomes: readonly Outcome[]): Outcome {
  const sum = (of: (outcome: Outcome) => number) => outcomes.reduce((total, outcome) => total + of(outcome), 0);
  const soak = outcomes.findLast((outcome) => outcome.soak !== undefined)?.soak;
  return {
    counts: {
      strikes: sum(({ counts }) => counts.strikes),
      hits: sum(({ counts }) => counts.hits),
      lostAnswers: sum(({ counts }) => counts.lostAnswers),
      reversed: sum(({ counts }) => counts.reversed),
      killsTimed: sum(({ counts }) => counts.killsTimed),
      killsAmidCommit: sum(({ counts }) => counts.killsAmidCommit),
      refused: sum(({ counts }) => counts.refused),
      slowestRecoveryMs: Math.max(0, ...outcomes.map(({ counts }) => counts.slowestRecoveryMs)),
    },
    sent: sum(({ sent }) => sent),
    acknowledged: sum(({ acknowledged }) => acknowledged),
    booked: sum(({ booked }) => booked),
    violations: outcomes.flatMap(({ violations }) => violations),
    ...(soak && { soak }),
  };
}

/**
 * Returns 0 if every invariant held, 1 if an invariant was violated, and 3 if every invariant held but some faults
 * could not run.
 */
export function exitCodeOf({ faults }: Report): 0 | 1 | 3 {
  if (faults.some((fault) => "violations" in fault && fault.violations.length > 0)) return 1;
  return faults.some((fault) => "notPlayed" in fault) ? 3 : 0;
}

/**
 * Returns the report as text: a table of counts, the kills that hit a commit, the number of reversals, the violations, and
 * the faults that could not run.
 */
export function reportText(report: Report): string {
  const { seed, usesPooler, machine, faults } = report;
  const played = faults.flatMap((fault) => ("notPlayed" in fault ? [] : [fault]));
  const rows = played.map((fault) => [fault.name, ...figures(fault)]);
  const violations = played.flatMap(({ name, violations }) => violations.map((one) => violationText(name, one)));
  const notPlayed = faults.flatMap((fault) => ("notPlayed" in fault ? [`${fault.name}: ${fault.notPlayed}`] : []));
  return [
    `seed ${seed}${usesPooler ? ", through pgbouncer" : ""}, ${machine.processors} processors, ${machine.memoryGiB} GiB, Node ${machine.node}`,
    "",
    table([[...COLUMNS], ...rows]),
    ...section("Kills that hit a commit in progress:", played.flatMap(killsText)),
    ...section("Acknowledged reversals:", played.flatMap(reversedText)),
    ...played.flatMap(({ name, soak }) => (soak ? ["", ...soakText(name, soak)] : [])),
    ...section("Violations:", violations),
    ...section("Could not run on this machine:", notPlayed),
  ].join("\n");
}

function figures({ counts, sent, acknowledged, booked, violations }: Outcome): string[] {
  const numbers = [counts.strikes, counts.hits, sent, acknowledged, booked, counts.lostAnswers, counts.refused];
  const recovery = `${(counts.slowestRecoveryMs / 1_000).toFixed(1)} s`;
  return [...numbers.map((number) => number.toLocaleString("en")), recovery, String(violations.length)];
}

/**
 * Says how many of a fault's kills hit a commit, if the fault waits for a commit before each kill. The number matters,
 * because only a kill during a commit loses an answer.
 */
function killsText({ name, counts }: Outcome & { readonly name: string }): string[] {
  return counts.killsTimed === 0 ? [] : [`${name}: ${counts.killsAmidCommit} of ${counts.killsTimed}`];
}

function reversedText({ name, counts }: Outcome & { readonly name: string }): string[] {
  return counts.reversed === 0 ? [] : [`${name}: ${counts.reversed.toLocaleString("en")}`];
}

function soakText(name: string, { capacityPerS, pacePerS, flatness, samples }: Soak): string[] {
  const head = `${name}: ${capacityPerS.toFixed(0)} confirmations/s are the capacity, ${pacePerS.toFixed(0)}/s were sent`;
  const rows = flatness.map(({ measure, first, last, most, isFlat }) => [
    measure,
    ...[first, last, most].map((value) => value.toFixed(1)),
    isFlat ? "yes" : "NO",
  ]);
  const columns = ["median of the samples", "first", "last", "at most", "flat"];
  return [`${head}, ${samples.length} samples`, table([columns, ...rows])];
}

function violationText(name: string, { invariant, detail }: Violation): string {
  return `${name}: ${invariant}: ${detail}`;
}

function section(title: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : ["", title, ...lines.map((line) => `  ${line}`)];
}

function table(rows: readonly (readonly string[])[]): string {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  const aligned = (cell: string, column: number) =>
    column === 0 ? cell.padEnd(widths[column]!) : cell.padStart(widths[column]!);
  return rows.map((row) => row.map(aligned).join("  ").trimEnd()).join("\n");
}
