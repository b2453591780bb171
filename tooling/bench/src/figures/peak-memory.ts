import { readFileSync } from "node:fs";

/** The peak resident memory of a process in MB; undefined if the system does not report it. */
export function peakMemoryMb(pid: number): number | undefined {
  return statusMb(pid, "VmHWM");
}

/** Returns the resident memory of a process now, in MB; undefined if the system does not report it. */
export function residentMemoryMb(pid: number): number | undefined {
  return statusMb(pid, "VmRSS");
}

function statusMb(pid: number, field: string): number | undefined {
  if (process.platform !== "linux") return undefined;
  const status = readFileSync(`/proc/${pid}/status`, "latin1");
  const kibibytes = new RegExp(String.raw`^${field}:\s+(\d+) kB$`, "m").exec(status)?.[1];
  return kibibytes === undefined ? undefined : (Number(kibibytes) * 1_024) / 1e6;
}
