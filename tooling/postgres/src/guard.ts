/**
 * The process between an application and its embedded PostgreSQL. The guard ends with the application: the channel
 * between the two closes when the application stops or dies, even by kill -9.
 */
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { enterRunningServer, joinServer, leaveServer } from "./join-server.ts";
import { PostgresError } from "./postgres-error.ts";
import type { LaunchOptions, RunningServer } from "./server.ts";
import type { Presence } from "./presence.ts";

export type GuardMessage =
  | { type: "log"; message: string }
  | { type: "ready"; server: RunningServer; attached: boolean }
  | { type: "failed"; code: PostgresError["code"]; message: string };

const REJOIN_MS = 1_000;

// Ignores signals to the whole process group. The application handles them, and may still need its database.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => {});

const options = JSON.parse(process.argv[2] ?? "") as LaunchOptions;
const applicationLeft = once(process, "disconnect");
try {
  const joined = await joinServer(options, (message) => send({ type: "log", message }));
  send({ type: "ready", server: joined.server, attached: joined.attached });
  await stayPresent(joined.presence);
} catch (error) {
  const failure = error instanceof PostgresError ? error : new PostgresError("start_failed", String(error));
  send({ type: "failed", code: failure.code, message: failure.message });
  await applicationLeft;
}

/**
 * Keeps this process registered as a user of the server. If the server crashes and is started again, registers again.
 */
async function stayPresent(initial: Presence): Promise<void> {
  let presence: Presence | undefined = initial;
  while (process.connected) {
    await Promise.race([applicationLeft, presence ? presence.ended : sleep(REJOIN_MS)]);
    if (process.connected) presence = await enterRunningServer(options.dataDir);
  }
  if (presence) await leaveServer(options, presence);
}

function send(message: GuardMessage): void {
  if (process.connected) process.send?.(message);
}
