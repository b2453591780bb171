import type { ReceivedDelivery } from "@collections/lender-twin";
import type { Fault } from "../fault.ts";
import { operator } from "../processes/service-process.ts";
import { LENDER } from "../stage/original.ts";
import { OUTLASTS_A_KILL, underTraffic } from "../under-traffic.ts";

const WITHIN_MS = 180_000;

export const killReplay: Fault = {
  name: "kill-replay",
  sentence: "SIGKILL ends workers during an operator's replay of all events of a lender.",
  rounds: { quick: 1, long: 10, legs: 2 },
  run: underTraffic({
    stage: { workers: [{}, {}] },
    mustCount: ["hits"],
    async strike({ settings, workers, lender, model, random }) {
      lender.receiverBehaviour = (event) => (event.headers["x-service-replay"] === "true" ? OUTLASTS_A_KILL : "ok");
      const options = ["--state=delivered", "--rate=50", "--reason=fault injection test"];
      await operator(settings, "delivery", "replay", `--lender=${LENDER}`, ...options);
      const underWay = () => [...lender.underWay].filter(isReplay).length;
      await lender.waitFor(() => underWay() > 0, WITHIN_MS);
      const before = lender.unanswered.length;
      // Only one of the two workers sends the replayed events, so killing the other worker has no effect.
      await (model.counts.hits === 0 || random() < 0.5 ? workers.killAll() : workers.killOne(random));
      lender.receiverBehaviour = "ok";
      await workers.revive();
      model.counts.hits += lender.unanswered.slice(before).filter(isReplay).length;
    },
  }),
};

function isReplay({ headers }: ReceivedDelivery): boolean {
  return headers["x-service-replay"] === "true";
}
