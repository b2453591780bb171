import type { Client } from "pg";
import { setTimeout as pause } from "node:timers/promises";
import type { Fault } from "../fault.ts";
import type { OwnPostgres } from "../processes/own-postgres.ts";
import { underTraffic } from "../under-traffic.ts";

const MOST_CONNECTIONS = 60;
const TOO_MANY = "53300";

export const exhaustConnections: Fault = {
  name: "exhaust-connections",
  sentence: "Another client takes every connection that PostgreSQL allows, and releases them a little later.",
  rounds: { quick: 1, long: 20, legs: 1 },
  run: underTraffic({
    stage: { postgres: { max_connections: String(MOST_CONNECTIONS), superuser_reserved_connections: "0" } },
    // Make the pauses between requests short, so that there are many requests. Most of them still succeed, on the
    // connections that the pools already have.
    traffic: { restMs: 20 },
    mustCount: ["hits", "refused"],
    async strike({ postgres, model, random }) {
      // Open a connection for this fault before all others are taken. Through it, the fault ends the service's sessions
      // again and again.
      const admin = await postgres.connect();
      const taken: Client[] = [];
      const until = performance.now() + 1_500 + random() * 3_000;
      try {
        while (performance.now() < until) {
          await admin.query(
            "select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'collections%'",
          );
          taken.push(...(await takeAll(postgres)));
          await pause(50);
        }
      } finally {
        model.counts.hits += taken.length;
        await Promise.all([admin, ...taken].map((client) => client.end()));
      }
    },
  }),
};

async function takeAll(postgres: OwnPostgres): Promise<Client[]> {
  const taken: Client[] = [];
  for (;;) {
    try {
      taken.push(await postgres.connect());
    } catch (error) {
      if ((error as { code?: string }).code === TOO_MANY) return taken;
      throw error;
    }
  }
}
