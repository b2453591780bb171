import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { give, spawnAs, type Account } from "./account.ts";
import { isAlive } from "./process-liveness.ts";
import { PostgresError } from "./postgres-error.ts";

const PASSWORD_FILE = "embedded-password";

/**
 * Makes an empty cluster at `dataDir` unless there is one. It is made beside and renamed, so a cluster is whole or
 * absent whenever this process dies, and of several that make one at the same time the first to rename wins.
 * errors: `init_failed`, `data_dir_not_ours`.
 */
export async function ensureCluster(dataDir: string, account: Account, durable: boolean): Promise<"made" | "found"> {
  if (existsSync(join(dataDir, "PG_VERSION"))) return "found";
  mkdirSync(dirname(dataDir), { recursive: true });
  removeAbandoned(dataDir);

  const draft = `${dataDir}.init-${process.pid}`;
  const passwordFile = `${draft}.password`;
  try {
    mkdirSync(draft, { mode: 0o700 });
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

/** The superuser's password, made with the cluster; errors: `data_dir_not_ours`. */
export function readPassword(dataDir: string): string {
  try {
    return readFileSync(join(dataDir, PASSWORD_FILE), "utf8");
  } catch (cause) {
    throw notOurs(dataDir, cause);
  }
}

async function initdb(draft: string, passwordFile: string, account: Account, durable: boolean): Promise<void> {
  const args = ["-D", draft, "-U", "postgres", "-A", "scram-sha-256", "--pwfile", passwordFile, "-E", "UTF8"];
  args.push("--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--no-instructions");
  // The password is 128 random bits: stretching it would only slow down every connection.
  args.push("-c", "scram_iterations=1", "-c", "timezone=UTC", "-c", "log_timezone=UTC");
  if (!durable) args.push("--no-sync");

  const child = spawnAs(account, "initdb", args, { stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  child.stdout?.on("data", (chunk: Buffer) => (output += chunk.toString()));
  child.stderr?.on("data", (chunk: Buffer) => (output += chunk.toString()));
  const [status] = (await once(child, "close")) as [number | null];
  if (status !== 0) throw new PostgresError("init_failed", `initdb could not make ${draft}:\n${output.trim()}`);
}

function putInPlace(draft: string, dataDir: string): "made" | "found" {
  try {
    renameSync(draft, dataDir);
    return "made";
  } catch (cause) {
    if (existsSync(join(dataDir, "PG_VERSION"))) return "found";
    throw notOurs(dataDir, cause);
  }
}

function removeAbandoned(dataDir: string): void {
  const prefix = `${basename(dataDir)}.init-`;
  for (const entry of readdirSync(dirname(dataDir)).filter((name) => name.startsWith(prefix))) {
    const maker = Number.parseInt(entry.slice(prefix.length), 10);
    if (maker === process.pid || !isAlive(maker)) {
      rmSync(join(dirname(dataDir), entry), { recursive: true, force: true });
    }
  }
}

function notOurs(dataDir: string, cause: unknown): PostgresError {
  return new PostgresError(
    "data_dir_not_ours",
    `${dataDir} was not made by this tool, or by another user. Remove it, or name another folder.`,
    { cause },
  );
}
