import type { Logger } from "pino";

/** Work that a process repeats. */
export interface Routine {
  /** Resolves once the last run has ended. */
  stop(): Promise<void>;
}

/**
 * Runs `work` at once, and again `intervalMs` after each run has ended. A number that `work` returns replaces `intervalMs` once.
 * A failure is logged, and the next run tries again.
 */
export function every(intervalMs: number, log: Logger, name: string, work: () => Promise<number | void>): Routine {
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;
  let running = run();

  async function run(): Promise<void> {
    let pauseMs = intervalMs;
    try {
      pauseMs = (await work()) ?? intervalMs;
    } catch (error) {
      log.warn({ error, routine: name }, "routine failed");
    }
    if (stopped) return;
    timer = setTimeout(() => {
      running = run();
    }, pauseMs).unref();
  }

  return {
    async stop() {
      stopped = true;
      clearTimeout(timer);
      await running;
    },
  };
}
