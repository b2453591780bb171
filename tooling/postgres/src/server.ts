import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  closeSync,
  copyFileSync,
  existsSync,
  openSync,
  readFileSync,
  realpathSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Client } from "pg";
import { give, spawnAs, type Account } from "./account.ts";
import type { MajorVersion } from "./binaries.ts";
import { readPassword } from "./cluster.ts";
import { isAlive } from "./process-liveness.ts";

/** The time that a server may take to replay its log after a crash. */
export const RECOVERY_LIMIT_MS = 120_000;
/** The time that a server's process may take to end after it has removed its lock file. */
const END_LIMIT_MS = 5_000;
const POLL_MS = 20;
const LOG_LIMIT_BYTES = 10 * 1024 * 1024;
/**
 * The error codes of a server that runs but cannot accept a connection now: it is starting up or shutting down
 * (cannot_connect_now), or is full (too_many_connections).
 */
const BUSY_SQLSTATES = new Set(["57P03", "53300"]);

/** The names of the files of TLS in the data directory. */
const TLS_FILES = { certFile: "server.crt", keyFile: "server.key", caFile: "clients-ca.crt" } as const;

export interface RunningServer {
  url: string;
  port: number;
  pid: number;
}

/** The state of a data directory's server: it does not run, it runs but cannot answer now, or it answers. */
export type Found = { state: "absent" } | { state: "busy" } | { state: "ready"; server: RunningServer };

export interface LaunchOptions {
  dataDir: string;
  version: MajorVersion;
  durable: boolean;
  temporary: boolean;
  port?: number;
  settings: Record<string, string>;
  tls?: ServerTls;
}

/** The certificate of a server that refuses connections in plain text. */
export interface ServerTls {
  /** The paths of PEM files. `caFile` has the CA of the clients' certificates. */
  certFile: string;
  keyFile: string;
  caFile?: string;
  /** The names of roles that sign in with a client certificate. All other roles use a password. */
  certificateRoles?: string[];
}

export async function findServer(dataDir: string): Promise<Found> {
  const claimed = readLockFile(dataDir);
  if (!claimed || !isAlive(claimed.pid)) return { state: "absent" };
  const url = `postgres://postgres:${readPassword(dataDir)}@127.0.0.1:${claimed.port}/postgres`;
  const client = new Client({ connectionString: url, connectionTimeoutMillis: 5_000, ssl: ownTls(dataDir) });
  client.on("error", () => {});
  try {
    await client.connect();
    const { rows } = await client.query<{ data_directory: string }>("show data_directory");
    const ours = realpathSync(rows[0]?.data_directory ?? "") === realpathSync(dataDir);
    return ours ? { state: "ready", server: { url, ...claimed } } : { state: "absent" };
  } catch (error) {
    return { state: BUSY_SQLSTATES.has((error as { code?: string }).code ?? "") ? "busy" : "absent" };
  } finally {
    await client.end().catch(() => {});
  }
}

/** Returns the option `ssl` of our own clients: they check no certificate, because the server is on this machine. */
export function ownTls(dataDir: string): false | { rejectUnauthorized: false } {
  return existsSync(join(dataDir, TLS_FILES.keyFile)) && { rejectUnauthorized: false };
}

/** Copies the files of TLS into the data directory, and lets the server accept only connections with TLS. */
export function installTls({ dataDir, tls }: LaunchOptions, account: Account): void {
  if (!tls) return;
  for (const [name, file] of Object.entries(TLS_FILES)) {
    const source = tls[name as keyof typeof TLS_FILES];
    if (source === undefined) continue;
    copyFileSync(source, join(dataDir, file));
    chmodSync(join(dataDir, file), 0o600);
    give(account, join(dataDir, file));
  }
  const roles = (tls.certificateRoles ?? []).map((role) => `hostssl all ${role} all cert`);
  writeFileSync(join(dataDir, "pg_hba.conf"), [...roles, "hostssl all all all scram-sha-256", ""].join("\n"));
}

/**
 * Starts a server in its own session, so that no signal to our process group reaches it. Resolves when it answers.
 * Resolves with undefined if the server gave up, for example because another server holds the data directory; the log
 * has the reason.
 */
