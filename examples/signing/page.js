import { canonicalString, HEADERS } from "@collections/signing";
import { signedWebhook } from "./sender.js";
import worker from "./worker.js";

const [secret, body, output] = ["secret", "body", "output"].map((id) => document.getElementById(id));
for (const field of [secret, body]) field.addEventListener("input", () => void show());
await show();

/** Everything stays in this page: the request is signed here, and the edge worker's code answers it here. */
async function show() {
  const webhook = signedWebhook(secret.value, body.value);
  const [timestamp, signature] = [HEADERS.timestamp, HEADERS.signature].map((name) => webhook.headers.get(name));
  const bytes = canonicalString({ method: "POST", path: "/hooks", timestamp, body: body.value });
  const isSame = signature === (await byWebCrypto(secret.value, bytes));
  const response = await worker.fetch(webhook, { HMAC_SECRET: secret.value });
  output.textContent = `${HEADERS.signature}: ${signature}
WebCrypto makes ${isSame ? "the same" : "another one"}.
The edge worker answers ${response.status} ${await response.text()}`;
}

/** Does what `sign` does, with WebCrypto and a key that can be used but not read. */
async function byWebCrypto(secret, bytes) {
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const key = await crypto.subtle.importKey("raw", new TextEncoder().encode(secret), algorithm, false, ["sign"]);
  const digest = new Uint8Array(await crypto.subtle.sign("HMAC", key, bytes));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
