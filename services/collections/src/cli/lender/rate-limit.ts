import { InvalidArgumentError } from "commander";
import { LIMITED_ENDPOINTS } from "../../settings/rate-limits.ts";

/**
 * Adds one option to `before`, the limits of the earlier options: `confirm=60000` sets a limit, and `confirm=default`
 * removes the lender's limit.
 */
export function readRateLimit(text: string, before: Record<string, number | null> = {}): Record<string, number | null> {
  const [, name = "", count = ""] = /^([a-z-]+)=(default|[1-9]\d{0,7})$/.exec(text) ?? [];
  if (count === "") throw new InvalidArgumentError("Expected a limit such as confirm=60000, or confirm=default.");
  if (LIMITED_ENDPOINTS.some((endpoint) => endpoint === name)) {
    return { ...before, [name]: count === "default" ? null : Number(count) };
  }
  throw new InvalidArgumentError(`There is no limit ${name}; the limits are ${LIMITED_ENDPOINTS.join(", ")}.`);
}
