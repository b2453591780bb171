import type { FailedJobs } from "@collections/database";
import type { Registry } from "prom-client";
import { addReadGauge } from "./read-gauge.ts";

/** Returns the failed jobs of all queues, or undefined while they cannot be read. */
export type ReadFailedJobs = () => Promise<readonly Pick<FailedJobs, "queue" | "state" | "count">[] | undefined>;

/** The metrics of the job queues. A process serves them only after it has called `watch`. */
export interface JobMetrics {
  /** Registers the gauge and sets the function that reads it. Called once, by a worker. */
  watch(read: ReadFailedJobs): void;
}

/** Returns the metrics of the job queues. Their gauge is not registered before `watch` is called. */
export function createJobMetrics(registry: Registry): JobMetrics {
  return {
    watch(read) {
      addReadGauge(registry, {
        name: "collections_failed_jobs",
        help: "Jobs that have failed for good, and jobs that are retried after three failures, by queue.",
        labels: ["queue", "state"],
        read: async () => (await read())?.map(({ queue, state, count }) => [{ queue, state }, count]),
      });
    },
  };
}
