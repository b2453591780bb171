import { vi } from "vitest";
import { POLL_LIMIT_MS } from "./limits.ts";

/**
 * Calls `read` every 50 ms until its value is truthy, and returns that value. Errors of `read` count as "not yet".
 * `expect.poll` says more about a wrong value; this function is for hooks, fixtures and values that the test needs.
 */
export function until<T>(read: () => T | Promise<T>): Promise<NonNullable<T>> {
  const attempt = async (): Promise<NonNullable<T>> => {
    const value = await read();
    if (!value) throw new Error(`still ${String(value)}: ${read.toString()}`);
    return value;
  };
  return vi.waitFor(attempt, { timeout: POLL_LIMIT_MS, interval: 50 });
}
