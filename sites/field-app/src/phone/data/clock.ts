import { Stored } from "./storage.ts";

/** By how many milliseconds the service's clock is ahead of the phone's. Absent if the phone's clock is right. */
const ahead = new Stored<number>("clock");
/** The `Date` header has whole seconds. */
const PRECISION_MS = 1_000;

/** Returns the time by the phone's clock, corrected as the last answer of the service has shown. */
export function now(): Date {
  return new Date(Date.now() + (ahead.read() ?? 0));
}

/**
 * Compares the phone's clock with the `Date` header of an answer. `askedMs` is the phone's time when the request was
 * sent. The service wrote its answer between that time and now, so a clock within these bounds is right.
 */
export function compareClock(response: Response, askedMs: number): void {
  const serviceMs = Date.parse(response.headers.get("Date") ?? "");
  if (Number.isNaN(serviceMs)) return;
  const answeredMs = Date.now();
  const isRight = (aheadMs: number) =>
    askedMs + aheadMs - PRECISION_MS <= serviceMs && serviceMs <= answeredMs + aheadMs + PRECISION_MS;
  if (isRight(0)) return ahead.forget();
  if (isRight(ahead.read() ?? 0)) return;
  try {
    ahead.write(Math.round(serviceMs - (askedMs + answeredMs) / 2));
  } catch {
    // The storage is full. The service marks times that are impossible.
  }
}
