import { firstIdAt } from "@collections/database";

/**
 * The greatest difference that is assumed between a process's clock and the database's. The time in an event's id is
 * from a process's clock.
 */
export const CLOCKS_DIFFER_MS = 3_600_000;

/** Returns an id below the ids of all events that were made at `at` or later. */
export function idBefore(at: Date): string {
  return firstIdAt(new Date(at.getTime() - CLOCKS_DIFFER_MS));
}

/** Returns an id above the ids of all events that were made at `at` or earlier. */
export function idAfter(at: Date): string {
  return firstIdAt(new Date(at.getTime() + CLOCKS_DIFFER_MS));
}

/** Returns the first id of the time that is `ms` later than the time of `id`, or earlier if `ms` is negative. */
export function laterBy(ms: number, id: string): string {
  return firstIdAt(new Date(Number.parseInt(id.replaceAll("-", "").slice(0, 12), 16) + ms));
}
