import { describe, expect, test } from "vitest";
import {
  type CountedEndpoint,
  judgeEndpoint,
  paceMs,
  pacedFrom,
  type SuspensionRule,
  type SuspensionVerdict,
} from "./suspension.ts";

const now = new Date("2026-11-21T04:00:00Z");
const rule: SuspensionRule = { suspendAfter: 20, probeIntervalMs: 900_000, minDurationMs: 60_000 };

function failing(consecutiveFailures: number, ms = 60_000): CountedEndpoint {
  return { state: "active", consecutiveFailures, failingSince: new Date(now.getTime() - ms) };
}

describe("judgeEndpoint", () => {
  test.each<["active" | "suspended", number, SuspensionVerdict["verdict"]]>([
    ["active", 0, "stay"],
    ["active", 19, "stay"],
    ["active", 20, "suspend"],
    ["active", 51, "suspend"],
    ["suspended", 25, "stay"],
    ["suspended", 1, "stay"],
    ["suspended", 0, "recover"],
  ])("given state %s and %i failures in a row, returns %s", (state, failures, verdict) => {
    expect(judgeEndpoint({ ...failing(failures), state }, rule, now).verdict).toBe(verdict);
  });

  test("suspends no endpoint within `minDurationMs` of its first failure", () => {
    expect(judgeEndpoint(failing(500, 59_999), rule, now).verdict).toBe("stay");
    expect(judgeEndpoint(failing(20, 0), { ...rule, minDurationMs: 0 }, now).verdict).toBe("suspend");
  });

  test("sets the first probe of a suspension to one interval from now", () => {
    expect(judgeEndpoint(failing(20), rule, now)).toEqual({
      verdict: "suspend",
      suspendedAt: now,
      nextProbeAt: new Date("2026-11-21T04:15:00Z"),
    });
  });
});

describe("paceMs", () => {
  test.each<[string, CountedEndpoint, SuspensionRule]>([
    ["four failures", failing(4), rule],
    ["a suspended endpoint", { ...failing(20), state: "suspended" }, rule],
    ["a rule without a shortest time", failing(19, 0), { ...rule, minDurationMs: 0 }],
  ])("returns undefined for %s", (_what, endpoint, given) => {
    expect(paceMs(endpoint, given, now)).toBeUndefined();
  });

  test("lets the twentieth attempt begin no earlier than a minute after the first failure", () => {
    const waits = Array.from(waitsUntilSuspended(failing(5, 0)));
    expect(waits.map(({ failures }) => failures).slice(-2)).toEqual([18, 19]);
    expect(waits.at(-1)!.failingMs).toBeGreaterThanOrEqual(60_000);
    // Further and further apart, except for the last wait, which ends with the minute.
    const grown = waits.slice(0, -2).map(({ waitMs }) => waitMs);
    expect(grown).toEqual(grown.toSorted((a, b) => a - b));
  });

  test("lets an endpoint wait at most half as long again as it has failed", () => {
    for (const { failingMs, waitMs } of waitsUntilSuspended(failing(5, 1_000))) {
      expect(waitMs).toBeLessThanOrEqual(Math.ceil(failingMs / 2));
    }
  });

  test("lets an endpoint whose attempts failed at once wait as long as others", () => {
    expect(paceMs(failing(32, 2_000), rule, now)).toBe(1_000);
  });
});

test("pacedFrom returns a quarter of the failures that suspend an endpoint", () => {
  const counts = [1, 2, 4, 20, 1_000].map((suspendAfter) => pacedFrom({ ...rule, suspendAfter }));
  expect(counts).toEqual([1, 1, 1, 5, 250]);
});

/** Lets each attempt fail at once, and returns what `paceMs` decides after each failure. */
function* waitsUntilSuspended(first: CountedEndpoint) {
  let failures = first.consecutiveFailures;
  let at = now;
  while (judgeEndpoint({ ...first, consecutiveFailures: failures }, rule, at).verdict === "stay") {
    const waitMs = paceMs({ ...first, consecutiveFailures: failures }, rule, at)!;
    at = new Date(at.getTime() + waitMs);
    yield { failures, waitMs, failingMs: at.getTime() - waitMs - first.failingSince!.getTime() };
    failures += 1;
  }
}
