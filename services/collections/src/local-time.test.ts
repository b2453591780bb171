import { describe, expect, test } from "vitest";
import { dayAt, instantOf, momentText } from "./local-time.ts";

describe("a local time is the instant at which clocks show it", () => {
  test.each([
    ["2026-11-20", "18:00", "Asia/Kolkata", "2026-11-20T12:30:00.000Z"],
    ["2026-11-20", "23:59:59", "Asia/Kolkata", "2026-11-20T18:29:59.000Z"],
    ["2026-11-20", "00:00:00.250", "America/New_York", "2026-11-20T05:00:00.250Z"],
    ["2026-07-01", "12:00", "Europe/Berlin", "2026-07-01T10:00:00.000Z"],
    ["2026-01-01", "00:30", "Pacific/Kiritimati", "2025-12-31T10:30:00.000Z"],
  ])("%s %s in %s", (day, time, timeZone, instant) => {
    expect(instantOf(day, time, timeZone).toISOString()).toBe(instant);
  });

  test("the earlier one, where clocks are set back and show it twice", () => {
    expect(instantOf("2026-11-01", "01:30", "America/New_York").toISOString()).toBe("2026-11-01T05:30:00.000Z");
    expect(instantOf("2026-10-25", "02:30", "Europe/Berlin").toISOString()).toBe("2026-10-25T00:30:00.000Z");
  });

  test("an hour later, where clocks are set forward and skip it", () => {
    const skipped = instantOf("2026-03-29", "02:30", "Europe/Berlin");
    expect(momentText(skipped, "Europe/Berlin")).toBe("2026-03-29 03:30:00 Europe/Berlin (2026-03-29T01:30:00.000Z)");
  });
});

test("a moment is shown by local clocks with their zone, and in UTC", () => {
  const at = new Date("2026-11-20T20:11:07.512Z");
  expect(momentText(at, "Asia/Kolkata")).toBe("2026-11-21 01:41:07 Asia/Kolkata (2026-11-20T20:11:07.512Z)");
  expect(dayAt(at, "Asia/Kolkata")).toBe("2026-11-21");
});
