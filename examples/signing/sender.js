import { HEADERS, sign } from "@collections/signing";

/** Returns the request of a webhook, signed as its sender signs it. `now` is in Unix milliseconds. */
export function signedWebhook(secret, body, now = Date.now()) {
  const timestamp = String(now);
  const signature = sign({ method: "POST", path: "/hooks", timestamp, body, secret });
  const headers = { [HEADERS.timestamp]: timestamp, [HEADERS.signature]: signature };
  return new Request("https://edge.example/hooks", { method: "POST", headers, body });
}
