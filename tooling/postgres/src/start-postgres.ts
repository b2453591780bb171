import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import type { MajorVersion } from "./binaries.ts";
import type { GuardMessage } from "./guard.ts";
import { enterRunningServer, leaveServer } from "./join-server.ts";
import { PostgresError } from "./postgres-error.ts";
import { type LaunchOptions, logFile, type ServerTls } from "./server.ts";

export interface StartOptions {
  /** The data directory of one cluster. Only this tool may write to it. It is created if it is absent or empty. */
  dataDir: string;
  /** The major version; default 18. */
  version?: MajorVersion;
  /** If false, the server is faster but loses all data if the machine crashes. Use false for tests. Default true. */
  durable?: boolean;
  /** True removes the data directory after the server is down, however this process ends. Default false. */
  temporary?: boolean;
  /** The port to listen on. Default: the port of the last start, or a free port. */
  port?: number;
  /** Server settings by name, as in postgresql.conf. */
  settings?: Record<string, string>;
  /** If given, a new cluster accepts only connections with TLS. Default: only connections in plain text. */
  tls?: ServerTls;
  /** Called with one line when something is created, started or attached to. Nothing is ever printed. */
  onLog?: (message: string) => void;
}

export interface Postgres {
  /** The superuser's URL of the database `postgres`, on 127.0.0.1. */
  url: string;
  port: number;
  /** The id of the server's process. */
  pid: number;
  /** The id of the guard process, which ends the use of the server when this process ends. */
  guardPid: number;
  /** The path of the server's log. */
  logFile: string;
  /** Whether another process had started the server; its `durable`, `port` and `settings` then stay unchanged. */
  attached: boolean;
  /**
   * Ends this process's use of the server. Resolves when the server is down, or immediately if another process still
   * uses it.
   */
  stop: () => Promise<void>;
}

/**
 * Starts PostgreSQL on a data directory, or attaches to the server that runs there. Any number of processes may use it.
 * A process ends its use by `stop()`, by ending, or by being killed. The last one stops the server. Errors:
 * `PostgresError`.
 */
export async function startPostgres(start: StartOptions): Promise<Postgres> {
  const {
    dataDir,
    version = 18,
    durable = true,
    temporary = false,
    port,
    settings = {},
    tls,
    onLog = () => {},
  } = start;
  const options: LaunchOptions = {
    dataDir: resolve(dataDir),
    version,
    durable,
    temporary,
    settings,
    ...(port && { port }),
    ...(tls && { tls }),
  };
  const guard = forkGuard(options);
  const ready = await whenReady(guard, onLog);
  guard.unref();
  guard.channel?.unref();
  const guardPid = guard.pid ?? 0;
  const log = logFile(options.dataDir);
  return { ...ready.server, guardPid, logFile: log, attached: ready.attached, stop: () => stop(guard, options) };
}

function forkGuard(options: LaunchOptions): ChildProcess {
  return fork(fileURLToPath(new URL("./guard.ts", import.meta.url)), [JSON.stringify(options)], {
    // The guard gets its own session, so that no signal from a terminal or to our process group reaches it. It does not
    // inherit the flags of this process.
    detached: true,
    execArgv: ["--disable-warning=ExperimentalWarning"],
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
}

async function whenReady(
  guard: ChildProcess,
  onLog: (message: string) => void,
): Promise<Extract<GuardMessage, { type: "ready" }>> {
  return new Promise((resolve, reject) => {
    guard.once("error", reject);
    guard.once("exit", () =>
      reject(new PostgresError("start_failed", "The guard process of the embedded PostgreSQL ended unexpectedly.")),
    );
    guard.on("message", (message: GuardMessage) => {
      if (message.type === "log") onLog(message.message);
      if (message.type === "ready") resolve(message);
      if (message.type === "failed") {
        guard.disconnect();
        reject(new PostgresError(message.code, message.message));
      }
    });
  });
}

async function stop(guard: ChildProcess, options: LaunchOptions): Promise<void> {
  if (guard.exitCode === null && guard.signalCode === null) {
    guard.ref();
    const exited = once(guard, "exit");
    if (guard.connected) guard.disconnect();
    await exited;
  } else if (guard.exitCode !== 0) {
    // The guard was killed before it could end its use of the server, so this process stops the server if it is the
    // last user.
    const presence = await enterRunningServer(options.dataDir);
    if (presence) await leaveServer(options, presence);
  }
}
