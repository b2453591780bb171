import { isDistributed } from "@collections/database";
import { createCredentials } from "@collections/lenders";
import { createOutbound } from "@collections/outbound";
import type { WebhookSender } from "@collections/webhooks";
import { createWebhookSender } from "../../worker/callbacks.ts";
import type { Operator } from "../terminal/with-database.ts";

/** Calls `work` with a webhook sender like that of the service, and closes its sockets afterwards. */
export async function withWebhookSender<T>(
  { config, em, vault }: Operator,
  work: (sender: WebhookSender) => Promise<T>,
): Promise<T> {
  const credentials = createCredentials(em, vault, { isDistributed: await isDistributed(em()) });
  const outbound = createOutbound({ allow: config.outboundAllow });
  try {
    return await work(createWebhookSender({ credentials, outbound, timeoutMs: config.webhookTimeoutMs }));
  } finally {
    await outbound.close({ graceMs: 0 });
  }
}
