import type { ReceiverBehaviour } from "@collections/lender-twin";
import type { Fault } from "../fault.ts";
import { openLyingFront } from "../processes/lying-front.ts";
import { oneOf } from "../traffic/seeded-random.ts";
import { underTraffic } from "../under-traffic.ts";

const RECEIVER_FAULTS: readonly ReceiverBehaviour[] = [
  "ok",
  "ok",
  "hang",
  "reset",
  "lost",
  "drip",
  "error500",
  "status:410",
  "redirect",
  "slow:700",
];
const MINT_FAULTS = ["ok", "hang", "reset", "drip", "error500", "garbage", "slow:700", "hugeBody"] as const;
const LIES = 0.2;

export const badLender: Fault = {
  name: "bad-lender",
  sentence:
    "The lender hangs, resets connections, answers slowly, redirects and sends wrong lengths, both for events and for link requests.",
  rounds: { quick: 1, long: 20, legs: 2 },
  run: underTraffic({
    stage: { front: openLyingFront },
    mustCount: ["hits"],
    async strike({ lender, front, model, random }) {
      const before = lender.deliveries.length;
      front!.lies = () => random() < LIES;
      lender.receiverBehaviour = () => oneOf(random, RECEIVER_FAULTS);
      lender.mintBehaviour = oneOf(random, MINT_FAULTS);
      await lender.waitFor(() => lender.deliveries.length > before + 25, 180_000);
      lender.mintBehaviour = oneOf(random, MINT_FAULTS);
      await lender.waitFor(() => lender.deliveries.length > before + 50, 180_000);
      model.counts.hits += lender.deliveries.slice(before).filter(({ outcome }) => outcome === "refused").length;
      front!.lies = () => false;
      lender.receiverBehaviour = "ok";
      lender.mintBehaviour = "ok";
    },
  }),
};
