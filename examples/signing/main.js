import { signedWebhook } from "./sender.js";
import worker from "./worker.js";

const env = { HMAC_SECRET: "sk_sandbox_4f1c0d6a9b7e4d2c8a3f5e6b7c8d9e0f" };
const webhook = signedWebhook(env.HMAC_SECRET, '{"kind":"case.closed"}');
const altered = new Request(webhook.url, { method: "POST", headers: webhook.headers, body: '{"kind":"case.opened"}' });
const old = signedWebhook(env.HMAC_SECRET, '{"kind":"case.closed"}', Date.now() - 3_600_000);
const ofAnother = signedWebhook("somebody else's secret", '{"kind":"case.closed"}');

for (const [name, request] of Object.entries({ webhook, altered, old, ofAnother })) {
  const response = await worker.fetch(request, env);
  console.log(`${name}: ${response.status} ${await response.text()}`);
}
