import { HEADERS, sign } from "@collections/signing";
import type { LoanState } from "../src/index.ts";

export const KEY_ID = "lk_of_the_webhooks";
export const SECRET = "sk_sandbox_1c0d6a9b7e4d2c8a3f5e6b7c8d9e0f4f";
export const PATH = "/hooks/collections";

/** Returns an event as the service sends it: amounts are numbers on the wire. */
export function anEvent(sourceLoanNumber: string, sequence: number, fields: object = {}): Record<string, unknown> {
  return {
    eventId: `evt_${sourceLoanNumber}_${sequence}`,
    kind: "payment.collected",
    version: 1,
    env: "sandbox",
    lenderCode: "ACME",
    occurredAt: "2026-11-20T09:41:07.512Z",
    ...aState(sourceLoanNumber, sequence),
    data: { reference: `pay_${sequence}`, amount: 10.1 },
    ...fields,
  };
}

/** Returns the state of a loan at a sequence, as if each event up to this sequence had collected 10.10. */
export function aState(sourceLoanNumber: string, sequence: number): Record<keyof LoanState, unknown> {
  return {
    sourceLoanNumber,
    sequence,
    caseId: `case_${sourceLoanNumber}`,
    cycle: 1,
    status: "in_progress",
    currency: "INR",
    totalCollected: (sequence * 1010) / 100,
    outstandingAfter: (1_000_000 - sequence * 1010) / 100,
  };
}

/** Returns a webhook request. It is signed correctly except for what `wrong` changes. */
export function aWebhook(
  event: object | string,
  wrong: { secret?: string; keyId?: string; timestampMs?: number; path?: string; method?: string } = {},
): { method: string; path: string; headers: Record<string, string>; body: Buffer<ArrayBuffer> } {
  const { secret = SECRET, keyId = KEY_ID, timestampMs = Date.now(), path = PATH, method = "POST" } = wrong;
  const body = Buffer.from(typeof event === "string" ? event : JSON.stringify(event));
  const timestamp = String(timestampMs);
  const headers = {
    "content-type": "application/json",
    [HEADERS.keyId.toLowerCase()]: keyId,
    [HEADERS.timestamp.toLowerCase()]: timestamp,
    [HEADERS.signature.toLowerCase()]: sign({ secret, method, path, timestamp, body }),
  };
  return { method, path, headers, body };
}
