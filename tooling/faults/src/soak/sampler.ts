import { readdirSync, readFileSync } from "node:fs";
import { quantile, type Sample } from "../flatness.ts";
import type { Stage } from "../stage/stage.ts";

/** Durations that were measured since the last sample. */
export interface Durations {
  readonly confirmMs: number[];
  readonly listMs: number[];
}

/** The reason why processes cannot be measured here, or undefined. */
export function samplingUnavailable(): string | undefined {
  return process.platform === "linux" ? undefined : "measuring processes needs /proc, which only Linux has";
}

/**
 * Measures the processes and PostgreSQL. Evaluates the durations since the last sample, and removes them from
 * `durations`.
 */
export async function takeSample(
  { servers, workers, postgres }: Stage,
  durations: Durations,
  atS: number,
): Promise<Sample> {
  const { rows } = await postgres.pool.query<{ connections: string; waiting: string }>(SELECT_STATE);
  const confirmMs = durations.confirmMs.splice(0);
  const listMs = durations.listMs.splice(0);
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

/** Resident memory in MiB. */
function memoryOf(pids: readonly number[]): number {
  const kib = pids.map((pid) => Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]));
  return Math.round(kib.reduce((sum, one) => sum + one, 0) / 1_024);
}

/** The number of open file descriptors, including sockets. */
function filesOf(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => sum + readdirSync(`/proc/${pid}/fd`).length, 0);
}
