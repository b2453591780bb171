import { setTimeout as wait } from "node:timers/promises";

/**
 * Returns a function that lets requests meet that are sent at the same time: each request waits for the next one. A
 * request that is alone continues after `aloneMs`.
 */
export function createMeeting(aloneMs = 200): () => Promise<void> {
  let release = (): void => {};
  return async () => {
    release();
    const next = Promise.withResolvers<void>();
    release = next.resolve;
    await Promise.race([next.promise, wait(aloneMs)]);
  };
}
