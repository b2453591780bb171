import { lendersByIds } from "@collections/lenders";
import { backlogs, type Webhooks } from "@collections/webhooks";
import type { App } from "../app.ts";
import { keepReading } from "../metrics/kept-reading.ts";
import type { WebhookReadings } from "../metrics/webhook.ts";

/**
 * How long the values of the webhook metrics are cached. Several collectors, each of which may scrape every second,
 * share the cached values.
 */
export const KEPT = { maxAgeMs: 10_000, patienceMs: 2_000, uselessAfterMs: 60_000 };

/**
 * Returns the sources of the webhook metrics: the backlogs come from the database, and the attempts in flight come from
 * the webhooks of this process.
 */
export function readingsOf(
  { database, log }: Pick<App, "database" | "log">,
  webhooks: Pick<Webhooks, "inFlight">,
): WebhookReadings {
  const codes = new Map<string, string>();
  const onError = (error: unknown) => log.warn({ error }, "webhook metrics could not be read");
  const readNewCodes = keepReading(
    async () => {
      const unknown = [...webhooks.inFlight().keys()].filter((lenderId) => !codes.has(lenderId));
      for (const [id, { code }] of await lendersByIds(database.em(), unknown)) codes.set(id, code);
    },
    { ...KEPT, maxAgeMs: 0, onError },
  );
  return {
    backlogs: keepReading(() => backlogs(database.em()), { ...KEPT, onError }),
    async inFlight() {
      await readNewCodes();
      // A lender whose code could not be read is left out until the next scrape.
      return new Map(
        [...webhooks.inFlight()].flatMap(([id, count]) => (codes.has(id) ? [[codes.get(id)!, count]] : [])),
      );
    },
  };
}
