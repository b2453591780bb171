import { answerQuestions } from "./child.ts";
import { type Act, type Side, workOf } from "./signing-sides.ts";

/** Asks a process of its own to do one thing for so long, on one thread. */
export interface SigningLoad {
  readonly side: Side;
  readonly act: Act;
  readonly bodyBytes: number;
  readonly durationMs: number;
}

export interface SigningPace {
  readonly perSecond: number;
  /** Microseconds of processor time for each: unlike the rate, it does not depend on who else keeps the machine busy. */
  readonly processorUs: number;
}

/** Between two looks at the clock. */
const AT_ONCE = 32;

answerQuestions(async ({ side, act, bodyBytes, durationMs }: SigningLoad): Promise<SigningPace> => {
  const work = workOf(side, act, bodyBytes);
  const [startedAt, usedBefore] = [performance.now(), process.cpuUsage()];
  let done = 0;
  let elapsedMs = 0;
  while (elapsedMs < durationMs) {
    for (let each = 0; each < AT_ONCE; each += 1) work();
    done += AT_ONCE;
    elapsedMs = performance.now() - startedAt;
  }
  const { user, system } = process.cpuUsage(usedBefore);
  return { perSecond: (done / elapsedMs) * 1_000, processorUs: (user + system) / done };
});
