import { spawnSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const DATA_DIR = fileURLToPath(new URL("../../../../.data", import.meta.url));
const PREFIX = "faults-";
const OWNER_FILE = "owner.json";
const NAMED_WITHIN_MS = 60_000;

/** A process by its id and its start time, because ids are reused. */
interface Owner {
  readonly pid: number;
  readonly startedAt: string;
}

/**
 * Makes a folder for this run on the disk that also has the source code. In a file system in memory, commits would cost
 * nothing.
 */
export function ownFolder(dataDir: string = DATA_DIR): string {
  mkdirSync(dataDir, { recursive: true });
  const folder = mkdtempSync(join(dataDir, PREFIX));
  chmodSync(folder, 0o755);
  const owner: Owner = { pid: process.pid, startedAt: startOf(process.pid) ?? "" };
  writeFileSync(join(folder, OWNER_FILE), JSON.stringify(owner));
  return folder;
}

/**
 * Removes what killed runs left: their folders, filesystems that are mounted there, and processes that were started for
 * such a folder. Runs that are still running are not touched. Returns the removed folders.
 */
export function clearLeftovers(dataDir: string = DATA_DIR): string[] {
  const names = existsSync(dataDir) ? readdirSync(dataDir, { withFileTypes: true }) : [];
  const folders = names
    .filter((entry) => entry.isDirectory() && entry.name.startsWith(PREFIX))
    .map(({ name }) => join(dataDir, name))
    .filter((folder) => !isOwned(folder));
  for (const folder of folders) {
    for (const pid of processesOf(folder)) process.kill(pid, "SIGKILL");
    const disk = join(folder, "disk");
    if (existsSync(disk)) spawnSync("umount", ["--lazy", disk], { stdio: "ignore" });
    rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
  }
  return folders;
}

/**
 * Returns whether the folder belongs to a process that is running. A folder without an owner file counts as owned for a
 * short time: it is being made at this moment, or its run died while it made the folder.
 */
function isOwned(folder: string): boolean {
  try {
    const { pid, startedAt } = JSON.parse(readFileSync(join(folder, OWNER_FILE), "utf8")) as Owner;
    return startedAt === "" ? isAlive(pid) : startOf(pid) === startedAt;
  } catch {
    return Date.now() - statSync(folder).mtimeMs < NAMED_WITHIN_MS;
  }
}

/**
 * Returns the processes that were started for a folder. The service has the folder's name in its environment;
 * PostgreSQL and its guard have it in their arguments.
 */
function processesOf(folder: string): number[] {
  if (!existsSync("/proc/self/environ")) return [];
  const pids = readdirSync("/proc").map(Number).filter(Number.isInteger);
  return pids.filter((pid) => {
    const environment = partsOf(pid, "environ");
    const [program = "", ...args] = partsOf(pid, "cmdline");
    const isServer = program.endsWith("/postgres") && args.some((arg) => arg.startsWith(`${folder}/`));
    const isGuard = args.some((arg) => arg.includes(`"dataDir":"${folder}/`));
    return environment.includes(`FAULTS_RUN=${folder}`) || isServer || isGuard;
  });
}

function partsOf(pid: number, file: "environ" | "cmdline"): string[] {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "utf8").split("\0");
  } catch {
    return [];
  }
}

/** The start time of a process in clock ticks since boot; undefined if there is no such process or no /proc. */
function startOf(pid: number): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/stat`, "utf8")
      .replace(/^.*\) /s, "")
      .split(" ")[19];
  } catch {
    return undefined;
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
