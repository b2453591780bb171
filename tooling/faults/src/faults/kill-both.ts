import { amidCommit } from "../stage/amid-commit.ts";
import type { Fault } from "../fault.ts";
import { underTraffic } from "../under-traffic.ts";

export const killBoth: Fault = {
  name: "kill-both",
  sentence: "SIGKILL ends every process of the service at the same moment.",
  rounds: { quick: 1, long: 20, legs: 5 },
  run: underTraffic({
    stage: { servers: [{}], workers: [{}] },
    traffic: { clients: 12, restMs: 2 },
    mustCount: ["lostAnswers", "reversed"],
    async strike({ servers, workers, postgres, model }) {
      await amidCommit({ postgres, model });
      await Promise.all([servers.killAll(), workers.killAll()]);
      const revived = await Promise.all([servers.revive(), workers.revive()]);
      model.counts.hits += revived[0] + revived[1];
    },
  }),
};
