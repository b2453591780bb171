import { join } from "node:path";
import type { Fault } from "../fault.ts";
import { addStandby, promote } from "../processes/standby.ts";
import { underTraffic } from "../under-traffic.ts";

export const failover: Fault = {
  name: "failover",
  sentence: "PostgreSQL dies and does not come back; its synchronous standby takes over at the same address.",
  rounds: { quick: 1, long: 10, legs: 1 },
  run: underTraffic({
    stage: { throughRelay: true },
    mustCount: ["hits", "refused"],
    async strike(stage, traffic) {
      const { postgres: primary, relay, model, folder } = stage;
      const standby = await addStandby(primary, join(folder, `standby-${model.counts.strikes}`));
      // Since the standby was added, PostgreSQL acknowledges only commits that the standby has.
      await traffic.untilAcknowledged(40);
      relay!.cut();
      await primary.bringDown("SIGQUIT");
      await promote(standby);
      stage.postgres = standby;
      relay!.leadTo(standby.url);
      model.counts.hits += 1;
      await primary.stop();
    },
  }),
};
