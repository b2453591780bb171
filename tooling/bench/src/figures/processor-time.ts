import { readdirSync, readFileSync } from "node:fs";

/** Of `getconf CLK_TCK`, which is 100 on every Linux that Node runs on. */
export const TICK_MS = 10;

/**
 * Milliseconds of processor time that processes and their children have used so far; undefined where the system does
 * not say. Unlike a rate it does not depend on who else keeps the machine busy.
 */
export function processorMs(pids: readonly number[]): number | undefined {
  if (process.platform !== "linux") return undefined;
  const wanted = new Set(pids);
  let ticks = 0;
  for (const name of readdirSync("/proc")) {
    const used = /^\d+$/.test(name) ? usageOf(Number(name)) : undefined;
    if (used && wanted.has(used.pid)) ticks += used.ticks + used.ticksOfEnded;
    else if (used && wanted.has(used.parentPid)) ticks += used.ticks;
  }
  return ticks * TICK_MS;
}

interface Usage {
  readonly pid: number;
  readonly parentPid: number;
  readonly ticks: number;
  /** Of its children that have ended: what they used is not lost from the sum. */
  readonly ticksOfEnded: number;
}

function usageOf(pid: number): Usage | undefined {
  let stat: string;
  try {
    stat = readFileSync(`/proc/${pid}/stat`, "latin1");
  } catch {
    return undefined;
  }
  // The name, in parentheses, may hold blanks: what follows it begins with the state and the parent.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const [user, system, endedUser, endedSystem] = fields.slice(11, 15).map(Number);
  return { pid, parentPid: Number(fields[1]), ticks: user! + system!, ticksOfEnded: endedUser! + endedSystem! };
}
