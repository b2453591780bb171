/** By how much an event's id, which its maker's clock made, and its time, which is the database's, may differ. */
export const CLOCKS_DIFFER_MS = 3_600_000;

/** An id below those of all events that were made at `at` or later. */
export function idBefore(at: Date): string {
  return idAt(at.getTime() - CLOCKS_DIFFER_MS);
}

/** An id above those of all events that were made at `at` or earlier. */
export function idAfter(at: Date): string {
  return idAt(at.getTime() + CLOCKS_DIFFER_MS);
}

/** The first id that is `ms` later than `id`, or earlier if `ms` is negative. */
export function laterBy(ms: number, id: string): string {
  return idAt(Number.parseInt(id.replaceAll("-", "").slice(0, 12), 16) + ms);
}

/** The first id of a time's millisecond. */
export function firstIdAt(at: Date): string {
  return idAt(at.getTime());
}

/** The first UUID of a millisecond: of a UUIDv7 the first 48 bits are its time. */
function idAt(timeMs: number): string {
  const hex = Math.max(timeMs, 0).toString(16).padStart(12, "0");
  return `${hex.slice(0, 8)}-${hex.slice(8)}-0000-0000-000000000000`;
}
