import { publicId } from "@collections/database";
import { counted, localAndUtc, type WebhookAlert } from "./webhook-alert.ts";

const API = "/api/v1/partner";
/** How long a parked event is kept. contract: Limits, parked deliveries */
const PARKED_KEPT_DAYS = 30;
const MINUTE_MS = 60_000;

/** Returns paragraphs about what the service does next, and what the lender has to do. */
export function nextSteps(alert: WebhookAlert): string[] {
  const isSuspended = alert.endpoint.state === "suspended";
  switch (alert.cause) {
    case "suspended":
      if (isSuspended) return [...untilRecovery(alert), ...parkedNote(alert)];
      return [
        "Your callback has answered in the meantime, and the suspension is over.",
        draining(alert),
        ...parkedNote(alert),
      ];
    case "recovered":
      if (!isSuspended) return [draining(alert), ...parkedNote(alert)];
      return [
        "In the meantime your callback has failed again and is suspended.",
        ...untilRecovery(alert),
        ...parkedNote(alert),
      ];
    case "parked":
      return [...afterParking(alert), ...suspensionNote(alert)];
    case "gone":
      return [
        "Your callback stays registered. The event is sent again, or parked if this was its last attempt. After enough failures in a row, deliveries are suspended and events wait. No event is lost.",
        ...suspensionNote(alert),
      ];
  }
}

function untilRecovery({ endpoint, lender, probeIntervalMs }: WebhookAlert): string[] {
  const { url, nextProbeAt, waiting } = endpoint;
  const first = nextProbeAt ? `at ${localAndUtc(nextProbeAt, lender.timeZone)} and then ` : "";
  const pings = [
    `The service sends a signed ping to your callback ${first}every ${inWords(probeIntervalMs)}. The first ping that your callback answers with 2xx ends the suspension, and you get a mail about it.`,
    `You do not have to wait: POST ${API}/webhooks/test sends a ping at once, and an answer of 2xx ends the suspension too.`,
  ];
  return [
    ...(url === null
      ? ["No callback is registered any more. Ask the operator of the service to register one."]
      : pings),
    `${eventsWait(waiting)}, and new events are added. Waiting uses up no attempts. After the suspension the events are sent automatically: slowly at first, and for each loan in the order of the sequence.`,
  ];
}

function draining({ endpoint: { waiting } }: WebhookAlert): string {
  if (waiting === 0) return "No events are waiting. You do not have to do anything.";
  return `${eventsWait(waiting)} to be sent. This happens automatically: slowly at first, and for each loan in the order of the sequence. You do not have to do anything.`;
}

function afterParking({ facts: { eventId, stream: loan }, endpoint }: WebhookAlert): string[] {
  return [
    `The event is kept for ${PARKED_KEPT_DAYS} days. When your callback works again, request a replay. It sends the event with the same id, body and sequence:`,
    [
      ...(eventId ? [`  POST ${API}/webhooks/deliveries/${publicId("evt", eventId)}/replay`] : []),
      `  POST ${API}/webhooks/deliveries/replay         (several, by loan, kind and time)`,
      `  GET  ${API}/webhooks/deliveries?state=parked   (${endpoint.parked} now)`,
    ].join("\n"),
    ...(loan
      ? [
          `Until then, the loan's sequence has a gap. GET ${API}/cases/${encodeURIComponent(loan)} returns the loan's current state.`,
        ]
      : []),
  ];
}

function parkedNote({ endpoint: { parked } }: WebhookAlert): string[] {
  if (parked === 0) return [];
  return [
    `Parked, and not sent again automatically: ${counted(parked, "event")}. To send parked events again: POST ${API}/webhooks/deliveries/replay.`,
  ];
}

function suspensionNote({ endpoint }: WebhookAlert): string[] {
  if (endpoint.state === "active") return ["Other events are still delivered."];
  return [
    `Your callback is now suspended. ${eventsWait(endpoint.waiting)} until your callback answers a ping with 2xx.`,
  ];
}

function eventsWait(waiting: number): string {
  return `${counted(waiting, "event")} ${waiting === 1 ? "waits" : "wait"}`;
}

function inWords(ms: number): string {
  return ms % MINUTE_MS === 0 ? counted(ms / MINUTE_MS, "minute") : counted(ms / 1_000, "second");
}
