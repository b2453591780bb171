import type { Plugin } from "graphql-yoga";
import { setTimeout as delay } from "node:timers/promises";
import { RETRY_AFTER_S } from "../../http/problem.ts";
import { ClientError } from "../plumbing/client-error.ts";

/**
 * Answers an operation with an error when it takes too long. The operation itself continues: its queries and locks have
 * limits of their own. A client gets the result by repeating the request with the same idempotency key.
 */
export function limitTime(timeoutMs: number): Plugin {
  return {
    onExecute({ executeFn, setExecuteFn }) {
      setExecuteFn(async (args) => {
        const ended = new AbortController();
        const late = delay(timeoutMs, undefined, { signal: ended.signal }).then(() => {
          const message = `An operation took more than ${timeoutMs} ms.`;
          return { errors: [new ClientError("INTERNAL", message, { retryAfterS: RETRY_AFTER_S })] };
        });
        // Ignore the rejection that `ended.abort` causes: it happens after the race, when no code awaits `late` any
        // more.
        late.catch(() => undefined);
        try {
          return await Promise.race([executeFn(args), late]);
        } finally {
          ended.abort();
        }
      });
    },
  };
}
