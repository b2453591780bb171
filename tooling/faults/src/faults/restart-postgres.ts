import type { Fault } from "../fault.ts";
import { oneOf } from "../traffic/seeded-random.ts";
import { underTraffic } from "../under-traffic.ts";

export const restartPostgres: Fault = {
  name: "restart-postgres",
  sentence:
    "PostgreSQL is shut down under load and started again a little later; mostly it is shut down immediately and must replay its log.",
  rounds: { quick: 1, long: 20, legs: 1 },
  run: underTraffic({
    traffic: { clients: 12, restMs: 2 },
    mustCount: ["refused", "reversed"],
    async strike({ postgres, model, random }) {
      await postgres.restart(oneOf(random, ["SIGQUIT", "SIGQUIT", "SIGINT"] as const), random() * 1_500);
      model.counts.hits += 1;
    },
  }),
};
