import type { Lender } from "@collections/lenders";
import { timeIn } from "@collections/local-time";
import type { AlertJob, EndpointStatus } from "@collections/webhooks";

/** An alert about a lender's callback, with the state of the endpoint when the mail is written. */
export interface WebhookAlert extends Pick<AlertJob, "cause" | "happenedAt" | "facts" | "heldBack"> {
  readonly environment: string;
  readonly lender: Pick<Lender, "code" | "name" | "timeZone">;
  readonly endpoint: Pick<EndpointStatus, "url" | "state" | "nextProbeAt" | "waiting" | "parked">;
  /** The time between two pings while the endpoint is suspended. */
  readonly probeIntervalMs: number;
}

/**
 * Returns a time in the reader's time zone and, for a search in logs, in UTC: `2026-11-20 15:10:55 Asia/Kolkata
 * (2026-11-20 09:40:55 UTC)`.
 */
export function localAndUtc(at: Date, timeZone: string): string {
  const utc = `${timeIn("UTC", at)} UTC`;
  return timeZone === "UTC" ? utc : `${timeIn(timeZone, at)} ${timeZone} (${utc})`;
}

/** Returns a number with its noun, such as `1 event` or `12 events`. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}
