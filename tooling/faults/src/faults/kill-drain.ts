import { setTimeout as pause } from "node:timers/promises";
import { until } from "../deadline.ts";
import type { Fault } from "../fault.ts";
import type { OwnPostgres } from "../processes/own-postgres.ts";
import { OUTLASTS_A_KILL, underTraffic } from "../under-traffic.ts";

const BACKLOG = 60;
const WITHIN_MS = 180_000;

export const killDrain: Fault = {
  name: "kill-drain",
  sentence: "SIGKILL ends workers while they deliver the backlog of a lender that was suspended.",
  rounds: { quick: 1, long: 10, legs: 2 },
  run: underTraffic({
    stage: { workers: [{}, {}], settings: { WEBHOOK_SUSPEND_AFTER: "5", WEBHOOK_SUSPEND_MIN_DURATION: "0s" } },
    // The pauses are shorter than usual, so that the backlog is large enough to last until the second kill.
    traffic: { restMs: 40 },
    mustCount: ["hits"],
    async strike({ postgres, workers, lender, model, random }) {
      lender.receiverBehaviour = "error500";
      await until("the callback is suspended", WITHIN_MS, () => isSuspended(postgres), 200);
      await until("a backlog has grown", WITHIN_MS, async () => (await backlog(postgres)) >= BACKLOG, 200);
      lender.receiverBehaviour = OUTLASTS_A_KILL;
      await until("the callback has recovered", WITHIN_MS, async () => !(await isSuspended(postgres)), 100);
      for (let kill = 0; kill < 2; kill += 1) {
        await lender.waitFor(() => lender.underWay.size > 1, WITHIN_MS);
        await pause(random() * 100);
        const before = lender.unanswered.length;
        await (kill === 0 ? workers.killOne(random) : workers.killAll());
        await workers.revive();
        model.counts.hits += lender.unanswered.length - before;
      }
      lender.receiverBehaviour = "ok";
    },
  }),
};

async function isSuspended({ pool }: OwnPostgres): Promise<boolean> {
  const { rows } = await pool.query("select from webhooks.endpoint where state = 'suspended'");
  return rows.length > 0;
}

async function backlog({ pool }: OwnPostgres): Promise<number> {
  const { rows } = await pool.query<{ count: string }>(
    "select count(*) from webhooks.delivery where state in ('waiting', 'retrying')",
  );
  return Number(rows[0]!.count);
}
