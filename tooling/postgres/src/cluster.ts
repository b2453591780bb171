import { randomBytes } from "node:crypto";
import { once } from "node:events";
import {
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { give, spawnAs, type Account } from "./account.ts";
import { isAlive } from "./process-liveness.ts";
import { PostgresError } from "./postgres-error.ts";

const PASSWORD_FILE = "embedded-password";
const YIELD_LIMIT_MS = 10_000;
const YIELD_POLL_MS = 50;

/**
 * Creates an empty cluster at `dataDir`, in an existing folder, unless `dataDir` has a cluster. The cluster is made
 * under another name and renamed when it is complete, so that `dataDir` is never incomplete if this process dies. If
 * several processes make a cluster, the first to rename its cluster wins. Errors: `init_failed`, `data_dir_not_ours`.
 */
export async function ensureCluster(dataDir: string, account: Account, durable: boolean): Promise<"made" | "found"> {
  if (hasCluster(dataDir)) {
    readPassword(dataDir);
    return "found";
  }
  requireUnoccupied(dataDir);
  const draft = `${draftPrefix(dataDir)}${process.pid}`;
  const passwordFile = `${draft}.password`;
  try {
    rmSync(draft, { recursive: true, force: true });
    mkdirSync(draft, { mode: 0o700 });
    await yieldToEarlierMaker(dataDir);
    if (hasCluster(dataDir)) return "found";
    writeFileSync(passwordFile, randomBytes(16).toString("hex"), { mode: 0o600 });
    give(account, draft, passwordFile);
    await initdb(draft, passwordFile, account, durable);
    renameSync(passwordFile, join(draft, PASSWORD_FILE));
    return putInPlace(draft, dataDir);
  } finally {
    rmSync(draft, { recursive: true, force: true });
    rmSync(passwordFile, { force: true });
  }
}

/**
 * Returns the superuser's password, which was generated when the data directory was created. Errors:
 * `data_dir_not_ours`.
 */
export function readPassword(dataDir: string): string {
  try {
    return readFileSync(join(dataDir, PASSWORD_FILE), "utf8");
  } catch (cause) {
    throw notOurs(dataDir, cause);
  }
}

async function initdb(draft: string, passwordFile: string, account: Account, durable: boolean): Promise<void> {
  const args = ["-D", draft, "-U", "postgres", "-A", "scram-sha-256", "--pwfile", passwordFile, "-E", "UTF8"];
  args.push("--locale=C", "--no-instructions");
  if (account.version === 18) {
    args.push("--locale-provider=builtin", "--builtin-locale=C.UTF-8");
    // The password has 128 random bits. More iterations would not make it safer, but would slow down every connection.
    args.push("-c", "scram_iterations=1");
  }
  if (!durable) args.push("--no-sync");

  const child = spawnAs(account, "initdb", args, { stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  child.stdout?.on("data", (chunk: Buffer) => (output += chunk.toString()));
  child.stderr?.on("data", (chunk: Buffer) => (output += chunk.toString()));
  const [status] = (await once(child, "close")) as [number | null];
  if (status !== 0) {
    const message = `initdb failed for ${draft}. Set DATABASE_URL to your own PostgreSQL, or fix this problem:`;
    throw new PostgresError("init_failed", `${message}\n${output.trim()}`);
  }
}

function putInPlace(draft: string, dataDir: string): "made" | "found" {
  try {
    // Remove an empty target folder, because on Windows rename cannot replace it. A folder that is not empty stays and
    // makes the rename fail.
    if (existsSync(dataDir) && readdirSync(dataDir).length === 0) rmdirSync(dataDir);
    renameSync(draft, dataDir);
    return "made";
  } catch (cause) {
    if (hasCluster(dataDir)) return "found";
    throw notOurs(dataDir, cause);
  }
}

function requireUnoccupied(dataDir: string): void {
  let entries: string[] = [];
  try {
    if (existsSync(dataDir)) entries = readdirSync(dataDir);
  } catch (cause) {
    throw notOurs(dataDir, cause);
  }
  // Check for a cluster again, because another process may have put its cluster into this folder meanwhile.
  if (entries.length > 0 && !hasCluster(dataDir)) throw notOurs(dataDir);
}

/** Waits while an earlier process makes the same cluster. Waiting only saves work, so it ends after YIELD_LIMIT_MS. */
async function yieldToEarlierMaker(dataDir: string): Promise<void> {
  for (let waitedMs = 0; waitedMs < YIELD_LIMIT_MS; waitedMs += YIELD_POLL_MS) {
    if (!otherMakers(dataDir).some((maker) => maker < process.pid)) return;
    await sleep(YIELD_POLL_MS);
  }
}

/**
 * Returns the ids of the other processes that are creating a cluster at this data directory. Removes the unfinished
 * clusters of dead processes.
 */
function otherMakers(dataDir: string): number[] {
  const prefix = basename(draftPrefix(dataDir));
  const folder = dirname(dataDir);
  const alive = [];
  for (const entry of readdirSync(folder).filter((name) => name.startsWith(prefix))) {
    const maker = Number.parseInt(entry.slice(prefix.length), 10);
    if (maker === process.pid) continue;
    if (isAlive(maker)) alive.push(maker);
    // Retry the removal, because an initdb that outlived the process that started it may still be writing.
    else rmSync(join(folder, entry), { recursive: true, force: true, maxRetries: 10 });
  }
  return alive;
}

function hasCluster(dataDir: string): boolean {
  return existsSync(join(dataDir, "PG_VERSION"));
}

function draftPrefix(dataDir: string): string {
  return `${dataDir}.init-`;
}

function notOurs(dataDir: string, cause?: unknown): PostgresError {
  return new PostgresError(
    "data_dir_not_ours",
    `${dataDir} was not created by this tool, or belongs to another user. Remove it, or use another folder.`,
    { cause },
  );
}
