import { readFileSync } from "node:fs";

/** The most memory, in MB, that a process has had resident so far; undefined where the system does not say. */
export function peakMemoryMb(pid: number): number | undefined {
  if (process.platform !== "linux") return undefined;
  const kibibytes = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "latin1"))?.[1];
  return kibibytes === undefined ? undefined : (Number(kibibytes) * 1_024) / 1e6;
}
