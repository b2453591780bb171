import { setTimeout as pause } from "node:timers/promises";
import type { Fault } from "../fault.ts";
import { underTraffic } from "../under-traffic.ts";

const CUTS = 15;

export const cutConnections: Fault = {
  name: "cut-connections",
  sentence: "For two seconds PostgreSQL ends random sessions of the service in the middle of their work.",
  rounds: { quick: 1, long: 30, legs: 2 },
  run: underTraffic({
    mustCount: ["hits", "refused"],
    async strike({ postgres, model, random }) {
      for (let cut = 0; cut < CUTS; cut += 1) {
        const { rows } = await postgres.pool.query<{ ended: boolean }>(
          `select pg_terminate_backend(pid) as ended
           from (select pid from pg_stat_activity where application_name like 'collections%' order by random() limit 2) s`,
        );
        model.counts.hits += rows.filter(({ ended }) => ended).length;
        await pause(50 + random() * 150);
      }
    },
  }),
};
