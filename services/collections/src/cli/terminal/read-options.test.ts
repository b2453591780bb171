import { afterEach, describe, expect, test, vi } from "vitest";
import { readMoment, readPoint, readSum, readUntil } from "./read-options.ts";

afterEach(() => vi.useRealTimers());

describe("an option that takes a time", () => {
  test.each([
    ["2026-11-20 18:00", "2026-11-20T12:30:00.000Z"],
    ["2026-11-20T18:00:30", "2026-11-20T12:30:30.000Z"],
    ["2026-11-20T18:00:00Z", "2026-11-20T18:00:00.000Z"],
    ["2026-11-20T18:00:00+02:00", "2026-11-20T16:00:00.000Z"],
    ["09:00", "2026-11-22T03:30:00.000Z"],
    ["9:00:30", "2026-11-22T03:30:30.000Z"],
    ["24h", "2026-11-20T20:00:00.000Z"],
  ])("reads %s as %s in India's time zone, where it is already 22 November", (text, instant) => {
    vi.useFakeTimers({ now: new Date("2026-11-21T20:00:00Z") });
    expect(readMoment(text)("Asia/Kolkata").toISOString()).toBe(instant);
  });

  test.each(["", "25:00", "9", "2026-11-20", "2026-02-30 10:00", "2026-11-20 18:60", "yesterday"])(
    "rejects %j and shows examples",
    (text) => expect(() => readMoment(text)).toThrow(/Expected a local time such as 09:00 .* or how long ago/),
  );

  test("rejects a duration such as 24h where a point in time is required", () => {
    expect(() => readPoint("24h")).toThrow(/Expected a local time such as 09:00/);
  });

  test("reads a day or a moment where both are accepted", () => {
    expect(readUntil("2026-11-20")).toBe("2026-11-20");
    const until = readUntil("2026-11-20 18:00");
    expect(typeof until === "function" && until("Asia/Kolkata").toISOString()).toBe("2026-11-20T12:30:00.000Z");
    expect(() => readUntil("2026-11-31")).toThrow(/is not a day/);
  });
});

test.each(["1e2", "1E+5", "1,250", "-5", "1250.", "₹5", ""])("rejects %j as an amount", (text) => {
  expect(() => readSum(text)).toThrow(/Expected an amount such as 1250.50/);
  expect(readSum("1250.50")).toBe("1250.50");
});
