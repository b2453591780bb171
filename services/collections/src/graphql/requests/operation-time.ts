import type { Plugin } from "graphql-yoga";
import { setTimeout as delay } from "node:timers/promises";
import { RETRY_AFTER_S } from "../../http/problem.ts";
import { ClientError } from "../plumbing/client-error.ts";

/**
 * Answers an operation that takes too long: the same request again finds what has become of it, by its idempotency key.
 * What it waits for goes on to its own limit, which statements and locks have.
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
        // Aborted, it is nobody's business any more.
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
