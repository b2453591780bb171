import { setTimeout as pause } from "node:timers/promises";
import type { Fault } from "../fault.ts";
import { underTraffic } from "../under-traffic.ts";

/** How long the lock is held: longer than the service waits for a lock. */
const HELD_MS = 11_500;
const CANCEL_EVERY_MS = 300;

export const slowStatements: Fault = {
  name: "slow-statements",
  sentence:
    "Another client locks the cases for longer than queries wait, so that every pooled connection is in use; some queries are cancelled.",
  rounds: { quick: 1, long: 10, legs: 1 },
  run: underTraffic({
    mustCount: ["hits", "refused"],
    async strike({ postgres, model, random }) {
      const holder = await postgres.connect();
      await holder.query("begin");
      await holder.query("lock table cases.collection_case in exclusive mode");
      const until = performance.now() + HELD_MS;
      while (performance.now() < until) {
        await pause(random() * CANCEL_EVERY_MS);
        const { rows } = await postgres.pool.query<{ cancelled: boolean }>(
          `select pg_cancel_backend(pid) as cancelled
           from (select pid from pg_stat_activity
             where application_name like 'collections%' and state = 'active' order by random() limit 1) s`,
        );
        model.counts.hits += rows.length;
      }
      await holder.query("rollback");
      await holder.end();
    },
  }),
};
