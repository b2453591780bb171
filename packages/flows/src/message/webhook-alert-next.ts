import { publicId } from "@collections/database";
import { counted, localAndUtc, type WebhookAlert } from "./webhook-alert.ts";

const API = "/api/v1/partner";
/** contract: Limits, parked deliveries */
const PARKED_KEPT_DAYS = 30;
const MINUTE_MS = 60_000;

/** Returns paragraphs about what the service does next, and what the lender has to do. */
export function nextSteps(alert: WebhookAlert): string[] {
  const isSuspended = alert.endpoint.state === "suspended";
  switch (alert.cause) {
    case "suspended":
      if (isSuspended) return [...untilRecovery(alert), ...parkedNote(alert)];
      return ["Your callback has answered since, and the suspension is over.", draining(alert), ...parkedNote(alert)];
    case "recovered":
      if (!isSuspended) return [draining(alert), ...parkedNote(alert)];
      return ["Your callback has failed again since and is suspended.", ...untilRecovery(alert), ...parkedNote(alert)];
    case "parked":
      return [...afterParking(alert), ...suspensionNote(alert)];
    case "gone":
      return [
        "Your callback stays registered. The event is tried again, or parked if this was its last attempt. With enough failures in a row deliveries are suspended, and events wait for your callback. None is lost.",
        ...suspensionNote(alert),
      ];
  }
}

function untilRecovery({ endpoint, lender, probeIntervalMs }: WebhookAlert): string[] {
  const { url, nextProbeAt, waiting } = endpoint;
  const first = nextProbeAt ? `at ${localAndUtc(nextProbeAt, lender.timeZone)} and then ` : "";
  const pings = [
    `A signed ping goes to your callback ${first}every ${inWords(probeIntervalMs)}. The first one that it answers with 2xx ends the suspension, and a mail tells you so.`,
    `You need not wait for it: POST ${API}/webhooks/test sends a ping at once, and a 2xx ends the suspension too.`,
  ];
  return [
    ...(url === null ? ["No callback is registered any more: have one registered."] : pings),
    `${eventsWait(waiting)}, and new ones join; no attempt is spent on them. After the suspension they go out by themselves, those of each loan in the order of their sequence, slowly at first.`,
  ];
}

function draining({ endpoint: { waiting } }: WebhookAlert): string {
  if (waiting === 0) return "No event waits any more. There is nothing left to do.";
  return `${eventsWait(waiting)}. They go out by themselves, those of each loan in the order of their sequence, slowly at first. There is nothing left to do.`;
}

function afterParking({ facts: { eventId, loan }, endpoint }: WebhookAlert): string[] {
  return [
    `It is kept for ${PARKED_KEPT_DAYS} days. Once your callback is well, have it sent again, with the same id, body and sequence:`,
    [
      ...(eventId ? [`  POST ${API}/webhooks/deliveries/${publicId("evt", eventId)}/replay`] : []),
      `  POST ${API}/webhooks/deliveries/replay         (many, by loan, kind and time)`,
      `  GET  ${API}/webhooks/deliveries?state=parked   (${endpoint.parked} now)`,
    ].join("\n"),
    ...(loan
      ? [`Until then the loan's sequence has a gap; its state is at GET ${API}/cases/${encodeURIComponent(loan)}.`]
      : []),
  ];
}

function parkedNote({ endpoint: { parked } }: WebhookAlert): string[] {
  if (parked === 0) return [];
  return [
    `Parked, and no longer sent by itself: ${counted(parked, "event")}. POST ${API}/webhooks/deliveries/replay has them sent again.`,
  ];
}

function suspensionNote({ endpoint }: WebhookAlert): string[] {
  if (endpoint.state === "active") return ["Other events go on being delivered."];
  return [`Your callback is now suspended. ${eventsWait(endpoint.waiting)} until it answers a ping.`];
}

function eventsWait(waiting: number): string {
  return `${counted(waiting, "event")} ${waiting === 1 ? "waits" : "wait"}`;
}

function inWords(ms: number): string {
  return ms % MINUTE_MS === 0 ? counted(ms / MINUTE_MS, "minute") : counted(ms / 1_000, "second");
}
