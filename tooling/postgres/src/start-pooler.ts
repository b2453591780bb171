import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { chownSync, copyFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Client } from "pg";
import { PostgresError } from "./postgres-error.ts";
import type { CertificateFiles } from "./private-ca.ts";

export interface Pooler {
  /**
   * The URL of the same database through the pooler, marked with `?pgbouncer=true`. Its role may also use the pooler's
   * own database `pgbouncer`, for commands such as `show clients`.
   */
  url: string;
  /** The process id of pgbouncer. */
  pid: number;
  /** Kills the pooler with SIGKILL. */
  stop: () => Promise<void>;
}

/** The pooler's certificate for its clients, and the CA of the server's certificate. */
export interface PoolerTls extends CertificateFiles {
  serverCaFile: string;
}

const NOBODY = 65534;
const START_LIMIT_MS = 120_000;
const POLL_MS = 20;
/** Where to look for pgbouncer. Debian installs it in a folder that only root's PATH contains. */
const FOLDERS = ["", "/usr/sbin/", "/usr/local/sbin/"];
/**
 * Prints the process id of the pooler. Ends the pooler when its parent process has ended, for whatever reason: the
 * parent's end of the pipe closes then.
 */
const WITH_ITS_PARENT = '"$0" -q "$1" >/dev/null & echo $!; read -r _; kill -KILL $!; wait';
const TLS_MODES = "client_tls_sslmode = require\nserver_tls_sslmode = verify-full\n";

export interface PoolerOptions {
  /** Default: a free port. */
  port?: number;
  /** The maximum of server sessions for each database and role; default 20. */
  sessions?: number;
  /**
   * The startup settings that the pooler ignores if a client sends them. The pooler rejects a client that sends any
   * other unknown setting.
   */
  ignored?: readonly string[];
  /**
   * If given, the pooler accepts only clients with TLS, and connects to the server with TLS and checks its certificate.
   * The certificate must contain the host of the server's URL. Default: plain text on both sides.
   */
  tls?: PoolerTls;
}

/** Whether pgbouncer is installed. */
export function hasPooler(): boolean {
  return program() !== undefined;
}

/**
 * Starts pgbouncer in transaction mode in front of a server, for all of its databases and roles. `url` must be a
 * superuser's, with a password. The pooler ends with this process at the latest.
 * Errors: `pooler_missing`, `start_failed`.
 */
export async function startPooler(url: string, options: PoolerOptions = {}): Promise<Pooler> {
  const command = program();
  if (command === undefined) {
    throw new PostgresError(
      "pooler_missing",
      "pgbouncer is not installed on this machine. Install it, on Debian with: apt-get install pgbouncer",
    );
  }
  const folder = mkdtempSync(join(tmpdir(), "collections-pooler-"));
  const port = options.port ?? (await freePort());
  const settings = writeSettings(folder, new URL(url), port, options);
  const child = spawn("sh", ["-c", WITH_ITS_PARENT, command, settings], {
    // pgbouncer refuses to run as root.
    ...(process.getuid?.() === 0 && { uid: NOBODY, gid: NOBODY }),
    stdio: ["pipe", "pipe", "ignore"],
  });
  const pooled = new URL(url);
  pooled.host = `127.0.0.1:${port}`;
  pooled.searchParams.set("pgbouncer", "true");
  let pid: number;
  try {
    pid = Number(((await once(child.stdout, "data")) as [Buffer])[0]);
    await whenItAnswers(pooled.href, options.tls !== undefined);
  } catch (error) {
    await stop(child, folder);
    throw error;
  }
  child.unref();
  for (const pipe of [child.stdin, child.stdout]) (pipe as unknown as { unref?(): void }).unref?.();
  return { url: pooled.href, pid, stop: () => stop(child, folder) };
}

function program(): string | undefined {
  return FOLDERS.map((folder) => `${folder}pgbouncer`).find((path) => spawnSync(path, ["--version"]).status === 0);
}

/**
 * Writes pgbouncer's settings. Roles other than the superuser are looked up in the server, and sign in there with the
 * password that they gave the pooler.
 */
function writeSettings(
  folder: string,
  server: URL,
  listenPort: number,
  { sessions = 20, ignored = [], tls }: PoolerOptions,
): string {
  const { hostname, port, username, password } = server;
  const [users, settings] = [join(folder, "users.txt"), join(folder, "pgbouncer.ini")];
  const quoted = [username, password].map((text) => `"${decodeURIComponent(text).replaceAll('"', '""')}"`);
  writeFileSync(users, `${quoted.join(" ")}\n`, { mode: 0o600 });
  const certificates = tls ? copyCertificates(folder, tls) : [];
  writeFileSync(
    settings,
    `[databases]
* = host=${hostname} port=${port || 5432}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${listenPort}
unix_socket_dir =
auth_type = scram-sha-256
auth_file = ${users}
auth_user = ${decodeURIComponent(username)}
admin_users = ${decodeURIComponent(username)}
pool_mode = transaction
max_client_conn = 1000
default_pool_size = ${sessions}
server_idle_timeout = 5
server_login_retry = 1
ignore_startup_parameters = ${ignored.join(",")}
${certificates.map(([name, path]) => `${name} = ${path}\n`).join("")}${tls ? TLS_MODES : ""}`,
    { mode: 0o600 },
  );
  if (process.getuid?.() === 0) {
    for (const path of [folder, users, settings, ...certificates.map(([, path]) => path)]) {
      chownSync(path, NOBODY, NOBODY);
    }
  }
  return settings;
}

/** Copies the PEM files to the pooler's folder. Returns the names of their settings with the paths of the copies. */
function copyCertificates(folder: string, { certFile, keyFile, serverCaFile }: PoolerTls): [string, string][] {
  const sources = { client_tls_cert_file: certFile, client_tls_key_file: keyFile, server_tls_ca_file: serverCaFile };
  return Object.entries(sources).map(([name, source]) => {
    const copy = join(folder, `${name}.pem`);
    copyFileSync(source, copy);
    return [name, copy];
  });
}

async function whenItAnswers(url: string, usesTls: boolean): Promise<void> {
  for (let waitedMs = 0; ; waitedMs += POLL_MS) {
    const ssl = usesTls && { rejectUnauthorized: false };
    const client = new Client({ connectionString: url, connectionTimeoutMillis: START_LIMIT_MS, ssl });
    client.on("error", () => {});
    try {
      await client.connect();
      await client.query("select");
      return;
    } catch (cause) {
      if (waitedMs < START_LIMIT_MS) await sleep(POLL_MS);
      else throw new PostgresError("start_failed", `pgbouncer does not answer: ${String(cause)}`, { cause });
    } finally {
      await client.end().catch(() => {});
    }
  }
}

async function stop(child: ChildProcess, folder: string): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) {
    child.ref();
    const ended = once(child, "exit");
    child.stdin?.end();
    await ended;
  }
  rmSync(folder, { recursive: true, force: true });
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, "127.0.0.1");
  await once(probe, "listening");
  const { port } = probe.address() as AddressInfo;
  probe.close();
  await once(probe, "close");
  return port;
}
