import { inTurn } from "../confirmations/in-turn.ts";
import { processorMs } from "../figures/processor-time.ts";
import { type Spread, spreadOf } from "../figures/statistics.ts";
import { leastDisturbed } from "../figures/undisturbed.ts";
import { closedLoop } from "../load/closed-loop.ts";

/** A program in one round. */
export interface Rate {
  readonly perSecond: number;
  /** The time of one act; undefined if single acts are not timed. */
  readonly p50Ms?: number | undefined;
  readonly p99Ms?: number | undefined;
  /** Microseconds of processor time per act, including PostgreSQL's; undefined if the system does not report it. */
  readonly processorUs: number | undefined;
}

/** A program over all rounds. */
export interface ProgramFigures {
  readonly name: string;
  readonly perSecond: Spread;
  readonly p50Ms: Spread | undefined;
  readonly p99Ms: Spread | undefined;
  readonly processorUs: Spread | undefined;
  /** The rate of our package divided by the rate of this program, in the same round. */
  readonly oursToIt: Spread;
}

/** The compared programs, ours first. */
export interface Row {
  readonly what: string;
  /** The number of clients that act at the same time. */
  readonly clients: number;
  readonly programs: readonly ProgramFigures[];
  /** The number of processors that other processes kept busy, in the round in which it was highest. */
  readonly othersBusy: number | undefined;
}

export interface RowBench<Program extends { readonly name: string }> {
  readonly what: string;
  readonly clients: number;
  readonly rounds: number;
  /** The row's number in the report, which decides the program of the first round. */
  readonly place: number;
  /** The benchmark's own processes. Their children count too. */
  readonly pids: readonly number[];
  /** The compared programs, ours first. */
  readonly programs: readonly Program[];
  readonly measure: (program: Program) => Promise<Rate>;
}

/** Measures the programs in turn, each once in a round. */
export async function measureRow<Program extends { readonly name: string }>(bench: RowBench<Program>): Promise<Row> {
  const { what, clients, programs, measure } = bench;
  let round = 0;
  const watched = await leastDisturbed(bench.rounds, bench.pids, async () => {
    const rates = new Map<string, Rate>();
    for (const program of inTurn(programs, bench.place, round)) rates.set(program.name, await measure(program));
    round += 1;
    return rates;
  });
  const rounds = watched.map((one) => one.round);
  const ours = programs[0]!.name;
  const figuresOf = ({ name }: Program): ProgramFigures => {
    const rates = rounds.map((one) => one.get(name)!);
    return {
      name,
      perSecond: spreadOf(rates.map(({ perSecond }) => perSecond)),
      p50Ms: spreadIfAll(rates.map(({ p50Ms }) => p50Ms)),
      p99Ms: spreadIfAll(rates.map(({ p99Ms }) => p99Ms)),
      processorUs: spreadIfAll(rates.map(({ processorUs }) => processorUs)),
      oursToIt: spreadOf(rounds.map((one) => one.get(ours)!.perSecond / one.get(name)!.perSecond)),
    };
  };
  return { what, clients, programs: programs.map(figuresOf), othersBusy: watched.at(-1)?.othersBusy };
}

/** Lets a number of clients act in closed loops, and returns their rate. */
export async function rateOf(
  act: () => Promise<void>,
  load: { readonly clients: number; readonly durationMs: number; readonly pids: readonly number[] },
): Promise<Rate> {
  const { clients, durationMs, pids } = load;
  const usedBefore = processorMs(pids);
  const { completed, perSecond, p50Ms, p99Ms } = await closedLoop(
    Array.from({ length: clients }, () => act),
    { durationMs },
  );
  const used = processorMs(pids);
  const isKnown = usedBefore !== undefined && used !== undefined;
  return {
    perSecond,
    p50Ms,
    p99Ms,
    processorUs: isKnown ? ((used - usedBefore) * 1_000) / completed : undefined,
  };
}

function spreadIfAll(values: readonly (number | undefined)[]): Spread | undefined {
  const known = values.filter((value) => value !== undefined);
  return known.length === values.length ? spreadOf(known) : undefined;
}
