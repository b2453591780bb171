import type { Lender } from "@collections/lenders";
import { timeIn } from "@collections/local-time";
import type { AlertJob, EndpointStatus } from "@collections/webhooks";

/** What happened at a lender's callback, and how things stand when its mail is written. */
export interface WebhookAlert extends Pick<AlertJob, "cause" | "happenedAt" | "facts" | "heldBack"> {
  readonly environment: string;
  readonly lender: Pick<Lender, "code" | "name" | "timeZone">;
  readonly endpoint: Pick<EndpointStatus, "url" | "state" | "nextProbeAt" | "waiting" | "parked">;
  /** Between two pings while it is suspended. */
  readonly probeIntervalMs: number;
}

/** `2026-11-20 15:10:55 Asia/Calcutta (2026-11-20 09:40:55 UTC)`: the reader's clock shows one, logs the other. */
export function localAndUtc(at: Date, timeZone: string): string {
  const utc = `${timeIn("UTC", at)} UTC`;
  return timeZone === "UTC" ? utc : `${timeIn(timeZone, at)} ${timeZone} (${utc})`;
}

/** `1 event`, `12 events` */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}
