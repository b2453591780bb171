import { readdirSync, readFileSync } from "node:fs";
import { quantile, type Sample } from "../flatness.ts";
import type { Stage } from "../stage/stage.ts";

/** Durations that were heard of since the last sample. */
export interface Heard {
  readonly confirmMs: number[];
  readonly listMs: number[];
}

/** Why processes cannot be looked at here; undefined when they can. */
export function whyNoSamples(): string | undefined {
  return process.platform === "linux" ? undefined : "what a process holds is read from /proc, which needs Linux";
}

/** Looks at the processes and at PostgreSQL, and takes what was heard. */
export async function takeSample({ servers, workers, postgres }: Stage, heard: Heard, atS: number): Promise<Sample> {
  const { rows } = await postgres.pool.query<{ connections: string; waiting: string }>(SELECT_STATE);
  const confirmMs = heard.confirmMs.splice(0);
  const listMs = heard.listMs.splice(0);
  return {
    atS,
    serverMiB: memoryOf(servers.pids),
    workerMiB: memoryOf(workers.pids),
    serverFiles: filesOf(servers.pids),
    workerFiles: filesOf(workers.pids),
    connections: Number(rows[0]!.connections),
    waiting: Number(rows[0]!.waiting),
    confirmations: confirmMs.length,
    confirmP50Ms: quantile(confirmMs, 0.5),
    confirmP95Ms: quantile(confirmMs, 0.95),
    listP50Ms: quantile(listMs, 0.5),
  };
}

const SELECT_STATE = `
  select (select count(*) from pg_stat_activity where application_name like 'collections%') as connections,
    (select count(*) from webhooks.delivery where state in ('waiting', 'retrying')) as waiting`;

/** Resident. */
function memoryOf(pids: readonly number[]): number {
  const kib = pids.map((pid) => Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]));
  return Math.round(kib.reduce((sum, one) => sum + one, 0) / 1_024);
}

/** Sockets, files and whatever else a process holds open. */
function filesOf(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => sum + readdirSync(`/proc/${pid}/fd`).length, 0);
}
