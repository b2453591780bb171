import { createHmac, randomBytes } from "node:crypto";
import { describe, expect, test } from "vitest";
import {
  EmptySecretError,
  HEADERS,
  type ReceivedWebhook,
  type Secret,
  sign,
  signingKey,
  verifyWebhook,
  WebhookNotVerifiedError,
  type WebhookVerification,
} from "./index.ts";

const SECRET = "sk_sandbox_4f1c0d6a9b7e4d2c8a3f5e6b7c8d9e0f";
const OLD_SECRET = "sk_sandbox_00112233445566778899aabbccddeeff";
const NOW_MS = 1_795_167_667_000;
const PATH = "/hooks/a%2Fb";
const BODY = '{"eventId":"evt_1","kind":"invoice.paid"}';
const FIVE_MINUTES = 300_000;

interface Sent {
  readonly secret?: string;
  readonly retiring?: string;
  readonly atMs?: number;
  readonly prefix?: string;
}

/** The sender's own headers, as `startWebhooks` sends them. */
function ownHeaders({ secret = SECRET, retiring, atMs = NOW_MS, prefix = "X-Service-" }: Sent = {}) {
  const signed = { method: "POST", path: PATH, timestamp: String(atMs), body: BODY };
  return {
    [`${prefix}Delivery`]: "evt_1",
    [`${prefix}Timestamp`]: signed.timestamp,
    [`${prefix}Signature`]: sign({ ...signed, secret }),
    ...(retiring !== undefined && { [`${prefix}Retiring-Signature`]: sign({ ...signed, secret: retiring }) }),
  };
}

/** The headers of Standard Webhooks, made with Node alone. */
function standardHeaders({ keys = [Buffer.from(SECRET)], atMs = NOW_MS }: { keys?: Buffer[]; atMs?: number } = {}) {
  const seconds = String(atMs / 1_000);
  const signatures = keys.map(
    (key) => `v1,${createHmac("sha256", key).update(`evt_1.${seconds}.${BODY}`).digest("base64")}`,
  );
  return { "webhook-id": "evt_1", "webhook-timestamp": seconds, "webhook-signature": signatures.join(" ") };
}

function received(changes: Partial<ReceivedWebhook> = {}): ReceivedWebhook {
  return { headers: ownHeaders(), path: PATH, body: BODY, ...changes };
}

function verified(request: ReceivedWebhook, options: Partial<WebhookVerification> = {}) {
  return verifyWebhook(request, { secret: SECRET, nowMs: NOW_MS, ...options });
}

function faultOf(request: ReceivedWebhook, options: Partial<WebhookVerification> = {}): string | undefined {
  try {
    verified(request, options);
    return undefined;
  } catch (error) {
    if (!(error instanceof WebhookNotVerifiedError)) throw error;
    return error.code;
  }
}

describe("verifyWebhook with the sender's own headers", () => {
  test("returns the event's id, which is not signed, and the time", () => {
    expect(verified(received())).toEqual({ eventId: "evt_1", isIdSigned: false, signedAt: new Date(NOW_MS) });
  });

  test.each<[string, Partial<ReceivedWebhook>]>([
    ["headers in lower case, as Node has them", { headers: lowerCase(ownHeaders()) }],
    ["Headers of the Fetch API", { headers: new Headers(ownHeaders()) }],
    ["a whole URL", { path: `https://acme.example${PATH}?tenant=7` }],
    ["a query string", { path: `${PATH}?tenant=7` }],
    ["bytes as body", { body: new TextEncoder().encode(BODY) }],
  ])("accepts %s", (_, changes) => {
    expect(verified(received(changes))).toMatchObject({ eventId: "evt_1" });
  });

  test("accepts the prefix of the sender's brand", () => {
    const headers = ownHeaders({ prefix: "X-Acme-" });
    expect(verified(received({ headers }), { headerPrefix: "X-Acme-" })).toMatchObject({ eventId: "evt_1" });
    expect(faultOf(received({ headers }))).toBe("HEADERS_MISSING");
  });

  test.each<[string, string, Partial<ReceivedWebhook>, Partial<WebhookVerification>?]>([
    ["SIGNATURE_WRONG", "a changed body", { body: `${BODY} ` }],
    ["SIGNATURE_WRONG", "another path", { path: "/hooks/a/b" }],
    ["SIGNATURE_WRONG", "another secret", {}, { secret: OLD_SECRET }],
    ["SIGNATURE_WRONG", "a signature that is no hex", { headers: { ...ownHeaders(), [HEADERS.signature]: "v1,abc" } }],
    ["HEADERS_MISSING", "no headers", { headers: {} }],
    ["HEADERS_MISSING", "no signature", { headers: { ...ownHeaders(), [HEADERS.signature]: "" } }],
    ["HEADERS_MISSING", "two signatures", { headers: { ...ownHeaders(), [HEADERS.signature]: ["a", "b"] } }],
    ["TIMESTAMP_INVALID", "a text as time", { headers: { ...ownHeaders(), [HEADERS.timestamp]: "now" } }],
    ["TIMESTAMP_OUT_OF_RANGE", "a time too early", { headers: ownHeaders({ atMs: NOW_MS - FIVE_MINUTES - 1 }) }],
    ["TIMESTAMP_OUT_OF_RANGE", "a time too late", { headers: ownHeaders({ atMs: NOW_MS + FIVE_MINUTES + 1 }) }],
    [
      "TIMESTAMP_OUT_OF_RANGE",
      "a shorter tolerance",
      { headers: ownHeaders({ atMs: NOW_MS - 2 }) },
      { toleranceMs: 1 },
    ],
  ])("throws %s for %s", (code, _, changes, options) => {
    expect(faultOf(received(changes), options)).toBe(code);
  });

  test.each([-FIVE_MINUTES, FIVE_MINUTES])("accepts a time %i ms from the receiver's clock", (ms) => {
    expect(faultOf(received({ headers: ownHeaders({ atMs: NOW_MS + ms }) }))).toBeUndefined();
  });

  test("reads the clock unless `nowMs` is given", () => {
    const headers = ownHeaders({ atMs: Date.now() });
    expect(verifyWebhook(received({ headers }), { secret: SECRET })).toMatchObject({ eventId: "evt_1" });
    expect(() => verifyWebhook(received(), { secret: SECRET })).toThrow("compare the clocks");
  });
});

