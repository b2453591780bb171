import { readFileSync } from "node:fs";

/** The most memory, in MB, that a process has had resident so far; undefined where the system does not say. */
export function peakMemoryMb(pid: number): number | undefined {
  return statusMb(pid, "VmHWM");
}

/** What it has resident now. */
export function residentMemoryMb(pid: number): number | undefined {
  return statusMb(pid, "VmRSS");
}

function statusMb(pid: number, field: string): number | undefined {
  if (process.platform !== "linux") return undefined;
  const status = readFileSync(`/proc/${pid}/status`, "latin1");
  const kibibytes = new RegExp(String.raw`^${field}:\s+(\d+) kB$`, "m").exec(status)?.[1];
  return kibibytes === undefined ? undefined : (Number(kibibytes) * 1_024) / 1e6;
}
