import { createHmac } from "node:crypto";
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { diagnose, sign } from "../src/index.ts";
import { NOW_MS, SECRETS, sentBy } from "./wrong-client.ts";
import { MISTAKES } from "./mistakes.ts";
import { runWithoutNode } from "./without-node.ts";

const SIGN_VECTORS = `
const { sign, signingKey, verify, canonicalSha256 } = signing;
const bodyOf = ({ body, bodyBase64, bodyRepeat }) =>
  body ?? (bodyRepeat ? bodyRepeat.text.repeat(bodyRepeat.times) : Uint8Array.from(atob(bodyBase64), (c) => c.charCodeAt(0)));
const result = JSON.parse(given).vectors.filter((vector) => {
  const request = { ...vector, body: bodyOf(vector) };
  return (
    sign(request) === vector.signature.toLowerCase() &&
    verify({ ...request, secret: signingKey(vector.secret) }) &&
    !verify({ ...request, timestamp: "0" }) &&
    canonicalSha256(request) === vector.canonicalSha256
  );
}).length;
`;

const DIAGNOSE = `
const { requests, secrets, nowMs } = JSON.parse(given);
const result = requests.map((request) => signing.diagnose(request, secrets, nowMs));
`;

const VERIFY_WEBHOOKS = `
const result = JSON.parse(given).map(({ request, options }) => signing.verifyWebhook(request, options).eventId);
`;

test("the package signs and verifies every vector without Node", () => {
  const given = readFileSync(new URL("../vectors.json", import.meta.url), "utf8");
  const { vectors } = JSON.parse(given) as { readonly vectors: readonly unknown[] };
  const { result, loaded } = runWithoutNode(SIGN_VECTORS, given);
  expect(result).toBe(vectors.length);
  expect(loaded).toContain("hmac-portable.ts");
  expect(loaded).not.toContain("hmac-node.ts");
});

test("verifyWebhook verifies both kinds of headers without Node", () => {
  const [secret, nowMs, body] = ["sk_sandbox_4f1c0d6a9b7e4d2c8a3f5e6b7c8d9e0f", 1_795_167_667_000, "{}"];
  const signature = sign({ method: "POST", path: "/hooks", timestamp: String(nowMs), body, secret });
  const standard = createHmac("sha256", secret).update(`evt_1.1795167667.${body}`).digest("base64");
  const kinds = [
    { "x-service-timestamp": String(nowMs), "x-service-signature": signature, "x-service-delivery": "evt_1" },
    { "webhook-id": "evt_1", "webhook-timestamp": "1795167667", "webhook-signature": `v1,${standard}` },
  ];
  const given = kinds.map((headers) => ({ request: { headers, path: "/hooks", body }, options: { secret, nowMs } }));
  const { result, loaded } = runWithoutNode(VERIFY_WEBHOOKS, JSON.stringify(given));
  expect(result).toEqual(["evt_1", "evt_1"]);
  expect(loaded).not.toContain("hmac-node.ts");
});

test("diagnose returns the same results without Node, for mistakes and for correct requests", () => {
  const unknown = sentBy({ key: () => "sk_sandbox_of_somebody_else" });
  const requests = [
    ...MISTAKES.filter((_, index) => index % 4 === 0).map(({ client, sends }) => sentBy(client, sends)),
    sentBy({}),
    unknown,
  ];
  const { result } = runWithoutNode(DIAGNOSE, JSON.stringify({ requests, secrets: SECRETS, nowMs: NOW_MS }));
  expect(result).toEqual(requests.map((request) => diagnose(request, SECRETS, NOW_MS)));
});
