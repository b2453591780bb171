import { startPostgres } from "@collections/postgres";
import { afterFile } from "@collections/testing";
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";

/** PostgreSQL of the test's own that syncs each commit to a disk, as a real one does. */
export interface DurablePostgres {
  /** Stays the same over restarts. */
  readonly url: string;
  /**
   * Stops the server, stays away for `awayMs`, and resolves when it answers again. SIGINT is a fast shutdown, SIGQUIT
   * an immediate one: no session is told, and the log is replayed at the start.
   */
  restart(signal: "SIGINT" | "SIGQUIT", awayMs: number): Promise<void>;
}

/** Starts it in a folder that is removed after the test file. */
export async function aDurablePostgres(): Promise<DurablePostgres> {
  const folder = mkdtempSync(join(tmpdir(), "collections-durable-"));
  chmodSync(folder, 0o755);
  const options = { dataDir: join(folder, "data"), temporary: true, durable: true };
  let running = await startPostgres(options);
  const { url } = running;
  const started = [running];
  afterFile(async () => {
    for (const { stop } of started) await stop();
    rmSync(folder, { recursive: true, force: true });
  });
  return {
    url,
    async restart(signal, awayMs) {
      process.kill(running.pid, signal);
      while (isAlive(running.pid)) await pause(10);
      await pause(awayMs);
      running = await startPostgres(options);
      started.push(running);
      if (running.url !== url) throw new Error(`PostgreSQL came back at ${running.url} instead of ${url}.`);
    },
  };
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
