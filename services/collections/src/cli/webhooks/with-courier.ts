import { isDistributed } from "@collections/database";
import { createCredentials } from "@collections/lenders";
import { createOutbound } from "@collections/outbound";
import type { Courier } from "@collections/webhooks";
import { createCourier } from "../../worker/callbacks.ts";
import type { Operator } from "../terminal/with-database.ts";

/** Does the work with a courier as the service has one, and closes its sockets. */
export async function withCourier<T>(
  { config, em, vault }: Operator,
  work: (courier: Courier) => Promise<T>,
): Promise<T> {
  const credentials = createCredentials(em, vault, { isDistributed: await isDistributed(em()) });
  const outbound = createOutbound({ allow: config.outboundAllow });
  try {
    return await work(createCourier({ credentials, outbound, timeoutMs: config.webhookTimeoutMs }));
  } finally {
    await outbound.close({ graceMs: 0 });
  }
}
