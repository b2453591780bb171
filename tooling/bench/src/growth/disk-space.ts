import { statfsSync } from "node:fs";
import type { GrowthPlan } from "../plan.ts";

/** Measured, with indexes: an event with its booking, transfers, earning, delivery and attempt. */
const BYTES_PER_EVENT = 3_500;
/** What the log of the writes takes besides, until a checkpoint lets it go. */
const LOG_BYTES = 16 * 1_024 ** 3;
const GIB = 1_024 ** 3;

/** Says how much disk the largest books take, and throws where there is not as much. */
export function requireDisk({ smallest, larger }: GrowthPlan, dataDir: string, onProgress: (message: string) => void) {
  const mostEvents = Math.max(...larger.map(({ events }) => events)) + 2 * smallest.events;
  const needed = mostEvents * BYTES_PER_EVENT + Math.min(LOG_BYTES, mostEvents * BYTES_PER_EVENT);
  const { bavail, bsize } = statfsSync(dataDir);
  const free = bavail * bsize;
  const [neededText, freeText] = [needed, free].map((bytes) => (bytes / GIB).toFixed(1));
  onProgress(`takes up to ${neededText} GiB of the disk for a while; ${freeText} GiB are free`);
  if (free < needed) throw new Error(`The disk has ${freeText} GiB free, and ${neededText} GiB are needed.`);
}
