import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { processorMs, TICK_MS } from "./processor-time.ts";

/**
 * A round, and how many processors other processes kept busy during it, such as 0.5; undefined if the system does not
 * report that.
 */
export interface Watched<Round> {
  readonly round: Round;
  readonly othersBusy: number | undefined;
}

/** The share of the machine's processors that other processes may use before a round counts as disturbed. */
const TOLERATED_PART = 0.1;
/**
 * On a busy machine more rounds are measured than needed, and the least disturbed ones are kept. This is the maximum
 * ratio of measured to needed rounds.
 */
const TRIES_PER_ROUND = 2;

/**
 * Measures `count` rounds, and further rounds if other processes disturb some of them. Other processes make a
 * comparison unfair: on a busy machine, the compared program that has more processes gets a larger share of the
 * machine. `pids` are the benchmark's own processes; their children are included.
 */
export async function leastDisturbed<Round>(
  count: number,
  pids: readonly number[],
  measure: () => Promise<Round>,
): Promise<Watched<Round>[]> {
  const tolerated = TOLERATED_PART * availableParallelism();
  const watched: Watched<Round>[] = [];
  let undisturbed = 0;
  while (undisturbed < count && watched.length < count * TRIES_PER_ROUND) {
    const one = await watch(pids, measure);
    watched.push(one);
    if ((one.othersBusy ?? 0) <= tolerated) undisturbed += 1;
  }
  return watched.toSorted((a, b) => (a.othersBusy ?? 0) - (b.othersBusy ?? 0)).slice(0, count);
}

async function watch<Round>(pids: readonly number[], measure: () => Promise<Round>): Promise<Watched<Round>> {
  const [startedAt, ownBefore, allBefore] = [performance.now(), processorMs(pids), machineMs()];
  const round = await measure();
  const [elapsedMs, ownAfter, allAfter] = [performance.now() - startedAt, processorMs(pids), machineMs()];
  if (ownBefore === undefined || ownAfter === undefined) return { round, othersBusy: undefined };
  const othersMs = allAfter - allBefore - (ownAfter - ownBefore);
  return { round, othersBusy: Math.max(0, othersMs / elapsedMs) };
}

/** Milliseconds that all processors have been busy so far; 0 on a system other than Linux. */
function machineMs(): number {
  if (process.platform !== "linux") return 0;
  const [user, nice, system, , , interrupts, softInterrupts, stolen] = readFileSync("/proc/stat", "latin1")
    .split("\n", 1)[0]!
    .trim()
    .split(/ +/)
    .slice(1)
    .map(Number);
  return (user! + nice! + system! + interrupts! + softInterrupts! + stolen!) * TICK_MS;
}
