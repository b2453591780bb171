import { statfsSync } from "node:fs";
import type { GrowthPlan } from "../plan.ts";

/**
 * The disk space of an event with its booking, transfers, earning, delivery and attempt, including indexes, as it was
 * measured.
 */
const BYTES_PER_EVENT = 3_500;
/**
 * The maximum disk space that PostgreSQL's write-ahead log needs while a database is filled. A checkpoint removes the
 * log.
 */
const LOG_BYTES = 16 * 1_024 ** 3;
const GIB = 1_024 ** 3;

/** Reports how much disk space the measurement of the largest database needs, and throws if less is free. */
export function requireDisk({ smallest, larger }: GrowthPlan, dataDir: string, onProgress: (message: string) => void) {
  const mostEvents = Math.max(...larger.map(({ events }) => events)) + 2 * smallest.events;
  const needed = mostEvents * BYTES_PER_EVENT + Math.min(LOG_BYTES, mostEvents * BYTES_PER_EVENT);
  const { bavail, bsize } = statfsSync(dataDir);
  const free = bavail * bsize;
  const [neededText, freeText] = [needed, free].map((bytes) => (bytes / GIB).toFixed(1));
  onProgress(`needs up to ${neededText} GiB of disk space temporarily; ${freeText} GiB are free`);
  if (free < needed) throw new Error(`The disk has ${freeText} GiB free, but ${neededText} GiB are needed.`);
}
