import { describe, expect, test } from "vitest";
import { judgeEndpoint, type SuspensionVerdict } from "./suspension.ts";

const now = new Date("2026-11-21T04:00:00Z");
const rule = { suspendAfter: 20, probeIntervalMs: 900_000 };

describe("judgeEndpoint", () => {
  test.each<["active" | "suspended", number, SuspensionVerdict["verdict"]]>([
    ["active", 0, "stay"],
    ["active", 19, "stay"],
    ["active", 20, "suspend"],
    ["active", 51, "suspend"],
    ["suspended", 25, "stay"],
    ["suspended", 1, "stay"],
    ["suspended", 0, "recover"],
  ])("given state %s and %i failures in a row, returns %s", (state, consecutiveFailures, verdict) => {
    expect(judgeEndpoint({ state, consecutiveFailures }, rule, now).verdict).toBe(verdict);
  });

  test("sets the first probe of a suspension to one interval from now", () => {
    expect(judgeEndpoint({ state: "active", consecutiveFailures: 20 }, rule, now)).toEqual({
      verdict: "suspend",
      suspendedAt: now,
      nextProbeAt: new Date("2026-11-21T04:15:00Z"),
    });
  });
});
