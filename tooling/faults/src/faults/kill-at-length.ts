import { amidCommit } from "../stage/amid-commit.ts";
import type { Fault } from "../fault.ts";
import { underTraffic } from "../under-traffic.ts";

/** The number of strikes in a cycle: the first two strikes kill the service, the third stops PostgreSQL. */
const CYCLE = 3;

export const killAtLength: Fault = {
  name: "kill-at-length",
  sentence:
    "In turn, SIGKILL ends one server, then both, then PostgreSQL is shut down immediately. The long form confirms a million payments.",
  // A long run has 20 legs of 15 strikes: 200 strikes kill servers, and 100 shut PostgreSQL down.
  rounds: { quick: 3, long: 15, legs: 20 },
  run: underTraffic({
    stage: { servers: [{}, {}] },
    traffic: { clients: 32, restMs: 0, linkRestMs: 500, importRestMs: 1_000 },
    paymentsBetween: { quick: 100, long: 3_340 },
    mustCount: ["lostAnswers", "reversed"],
    async strike({ servers, postgres, model, random }) {
      await amidCommit({ postgres, model });
      const turn = model.counts.strikes % CYCLE;
      if (turn === 0) await servers.killOne(random);
      if (turn === 1) await servers.killAll();
      if (turn === 2) await postgres.restart("SIGQUIT", random() * 500);
      model.counts.hits += turn === 2 ? 1 : await servers.revive();
    },
  }),
};
