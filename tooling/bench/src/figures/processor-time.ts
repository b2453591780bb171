import { readdirSync, readFileSync } from "node:fs";

/** The length of a clock tick in milliseconds: `getconf CLK_TCK` is 100 on every Linux that Node runs on. */
export const TICK_MS = 10;

/**
 * Milliseconds of processor time that processes and their children have used so far; undefined if the system does not
 * report it. Unlike a rate, it does not depend on other load of the machine.
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
  /** The ticks of the process's children that have ended, so that the sum includes them. */
  readonly ticksOfEnded: number;
}

function usageOf(pid: number): Usage | undefined {
  let stat: string;
  try {
    stat = readFileSync(`/proc/${pid}/stat`, "latin1");
  } catch {
    return undefined;
  }
  // The program's name is in parentheses and may contain blanks, so split only the text after the name. It begins with
  // the process's state and the id of its parent.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const [user, system, endedUser, endedSystem] = fields.slice(11, 15).map(Number);
  return { pid, parentPid: Number(fields[1]), ticks: user! + system!, ticksOfEnded: endedUser! + endedSystem! };
}
