import { quantile } from "../figures/statistics.ts";

/** One client: sends one request or one SQL statement, and resolves when it is answered. */
export type Client = () => Promise<void>;

/** The length of a load: a duration, or a number of requests. */
export type Extent = { readonly durationMs: number } | { readonly count: number };

export interface LoadResult {
  readonly completed: number;
  readonly elapsedMs: number;
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Microseconds of this process's own processor time per request. */
  readonly generatorUs: number;
}

/**
 * Runs every client in a closed loop: a client sends its next request when its previous request is answered. Requests
 * that are under way at the end of the duration still count, and so does the time until they are answered.
 */
export async function closedLoop(clients: readonly Client[], extent: Extent): Promise<LoadResult> {
  const latencies: number[] = [];
  const startedAt = performance.now();
  const usedBefore = process.cpuUsage();
  const endsAt = "durationMs" in extent ? startedAt + extent.durationMs : Infinity;
  let left = "count" in extent ? extent.count : Infinity;

  async function work(client: Client): Promise<void> {
    for (let now = performance.now(); now < endsAt && left > 0;) {
      left -= 1;
      await client();
      const answeredAt = performance.now();
      latencies.push(answeredAt - now);
      now = answeredAt;
    }
  }

  await Promise.all(clients.map(work));
  const elapsedMs = performance.now() - startedAt;
  const { user, system } = process.cpuUsage(usedBefore);
  const sorted = Float64Array.from(latencies).sort();
  return {
    completed: sorted.length,
    elapsedMs,
    perSecond: (sorted.length / elapsedMs) * 1_000,
    p50Ms: quantile(sorted, 0.5),
    p99Ms: quantile(sorted, 0.99),
    generatorUs: (user + system) / sorted.length,
  };
}
