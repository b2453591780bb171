import type { Fault } from "../fault.ts";
import { OUTLASTS_A_KILL, underTraffic } from "../under-traffic.ts";

const SLOW: readonly ("ok" | `slow:${number}`)[] = ["ok", "slow:50", OUTLASTS_A_KILL];

export const killWorkers: Fault = {
  name: "kill-workers",
  sentence: "SIGKILL ends one worker or all workers while they mint links and deliver events.",
  rounds: { quick: 1, long: 20, legs: 5 },
  run: underTraffic({
    stage: { workers: [{}, {}] },
    mustCount: ["hits"],
    async prepare({ lender, random }) {
      lender.receiverBehaviour = () => SLOW[Math.floor(random() * SLOW.length)]!;
      lender.mintBehaviour = "slow:150";
    },
    async strike({ workers, lender, model, random }) {
      await lender.waitFor(() => lender.underWay.size > 0, 180_000);
      const before = lender.unanswered.length;
      if (random() < 0.5) await workers.killAll();
      else await workers.killOne(random);
      await workers.revive();
      model.counts.hits += lender.unanswered.length - before;
    },
  }),
};
