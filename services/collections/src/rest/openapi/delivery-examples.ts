import { health, paymentCollected, ping, RECORDED_AT } from "./examples.ts";

export const webhookHeaders = {
  "Content-Type": "application/json",
  "User-Agent": "PartnerCollections-Webhooks/1.0",
  "X-Service-Event": "ping",
  "X-Service-Delivery": ping.eventId,
  "X-Service-Attempt": "1",
  "X-Service-Key-Id": health.keyId,
  "X-Service-Timestamp": "1796275321120",
  "X-Service-Signature": "0d0b8e1f6f0c6c4b5fa0ac1e9d2f4b7a6c3e8d5f1a2b3c4d5e6f708192a3b4c5",
};

export const webhookTest = {
  success: true,
  delivered: true,
  deliveryId: ping.eventId,
  durationMs: 41,
  request: { url: "https://acme.example/hooks/collections", headers: webhookHeaders, body: JSON.stringify(ping) },
  response: { status: 200, headers: { "content-type": "application/json" }, body: '{"received":true}' },
  error: null,
  endpoint: { suspended: false, consecutiveFailures: 0, nextProbeAt: null, waiting: 0, parked: 0 },
};

export const delivery = {
  eventId: paymentCollected.eventId,
  kind: paymentCollected.kind,
  sourceLoanNumber: paymentCollected.sourceLoanNumber,
  sequence: paymentCollected.sequence,
  state: "parked",
  attempts: 7,
  nextAttemptAt: null,
  lastError: "NON_2XX: The callback answered 503; any 2xx acknowledges.",
  createdAt: RECORDED_AT,
};

export const deliveries = { success: true, deliveries: [delivery], nextCursor: null };

export const deliveryDetail = {
  success: true,
  ...delivery,
  state: "waiting",
  attempts: 1,
  nextAttemptAt: "2026-12-03T05:18:14.254Z",
  lastError: "REDIRECT: The callback answered 301. Redirects are not followed: register the URL that it leads to.",
  settledAt: null,
  body: JSON.stringify(paymentCollected),
  log: [
    {
      number: 1,
      replay: false,
      startedAt: "2026-12-03T05:17:44.216Z",
      durationMs: 38,
      outcome: "failed",
      status: 301,
      headers: { location: "https://www.acme.example/hooks/collections" },
      body: "",
      error: {
        code: "REDIRECT",
        detail: "The callback answered 301. Redirects are not followed: register the URL that it leads to.",
        cause: "Your server redirected to https://www.acme.example/hooks/collections (301).",
        remedy: "Register the final URL, or answer 2xx at the registered one.",
      },
    },
  ],
};

export const replayedDelivery = { success: true, eventId: delivery.eventId, state: "waiting" };
export const replayRequest = { since: "2026-12-03T00:00:00Z", until: "2026-12-03T06:00:00Z", ratePerSecond: 20 };
export const replayPreview = { success: true, dryRun: true, count: 1874 };
export const replayStarted = {
  success: true,
  replayId: "replay_019aa3c11f6f7055c2d3e4f506172839",
  count: 1874,
  ratePerSecond: 20,
};
export const replay = {
  ...replayStarted,
  state: "running",
  done: 640,
  createdAt: "2026-12-03T06:30:00.000Z",
  finishedAt: null,
};
