import assert from "node:assert/strict";
import type { Database } from "@collections/entities";
import { createOutbound } from "@collections/outbound";
import { startWebhooks } from "@collections/webhooks";

/**
 * Deletes old events and deliveries, as a worker does when it starts. Sends nothing: it removes all callback URLs first.
 * Returns the facts that the worker logs about partitions. The database has to be opened with `works: true`.
 */
export async function runRetention(database: Database): Promise<object | undefined> {
  await database.pool.query("update webhooks.endpoint set url = null");
  const problems: object[] = [];
  let logged: object | undefined;
  const log = {
    debug() {},
    info(facts: object, message: string) {
      if (message === "webhook partitions made and dropped") logged = facts;
    },
    warn: (facts: object, message: string) => void problems.push({ message, ...facts }),
    error: (facts: object, message: string) => void problems.push({ message, ...facts }),
  };
  const outbound = createOutbound();
  const unused = () => Promise.reject(new Error("Without a callback URL, nothing is signed or probed."));
  const webhooks = await startWebhooks({ database, outbound, signingKeyOf: unused, pingOf: unused, log });
  await webhooks.stop(10_000);
  await outbound.close();
  assert.deepEqual(problems, []);
  return logged;
}