describe("verifyWebhook with the headers of Standard Webhooks", () => {
  const bytes = randomBytes(24);

  test("returns the id of the event, which is signed", () => {
    const request = received({ headers: { ...standardHeaders(), [HEADERS.delivery]: "evt_forged" } });
    expect(verified(request)).toEqual({ eventId: "evt_1", isIdSigned: true, signedAt: new Date(NOW_MS) });
  });

  test.each<[string, Secret, Buffer]>([
    ["text", SECRET, Buffer.from(SECRET)],
    ["prepared secret", signingKey(SECRET), Buffer.from(SECRET)],
    ["secret in their own form", `whsec_${bytes.toString("base64")}`, bytes],
  ])("verifies with a %s", (_, secret, key) => {
    expect(verified(received({ headers: standardHeaders({ keys: [key] }) }), { secret })).toMatchObject({
      isIdSigned: true,
    });
  });

  test.each<[string, Record<string, string>]>([
    ["another id", { "webhook-id": "evt_2" }],
    ["another version", { "webhook-signature": standardHeaders()["webhook-signature"].replace("v1,", "v1a,") }],
    ["no signature", { "webhook-signature": "v1," }],
  ])("throws SIGNATURE_WRONG for %s", (_, changes) => {
    expect(faultOf(received({ headers: { ...standardHeaders(), ...changes } }))).toBe("SIGNATURE_WRONG");
  });

  test("throws TIMESTAMP_OUT_OF_RANGE for an old request", () => {
    const headers = standardHeaders({ atMs: NOW_MS - FIVE_MINUTES - 1_000 });
    expect(faultOf(received({ headers }))).toBe("TIMESTAMP_OUT_OF_RANGE");
  });
});

describe("verifyWebhook while the sender rotates its secrets", () => {
  const both = [SECRET, OLD_SECRET];
  const rotating = [
    ownHeaders({ retiring: OLD_SECRET }),
    standardHeaders({ keys: both.map((one) => Buffer.from(one)) }),
  ];

  test.each([SECRET, OLD_SECRET, both, both.toReversed()])("accepts both signatures with the secret %s", (secret) => {
    for (const headers of rotating)
      expect(verified(received({ headers }), { secret })).toMatchObject({ eventId: "evt_1" });
  });

  test("accepts one signature by the old secret with both secrets", () => {
    const request = received({ headers: ownHeaders({ secret: OLD_SECRET }) });
    expect(verified(request, { secret: both })).toMatchObject({ eventId: "evt_1" });
    expect(faultOf(request)).toBe("SIGNATURE_WRONG");
  });

  test("rejects an empty secret and an empty list", () => {
    expect(() => verified(received(), { secret: "" })).toThrow(EmptySecretError);
    expect(() => verified(received({ headers: standardHeaders() }), { secret: "whsec_" })).toThrow(EmptySecretError);
    expect(() => verified(received(), { secret: [] })).toThrow("secret is an empty list");
  });
});

test("verifyWebhook accepts a request if one kind of its headers is valid", () => {
  const issued = `whsec_${Buffer.from(SECRET).toString("base64")}`;
  const headers = { ...ownHeaders(), ...standardHeaders() };
  expect(verified(received({ headers }), { secret: issued })).toMatchObject({ isIdSigned: true });
  expect(verified(received({ headers: { ...headers, "webhook-id": "evt_2" } }))).toMatchObject({ isIdSigned: false });
});

function lowerCase(headers: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}
