import { mkdirSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { accountFor } from "./account.ts";
import { ensureCluster } from "./cluster.ts";
import { PostgresError } from "./postgres-error.ts";
import { enter, type Presence } from "./presence.ts";
import {
  findServer,
  isLocked,
  installTls,
  launchServer,
  logTail,
  ownTls,
  RECOVERY_LIMIT_MS,
  stopServer,
  type LaunchOptions,
  type RunningServer,
} from "./server.ts";

/** After a kill -9 the data directory stays locked until the system has removed the dead process. */
const LOCKED_LIMIT_MS = 10_000;
/**
 * How often to try a start that is not blocked by a lock. Two attempts are enough: the second one helps only if another
 * process took the chosen port before the first attempt could listen on it.
 */
const UNLOCKED_ATTEMPTS = 2;
const RETRY_MS = 100;

export interface Joined {
  server: RunningServer;
  presence: Presence;
  /** True if another process had already started the server. */
  attached: boolean;
}

/**
 * Registers this process as a user of the server of a data directory. Creates the cluster and starts the server if they
 * are missing. Errors: `PostgresError`.
 */
export async function joinServer(options: LaunchOptions, log: (message: string) => void): Promise<Joined> {
  mkdirSync(dirname(options.dataDir), { recursive: true });
  const account = accountFor(options.dataDir, options.version);
  const cluster = await ensureCluster(options.dataDir, account, options.durable);
  if (cluster === "made") {
    log(`made a new cluster in ${options.dataDir}`);
    installTls(options, account);
  }

  const beganMs = Date.now();
  let unlockedFailures = 0;
  for (;;) {
    const found = await findServer(options.dataDir);
    const launched = found.state === "absent" ? await launchServer(options, account) : undefined;
    const server = found.state === "ready" ? found.server : launched;
    const presence = server && (await enter(server.url, ownTls(options.dataDir)));
    if (server && presence) {
      log(`${launched ? "started" : "attached to"} PostgreSQL, process ${server.pid}, port ${server.port}`);
      return { server, presence, attached: !launched };
    }

    if (found.state === "absent" && !launched && !isLocked(options.dataDir)) unlockedFailures += 1;
    const limitMs = found.state === "busy" ? RECOVERY_LIMIT_MS : LOCKED_LIMIT_MS;
    if (Date.now() - beganMs > limitMs || unlockedFailures === UNLOCKED_ATTEMPTS) throw startFailed(options.dataDir);
    await sleep(RETRY_MS);
  }
}

/** Registers this process as a user of the server that runs on a data directory; undefined if no server runs. */
export async function enterRunningServer(dataDir: string): Promise<Presence | undefined> {
  const found = await findServer(dataDir);
  return found.state === "ready" ? enter(found.server.url, ownTls(dataDir)) : undefined;
}

/** Ends this process's use of the server. The last user stops the server. */
export async function leaveServer({ dataDir, version, temporary }: LaunchOptions, presence: Presence): Promise<void> {
  if (!(await presence.leave())) return;
  await stopServer(dataDir, accountFor(dataDir, version));
  if (temporary) rmSync(dataDir, { recursive: true, force: true });
}

function startFailed(dataDir: string): PostgresError {
  return new PostgresError(
    "start_failed",
    `PostgreSQL did not start on ${dataDir}. Its log ends with:\n${logTail(dataDir)}`,
  );
}
