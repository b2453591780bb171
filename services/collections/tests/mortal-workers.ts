import { sweep } from "@collections/webhooks";
import { afterFile } from "@collections/testing";
import { setTimeout as pause } from "node:timers/promises";
import { startWorker } from "../src/worker.ts";
import { testApp, type TestService } from "./fixture.ts";
import { aWire } from "./processes.ts";

/** Workers of a service, in this process, that can end in every way in which a process does. */
export interface MortalWorkers {
  /** One finishes what it does and stops; another takes its place. */
  replaceOne(): Promise<void>;
  /**
   * All lose PostgreSQL in the middle of what they do and are never heard of again. Then the time passes in which the
   * leases of the dead run out, and others take their places. Returns how many leases there were.
   */
  killAll(): Promise<number>;
}

interface MortalWorker {
  stop(): Promise<void>;
  die(): Promise<void>;
}

/** Starts workers beside a service that has none of its own. */
export async function startMortalWorkers(
  service: TestService,
  settings: Record<string, string>,
  count: number,
): Promise<MortalWorkers> {
  const start = () => aMortalWorker(service.databaseUrl, settings);
  const workers = await Promise.all(Array.from({ length: count }, start));
  afterFile(() => Promise.all(workers.map((worker) => worker.stop())));
  let changing: Promise<unknown> = Promise.resolve();

  /** One change of the crew after the other. */
  function inTurn<Result>(change: () => Promise<Result>): Promise<Result> {
    const changed = changing.then(change);
    changing = changed.catch(() => {});
    return changed;
  }

  return {
    replaceOne: () =>
      inTurn(async () => {
        workers.push(await start());
        await workers.shift()!.stop();
      }),
    killAll: () =>
      inTurn(async () => {
        await Promise.all(workers.splice(0).map((worker) => worker.die()));
        const leases = await outliveLeases(service);
        workers.push(...(await Promise.all(Array.from({ length: count }, start))));
        return leases;
      }),
  };
}

async function aMortalWorker(databaseUrl: string, settings: Record<string, string>): Promise<MortalWorker> {
  const wire = await aWire(databaseUrl);
  const app = await testApp(wire.url, { ...settings, ROLE: "worker" });
  app.database.signals.listen();
  const worker = await startWorker(app);
  return {
    async stop() {
      await worker.stop(5_000);
      await app.close();
    },
    async die() {
      wire.cut();
      await worker.stop(0);
      await app.close();
    },
  };
}

/** Nobody is left who holds a lease, so all of them may end now rather than in 15 seconds. */
async function outliveLeases({ app }: TestService): Promise<number> {
  const { pool } = app.database;
  while ((await pool.query(SELECT_SESSIONS_OF_WORKERS)).rowCount !== 0) await pause(5);
  const { rowCount } = await pool.query("update webhooks.delivery set leased_until = now() where leased_until > now()");
  await pool.query("update webhooks.endpoint set next_probe_at = now() where next_probe_at > now()");
  await pool.query("update webhooks.delivery set next_attempt_at = now() - interval '1 hour' where state = 'retrying'");
  await sweep(app.database.em());
  return rowCount ?? 0;
}

const SELECT_SESSIONS_OF_WORKERS = `
  select from pg_stat_activity
  where datname = current_database() and application_name = 'collections-worker'`;
