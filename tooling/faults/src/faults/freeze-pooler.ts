import { setTimeout as pause } from "node:timers/promises";
import type { Fault } from "../fault.ts";
import { amidCommit } from "../stage/amid-commit.ts";
import { underTraffic } from "../under-traffic.ts";

/** The service waits less long for the answer to a query, so it closes its connections during the freeze. */
const FROZEN_MS = 13_000;

export const freezePooler: Fault = {
  name: "freeze-pooler",
  sentence:
    "SIGSTOP holds the pooler for longer than the service waits for an answer; then the pooler sends on what it had received.",
  rounds: { quick: 1, long: 10, legs: 2 },
  pooler: "needed",
  run: underTraffic({
    mustCount: ["hits", "refused"],
    async strike({ pooler, postgres, model }) {
      await amidCommit({ postgres, model });
      pooler!.freeze();
      await pause(FROZEN_MS);
      pooler!.thaw();
      model.counts.hits += 1;
    },
  }),
};
