import { lendersByIds } from "@collections/lenders";
import { backlogs, type Dispatcher } from "@collections/webhooks";
import type { App } from "../app.ts";
import { keepReading } from "../metrics/kept-reading.ts";
import type { WebhookReadings } from "../metrics/webhook.ts";

/** A scrape may come from several places at once, and from each every second. */
export const KEPT = { maxAgeMs: 10_000, patienceMs: 2_000, uselessAfterMs: 60_000 };

/** What the metrics of a process that delivers are read from: the rows, and its dispatcher. */
export function readingsOf(
  { database, log }: Pick<App, "database" | "log">,
  dispatcher: Pick<Dispatcher, "inFlight">,
): WebhookReadings {
  const codes = new Map<string, string>();
  const onError = (error: unknown) => log.warn({ error }, "metrics of webhooks not read");
  const learnCodes = keepReading(
    async () => {
      const unknown = [...dispatcher.inFlight().keys()].filter((lenderId) => !codes.has(lenderId));
      for (const [id, { code }] of await lendersByIds(database.em(), unknown)) codes.set(id, code);
    },
    { ...KEPT, maxAgeMs: 0, onError },
  );
  return {
    backlogs: keepReading(() => backlogs(database.em()), { ...KEPT, onError }),
    async inFlight() {
      await learnCodes();
      // A lender whose code cannot be read now is told of at the next scrape.
      return new Map(
        [...dispatcher.inFlight()].flatMap(([id, count]) => (codes.has(id) ? [[codes.get(id)!, count]] : [])),
      );
    },
  };
}
