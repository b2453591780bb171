import type { Wish } from "./arguments.ts";
import type { Fault, Outcome } from "./fault.ts";
import { noCounts } from "./traffic/model.ts";
import { type FaultReport, makeReport, type Report, sumUp } from "./report.ts";
import { forgetRunState, readRunState, type RunState, writeRunState } from "./run-state.ts";
import { seedOf } from "./traffic/seeded-random.ts";

type Tell = (message: string) => void;

/**
 * Plays the faults that are asked for and reports on them. Each leg that is done is kept in `stateFile`, which goes once
 * the run is whole; a run that resumes has the seed and the form of the one that it goes on with.
 */
export async function play(wish: Wish, stateFile: string, tell: Tell): Promise<Report> {
  const { isQuick, rounds } = wish;
  const begun = wish.resumes ? readRunState(stateFile) : undefined;
  const state: RunState = begun ?? { seed: wish.seed, isQuick, rounds, legs: {} };
  tell(`seed ${state.seed}${begun === undefined ? "" : ", resumed"}`);
  const reports = new Map<string, FaultReport>();

  async function playAll(waiting: Fault[]): Promise<void> {
    for (let fault = waiting.shift(); fault !== undefined; fault = waiting.shift()) {
      const { name } = fault;
      const tellOf: Tell = (message) => tell(`${name}: ${message}`);
      reports.set(name, await playFault(fault, state, tellOf, () => writeRunState(stateFile, state)));
    }
  }

  const together = wish.faults.filter(({ isAlone }) => isAlone !== true);
  await Promise.all(Array.from({ length: wish.atATime }, () => playAll(together)));
  await playAll(wish.faults.filter(({ isAlone }) => isAlone === true));
  forgetRunState(stateFile);
  const inOrder = wish.faults.map(({ name }) => reports.get(name)!);
  return makeReport(state.seed, state.isQuick, inOrder);
}

async function playFault(fault: Fault, state: RunState, tell: Tell, keep: () => void): Promise<FaultReport> {
  const { name, sentence } = fault;
  const notPlayed = fault.whyNot?.();
  if (notPlayed !== undefined) {
    tell(`not played: ${notPlayed}`);
    return { name, sentence, notPlayed };
  }
  const startedAt = performance.now();
  const outcomes = (state.legs[name] ??= []);
  const legs = state.isQuick || state.rounds !== undefined ? 1 : fault.rounds.legs;
  while (outcomes.length < legs) {
    const outcome = await playLeg(fault, state, outcomes.length, tell);
    for (const { invariant, detail } of outcome.violations) tell(`DOES NOT HOLD: ${invariant}: ${detail}`);
    outcomes.push(outcome);
    keep();
  }
  const seconds = Math.round((performance.now() - startedAt) / 1_000);
  const summary = sumUp(outcomes);
  tell(`done in ${seconds} s, ${summary.violations.length} violations`);
  return { name, sentence, legs, seconds, ...summary };
}

/** A leg that cannot be played to its end is a violation of its own, and the others are played all the same. */
async function playLeg(fault: Fault, state: RunState, number: number, tell: Tell): Promise<Outcome> {
  const { isQuick } = state;
  const seed = seedOf(state.seed, `${fault.name} ${number}`);
  const rounds = state.rounds ?? (isQuick ? fault.rounds.quick : fault.rounds.long);
  tell(`leg ${number + 1}, ${rounds} rounds`);
  try {
    return await fault.run({ seed, rounds, isQuick, onProgress: tell });
  } catch (error) {
    const detail = error instanceof Error ? (error.stack ?? error.message) : String(error);
    const violations = [{ invariant: "the leg is played to its end", detail }];
    return { counts: noCounts(), sent: 0, acknowledged: 0, booked: 0, violations };
  }
}
