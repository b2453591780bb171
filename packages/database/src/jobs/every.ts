/** Work that a process repeats. */
export interface Routine {
  /** Starts no further run, and resolves when the current run has ended. */
  stop(): Promise<void>;
}

/** Where a routine logs a run that failed. A pino logger fits. */
export interface RoutineLog {
  warn(facts: object, message: string): void;
}

/**
 * Runs `work` at once, and again `intervalMs` after the end of each run. If `work` returns a number, the next run starts
 * after that many milliseconds instead. A failed run is logged under `name`, and the next run starts after `intervalMs`.
 *
 * @example
 * const routine = every(60_000, log, "settle invoices", async () => {
 *   for (const { id } of invoices) await settle(id);
 * });
 * process.once("SIGTERM", () => void routine.stop());
 */
export function every(intervalMs: number, log: RoutineLog, name: string, work: () => Promise<number | void>): Routine {
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
