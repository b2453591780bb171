import { type Child, startChild } from "./child.ts";
import type { SigningPlan } from "./plan.ts";
import type { SigningLoad, SigningPace } from "./signing-load.ts";
import { type Act, ACTS, type Side, SIDES } from "./signing-sides.ts";
import { type Spread, spreadOf } from "./statistics.ts";
import { leastDisturbed } from "./undisturbed.ts";

/** How fast a side does one thing with bodies of one size. */
export interface SigningFigures {
  readonly act: Act;
  readonly bodyBytes: number;
  readonly side: Side;
  readonly perSecond: Spread;
  readonly processorUs: Spread;
  /** Processor time of the bare HMAC of the same round ÷ that of this side: 1 is as fast as it. */
  readonly toBare: Spread;
}

export interface SigningReport {
  readonly figures: readonly SigningFigures[];
  /** Processors that others kept busy in the most disturbed of the rounds. */
  readonly othersBusy: number | undefined;
}

type Round = readonly (Omit<SigningLoad, "durationMs"> & SigningPace)[];

/** Each side in a process of its own, and one at a time; in a round all in turn, so that they meet the same machine. */
export async function measureSigning(plan: SigningPlan): Promise<SigningReport> {
  const children = new Map(SIDES.map((side) => [side, startChild("signing-load.ts")]));
  try {
    await signingRound(plan, children);
    const watched = await leastDisturbed(plan.rounds, [process.pid], () => signingRound(plan, children));
    const rounds = watched.map(({ round }) => round);
    return { figures: figuresOf(rounds), othersBusy: watched.at(-1)?.othersBusy };
  } finally {
    await Promise.all([...children.values()].map((child) => child.stop()));
  }
}

async function signingRound({ bodyBytes, workMs }: SigningPlan, children: ReadonlyMap<Side, Child>): Promise<Round> {
  const paces = [];
  for (const act of ACTS) {
    for (const bytes of bodyBytes) {
      for (const [side, child] of children) {
        const load = { side, act, bodyBytes: bytes };
        const pace = await child.ask<SigningPace>({ ...load, durationMs: workMs } satisfies SigningLoad);
        paces.push({ ...load, ...pace });
      }
    }
  }
  return paces;
}

/** In the order of a round. */
function figuresOf(rounds: readonly Round[]): SigningFigures[] {
  return rounds[0]!.map(({ act, bodyBytes, side }, index) => {
    const own = rounds.map((round) => round[index]!);
    const bare = rounds.map((round) =>
      round.find((one) => one.side === "bare" && one.act === act && one.bodyBytes === bodyBytes)!,
    );
    return {
      act,
      bodyBytes,
      side,
      perSecond: spreadOf(own.map(({ perSecond }) => perSecond)),
      processorUs: spreadOf(own.map(({ processorUs }) => processorUs)),
      toBare: spreadOf(own.map(({ processorUs }, round) => bare[round]!.processorUs / processorUs)),
    };
  });
}
