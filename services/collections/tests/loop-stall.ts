/** Watches the event loop of a service in a process of its own. */
export interface LoopStall {
  /** The longest time in milliseconds that the event loop stood still since the last call. */
  slowestMs(): Promise<number>;
}

const SLOWEST = /^nodejs_eventloop_lag_max_seconds (\S+)$/m;
/** Node looks this often, and counts the time between two looks. */
const RESOLUTION_MS = 10;

/** Reads what the process itself measures (`monitorEventLoopDelay`) from its metrics, which begin anew when read. */
export async function watchLoop(metricsUrl: string): Promise<LoopStall> {
  const read = async () => {
    const text = await (await fetch(metricsUrl)).text();
    const seconds = SLOWEST.exec(text)?.[1];
    if (seconds === undefined) throw new Error(`${metricsUrl} has no nodejs_eventloop_lag_max_seconds.`);
    return Math.max(0, Number(seconds) * 1_000 - RESOLUTION_MS);
  };
  await read();
  return { slowestMs: read };
}