export async function launchServer(options: LaunchOptions, account: Account): Promise<RunningServer | undefined> {
  const port = options.port ?? (await choosePort(options.dataDir));
  const log = openLog(options.dataDir);
  give(account, logFile(options.dataDir));
  const args = ["-D", options.dataDir, "-p", String(port), ...settingArguments(options)];
  const child = spawnAs(account, "postgres", args, { stdio: ["ignore", log, log], detached: true });
  closeSync(log);
  await once(child, "spawn");

  for (let waitedMs = 0; waitedMs < RECOVERY_LIMIT_MS && !hasExited(child); waitedMs += POLL_MS) {
    const found = await findServer(options.dataDir);
    if (found.state === "ready" && found.server.pid === child.pid) {
      writeFileSync(portFile(options.dataDir), String(port));
      give(account, portFile(options.dataDir));
      // The server may outlive this process if another process still uses it.
      child.unref();
      return found.server;
    }
    await sleep(POLL_MS);
  }
  child.kill("SIGQUIT");
  return undefined;
}

/** Requests a fast shutdown, which rolls back open transactions, and waits until the server's process has ended. */
export async function stopServer(dataDir: string, account: Account): Promise<void> {
  const running = readLockFile(dataDir);
  const child = spawnAs(account, "pg_ctl", ["stop", "-D", dataDir, "-m", "fast", "-w", "-t", "60"], {
    stdio: "ignore",
  });
  await once(child, "close");
  // pg_ctl waits for the removal of the lock file. The process ends a moment later.
  for (let waitedMs = 0; running && isAlive(running.pid) && waitedMs < END_LIMIT_MS; waitedMs += POLL_MS) {
    await sleep(POLL_MS);
  }
}

/** Whether the data directory is locked: by a running server, or by a dead server that left its lock file. */
export function isLocked(dataDir: string): boolean {
  return existsSync(lockFile(dataDir));
}

/** The last lines of the server's log, for an error message. */
export function logTail(dataDir: string): string {
  return readFileSync(logFile(dataDir), "utf8").trim().split("\n").slice(-12).join("\n");
}

function hasExited(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}

function settingArguments({ durable, settings, tls }: LaunchOptions): string[] {
  const all: Record<string, string> = {
    listen_addresses: "127.0.0.1",
    unix_socket_directories: "",
    timezone: "UTC",
    log_timezone: "UTC",
    ...(durable ? {} : { fsync: "off", synchronous_commit: "off", full_page_writes: "off" }),
    ...(tls && { ssl: "on", ssl_cert_file: TLS_FILES.certFile, ssl_key_file: TLS_FILES.keyFile }),
    ...(tls?.caFile && { ssl_ca_file: TLS_FILES.caFile }),
    ...settings,
  };
  return Object.entries(all).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
}

function readLockFile(dataDir: string): { pid: number; port: number } | undefined {
  try {
    const lines = readFileSync(lockFile(dataDir), "utf8").split("\n");
    const [pid, port] = [Number(lines[0]), Number(lines[3])];
    return pid > 0 && port > 0 ? { pid, port } : undefined;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

/**
 * Returns the port for the server: the same as at its last start, so that known URLs stay valid after a restart. If
 * that port is taken, returns another free port.
 */
async function choosePort(dataDir: string): Promise<number> {
  try {
    return await bindOnce(Number(readFileSync(portFile(dataDir), "utf8")));
  } catch {
    return bindOnce(0);
  }
}

async function bindOnce(port: number): Promise<number> {
  const probe = createServer().listen(port, "127.0.0.1");
  await once(probe, "listening");
  const address = probe.address();
  probe.close();
  await once(probe, "close");
  return typeof address === "object" && address ? address.port : port;
}

function lockFile(dataDir: string): string {
  return join(dataDir, "postmaster.pid");
}

function openLog(dataDir: string): number {
  const sizeBytes = statSync(logFile(dataDir), { throwIfNoEntry: false })?.size ?? 0;
  return openSync(logFile(dataDir), sizeBytes > LOG_LIMIT_BYTES ? "w" : "a", 0o600);
}

/** The path of the server's log file. */
export function logFile(dataDir: string): string {
  return join(dataDir, "embedded-server.log");
}

function portFile(dataDir: string): string {
  return join(dataDir, "embedded-port");
}
