import { setTimeout as sleep } from "node:timers/promises";
import { accountFor } from "./account.ts";
import { ensureCluster } from "./cluster.ts";
import { PostgresError } from "./postgres-error.ts";
import { enter, type Presence } from "./presence.ts";
import {
  findServer,
  launchServer,
  logTail,
  RECOVERY_LIMIT_MS,
  stopServer,
  type LaunchOptions,
  type RunningServer,
} from "./server.ts";

/** After a kill -9 the data directory stays locked until the system has cleared the dead process away. */
const LAUNCH_RETRY_LIMIT_MS = 10_000;
const RETRY_MS = 100;

export interface Joined {
  server: RunningServer;
  presence: Presence;
  /** Whether somebody else had started the server. */
  attached: boolean;
}

/** Enters the server of a data directory, having made and started what was missing; errors: `PostgresError`. */
export async function joinServer(options: LaunchOptions, log: (message: string) => void): Promise<Joined> {
  const account = accountFor(options.dataDir);
  const cluster = await ensureCluster(options.dataDir, account, options.durable);
  if (cluster === "made") log(`made a new cluster in ${options.dataDir}`);

  const beganMs = Date.now();
  for (;;) {
    const found = await findServer(options.dataDir);
    const launched = found.state === "absent" ? await launchServer(options, account) : undefined;
    const server = found.state === "ready" ? found.server : launched;
    const presence = server && (await enter(server.url));
    if (server && presence) {
      log(`${launched ? "started" : "attached to"} PostgreSQL, process ${server.pid}, port ${server.port}`);
      return { server, presence, attached: !launched };
    }

    const limitMs = found.state === "starting" ? RECOVERY_LIMIT_MS : LAUNCH_RETRY_LIMIT_MS;
    if (Date.now() - beganMs > limitMs) throw startFailed(options.dataDir);
    await sleep(RETRY_MS);
  }
}

/** Leaves the server; whoever leaves last stops it. */
export async function leaveServer(dataDir: string, presence: Presence): Promise<void> {
  if (await presence.leave()) await stopServer(dataDir, accountFor(dataDir));
}

function startFailed(dataDir: string): PostgresError {
  return new PostgresError(
    "start_failed",
    `PostgreSQL did not start on ${dataDir}. Its log ends with:\n${logTail(dataDir)}`,
  );
}
