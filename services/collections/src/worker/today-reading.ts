import { databaseTime } from "@collections/database";
import { figuresOfToday } from "@collections/flows";
import type { App } from "../app.ts";
import { keepReading } from "../metrics/kept-reading.ts";
import type { ReadToday } from "../metrics/today.ts";

/** The figures take several queries for each lender, so they are cached for a minute. */
const KEPT = { maxAgeMs: 60_000, patienceMs: 2_000, uselessAfterMs: 300_000 };

/** Returns the function that reads the figures of today for all scrapes of this process. */
export function todayReading({ database, log }: Pick<App, "database" | "log">): ReadToday {
  const onError = (error: unknown) => log.warn({ error }, "metrics of today could not be read");
  const read = async () => figuresOfToday(database.em(), await databaseTime(database.em()));
  return keepReading(read, { ...KEPT, onError });
}
