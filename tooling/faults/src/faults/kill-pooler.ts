import { setTimeout as pause } from "node:timers/promises";
import type { Fault } from "../fault.ts";
import { amidCommit } from "../stage/amid-commit.ts";
import { underTraffic } from "../under-traffic.ts";

const LONGEST_AWAY_MS = 2_000;

export const killPooler: Fault = {
  name: "kill-pooler",
  sentence: "SIGKILL ends the pooler while a server commits; another pooler takes its address up to two seconds later.",
  rounds: { quick: 2, long: 20, legs: 5 },
  pooler: "needed",
  run: underTraffic({
    stage: { servers: [{}, {}] },
    traffic: { clients: 12, restMs: 2 },
    mustCount: ["hits", "refused", "reversed"],
    async strike({ pooler, postgres, model, random }) {
      await amidCommit({ postgres, model });
      await pooler!.kill();
      await pause(random() * LONGEST_AWAY_MS);
      await pooler!.startAgain();
      model.counts.hits += 1;
    },
  }),
};
