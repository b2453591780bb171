import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { type SigningKey, sign, signingKey, verify } from "@collections/signing";
import { Webhook } from "standardwebhooks";
import { Stripe } from "stripe";

/** What is compared: ours, the one call that nobody can do without, and two verifiers that many use. */
export const SIDES = ["ours", "bare", "standardwebhooks", "stripe"] as const;
export type Side = (typeof SIDES)[number];

export const ACTS = ["verify", "sign"] as const;
export type Act = (typeof ACTS)[number];

/** One message, and how each side does its work on it: once per call. */
export type Work = () => void;

const SECRET = "sk_sandbox_4f1c0d6a9b7e4d2c8a3f5e6b7c8d9e0f";
const PATH = "/hooks/collections";
const METHOD = "POST";
const MESSAGE_ID = "evt_019aa3bb7d887e55a0b1c2d3e4f50617";

/** A body of JSON of so many bytes, like that of an event. */
export function bodyOf(bytes: number): string {
  const frame = JSON.stringify({ eventId: MESSAGE_ID, kind: "payment.collected", note: "" });
  return frame.replace('""', JSON.stringify("x".repeat(Math.max(0, bytes - frame.length))));
}

/**
 * Prepares a side for a body of so many bytes, and does its work once: a signature that did not verify would be found
 * here. Bodies are verified as the bytes that a server has, and signed as the text that a sender has.
 */
export function workOf(side: Side, act: Act, bodyBytes: number): Work {
  const work = WORKS[side][act](bodyOf(bodyBytes));
  work();
  return work;
}

/** Secrets are prepared beforehand wherever a library can. */
const WORKS: Record<Side, Record<Act, (body: string) => Work>> = {
  ours: {
    verify(body) {
      const request = { ...requestOf(signingKey(SECRET)), body: Buffer.from(body) };
      const received = { ...request, signature: sign(request) };
      return () => mustHold(verify(received));
    },
    sign(body) {
      const request = { ...requestOf(signingKey(SECRET)), body };
      return () => void sign(request);
    },
  },
  bare: {
    verify: (body) => bareHmac(Buffer.from(body)),
    sign: (body) => bareHmac(body),
  },
  standardwebhooks: {
    verify(body) {
      const webhook = new Webhook(SECRET, { format: "raw" });
      const payload = Buffer.from(body);
      const headers = {
        "webhook-id": MESSAGE_ID,
        "webhook-timestamp": String(Math.floor(Date.now() / 1_000)),
        "webhook-signature": webhook.sign(MESSAGE_ID, new Date(), body),
      };
      // It throws where a signature does not hold, or is five minutes old.
      return () => void webhook.verify(payload, headers, { jsonParse: false });
    },
    sign(body) {
      const webhook = new Webhook(SECRET, { format: "raw" });
      const at = new Date();
      return () => void webhook.sign(MESSAGE_ID, at, body);
    },
  },
  stripe: {
    verify(body) {
      const payload = Buffer.from(body);
      const header = Stripe.webhooks.generateTestHeaderString({ payload: body, secret: SECRET });
      const { signature } = Stripe.webhooks;
      assert.ok(signature);
      return () => mustHold(signature.verifyHeader(payload, header, SECRET));
    },
    sign(body) {
      const timestamp = Math.floor(Date.now() / 1_000);
      return () => void Stripe.webhooks.generateTestHeaderString({ payload: body, secret: SECRET, timestamp });
    },
  },
};

function requestOf(secret: SigningKey) {
  return { secret, method: METHOD, path: PATH, timestamp: String(Date.now()) };
}

/** The very bytes that ours signs, with nothing checked or compared. */
function bareHmac(body: string | Uint8Array): Work {
  const prefix = `${METHOD}\n${PATH}\n${Date.now()}\n`;
  return () => void createHmac("sha256", SECRET).update(prefix).update(body).digest("hex");
}

function mustHold(holds: boolean): void {
  if (!holds) throw new Error("A right signature does not verify.");
}
