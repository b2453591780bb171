import { hasPooler } from "@collections/postgres";
import { type Options, UsageError } from "./arguments.ts";
import type { Fault, Outcome } from "./fault.ts";
import { noCounts } from "./traffic/model.ts";
import { type FaultReport, makeReport, type Report, sumUp } from "./report.ts";
import { forgetRunState, readRunState, type RunState, writeRunState } from "./run-state.ts";
import { seedOf } from "./traffic/seeded-random.ts";

type Log = (message: string) => void;

const POOLER_MISSING = "pgbouncer is not installed: apt-get install pgbouncer";

/**
 * Runs the selected faults and reports on them. Each finished leg is kept in `stateFile`, which is deleted at the end
 * of the run. A resumed run takes its seed and its form (quick or long) from that file. Throws UsageError if only one of
 * the interrupted and the resumed run has a pooler.
 */
export async function runFaults(options: Options, stateFile: string, log: Log): Promise<Report> {
  const { isQuick, rounds, usesPooler } = options;
  const interrupted = options.resumes ? readRunState(stateFile) : undefined;
  if (interrupted && interrupted.usesPooler !== usesPooler) {
    throw new UsageError(
      `The interrupted run was ${usesPooler ? "without" : "with"} --pooler: resume it the same way.`,
    );
  }
  const state: RunState = interrupted ?? { seed: options.seed, isQuick, rounds, usesPooler, legs: {} };
  log(`seed ${state.seed}${interrupted === undefined ? "" : ", resumed"}`);
  const reports = new Map<string, FaultReport>();

  async function runAll(waiting: Fault[]): Promise<void> {
    for (let fault = waiting.shift(); fault !== undefined; fault = waiting.shift()) {
      const { name } = fault;
      const logOfFault: Log = (message) => log(`${name}: ${message}`);
      reports.set(name, await runFault(fault, state, logOfFault, () => writeRunState(stateFile, state)));
    }
  }

  const together = options.faults.filter(({ isAlone }) => isAlone !== true);
  await Promise.all(Array.from({ length: options.atATime }, () => runAll(together)));
  await runAll(options.faults.filter(({ isAlone }) => isAlone === true));
  forgetRunState(stateFile);
  const inOrder = options.faults.map(({ name }) => reports.get(name)!);
  return makeReport(state, inOrder);
}

async function runFault(fault: Fault, state: RunState, log: Log, keep: () => void): Promise<FaultReport> {
  const { name, sentence } = fault;
  const notPlayed = state.usesPooler && !hasPooler() ? POOLER_MISSING : fault.unavailableReason?.();
  if (notPlayed !== undefined) {
    log(`cannot run here: ${notPlayed}`);
    return { name, sentence, notPlayed };
  }
  const startedAt = performance.now();
  const outcomes = (state.legs[name] ??= []);
  const legs = state.isQuick || state.rounds !== undefined ? 1 : fault.rounds.legs;
  while (outcomes.length < legs) {
    const outcome = await runLeg(fault, state, outcomes.length, log);
    for (const { invariant, detail } of outcome.violations) log(`VIOLATED: ${invariant}: ${detail}`);
    outcomes.push(outcome);
    keep();
  }
  const seconds = Math.round((performance.now() - startedAt) / 1_000);
  const summary = sumUp(outcomes);
  log(`done in ${seconds} s, ${summary.violations.length} violations`);
  return { name, sentence, legs, seconds, ...summary };
}

/** A leg that throws counts as a violation; the other legs still run. */
async function runLeg(fault: Fault, state: RunState, number: number, log: Log): Promise<Outcome> {
  const { isQuick, usesPooler } = state;
  const seed = seedOf(state.seed, `${fault.name} ${number}`);
  const rounds = state.rounds ?? (isQuick ? fault.rounds.quick : fault.rounds.long);
  log(`leg ${number + 1}, ${rounds} rounds`);
  try {
    return await fault.run({ seed, rounds, isQuick, usesPooler, onProgress: log });
  } catch (error) {
    const detail = error instanceof Error ? (error.stack ?? error.message) : String(error);
    const violations = [{ invariant: "the leg runs to its end", detail }];
    return { counts: noCounts(), sent: 0, acknowledged: 0, booked: 0, violations };
  }
}
