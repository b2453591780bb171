import { describe, expect, test } from "vitest";
import { checkTimestamp, HEADERS, TIMESTAMP_TOLERANCE_MS } from "./index.ts";

const NOW_MS = 1_795_167_667_000;
const FIVE_MINUTES_MS = 300_000;

describe("checkTimestamp", () => {
  test.each([0, 1, -1, 213, FIVE_MINUTES_MS, -FIVE_MINUTES_MS])(
    "accepts a timestamp %i ms before the clock",
    (skewMs) => {
      const timestampMs = NOW_MS - skewMs;
      expect(checkTimestamp(String(timestampMs), NOW_MS)).toEqual({ ok: true, timestampMs, skewMs });
    },
  );

  test.each([FIVE_MINUTES_MS + 1, -FIVE_MINUTES_MS - 1, 86_400_000])(
    "rejects a timestamp %i ms before the clock",
    (skewMs) => {
      const verdict = checkTimestamp(String(NOW_MS - skewMs), NOW_MS);
      expect(verdict).toEqual({ ok: false, code: "TIMESTAMP_OUT_OF_RANGE", skewMs });
    },
  );

  test.each([
    ["1795167667", "looks like seconds"],
    ["1795167667000000", "looks like microseconds"],
  ])("rejects %s with the hint that it %s", (header, hint) => {
    const skewMs = NOW_MS - Number(header);
    expect(checkTimestamp(header, NOW_MS)).toEqual({ ok: false, code: "TIMESTAMP_OUT_OF_RANGE", skewMs, hint });
  });

  test("rejects a timestamp that is too large to subtract exactly, and returns no skew", () => {
    const hint = "looks like nanoseconds";
    expect(checkTimestamp("1795167667000000000", NOW_MS)).toEqual({ ok: false, code: "TIMESTAMP_OUT_OF_RANGE", hint });
    expect(checkTimestamp("9".repeat(10_000), NOW_MS)).toEqual({ ok: false, code: "TIMESTAMP_OUT_OF_RANGE" });
  });

  test.each([undefined, ""])("treats %j as a missing timestamp", (header) => {
    expect(checkTimestamp(header, NOW_MS)).toEqual({ ok: false, code: "MISSING_TIMESTAMP" });
  });

  test.each([
    "2026-11-20T09:41:07Z",
    "-1795167667000",
    "+1795167667000",
    "1795167667000.0",
    "1.795167667e12",
    "0x1a1f9c1c0b8",
    " 1795167667000",
    "1795167667000\n",
    "1795167667000, 1795167667000",
    "١٧٩٥١٦٧٦٦٧٠٠٠",
    "NaN",
    "Infinity",
  ])("rejects %j as malformed", (header) => {
    expect(checkTimestamp(header, NOW_MS)).toEqual({
      ok: false,
      code: "MALFORMED_TIMESTAMP",
      hint: "send Unix milliseconds in decimal digits",
    });
  });
});

test("the names of headers and the tolerance are those of the contract", () => {
  expect(TIMESTAMP_TOLERANCE_MS).toBe(FIVE_MINUTES_MS);
  expect(Object.values(HEADERS)).toEqual([
    "X-Service-Timestamp",
    "X-Service-Signature",
    "X-Service-Event",
    "X-Service-Delivery",
    "X-Service-Attempt",
    "X-Service-Key-Id",
    "X-Service-Replay",
  ]);
});
