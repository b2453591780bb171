import { amidCommit } from "../stage/amid-commit.ts";
import type { Fault } from "../fault.ts";
import { underTraffic } from "../under-traffic.ts";

export const killServers: Fault = {
  name: "kill-servers",
  sentence:
    "SIGKILL ends one server or all servers while they confirm and reverse payments, import loans and accept link requests.",
  rounds: { quick: 2, long: 20, legs: 10 },
  run: underTraffic({
    stage: { servers: [{}, {}] },
    traffic: { clients: 12, restMs: 2 },
    mustCount: ["lostAnswers", "reversed"],
    async strike({ servers, postgres, model, random }) {
      const killsAll = model.counts.lostAnswers === 0 || random() < 0.5;
      await amidCommit({ postgres, model });
      if (killsAll) await servers.killAll();
      else await servers.killOne(random);
      model.counts.hits += await servers.revive();
    },
  }),
};
