import { isDistributed } from "@collections/database";
import { type Credentials, createCredentials } from "@collections/lenders";
import { createOutbound, type Outbound } from "@collections/outbound";
import type { WebhookSender } from "@collections/webhooks";
import { createWebhookSender } from "../../worker/callbacks.ts";
import type { Operator } from "../terminal/with-database.ts";

/** Calls `work` with a webhook sender like that of the service, and closes its sockets afterwards. */
export function withWebhookSender<T>(operator: Operator, work: (sender: WebhookSender) => Promise<T>): Promise<T> {
  const timeoutMs = operator.config.webhookTimeoutMs;
  return withOutbound(operator, (parts) => work(createWebhookSender({ ...parts, timeoutMs })));
}

/** Calls `work` with a client for requests to lenders and with their keys, and closes its sockets afterwards. */
export async function withOutbound<T>(
  { config, em, vault }: Operator,
  work: (parts: { credentials: Credentials; outbound: Outbound }) => Promise<T>,
): Promise<T> {
  const credentials = createCredentials(em, vault, { isDistributed: await isDistributed(em()) });
  const outbound = createOutbound({ allow: config.outboundAllow });
  try {
    return await work({ credentials, outbound });
  } finally {
    await outbound.close({ graceMs: 0 });
  }
}
