import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { dayIn, hoursOfDay, instantOf, instantShowing, spanOfDay, spanOfMonth, timeIn, wallClock } from "./index.ts";

test.each([
  ["2026-11-20T20:11:07.512Z", "Asia/Kolkata", "2026-11-21T01:41:07.512Z"],
  ["2026-07-01T10:00:00Z", "Europe/Berlin", "2026-07-01T12:00:00.000Z"],
  ["2026-11-20T18:30:00Z", "Asia/Kolkata", "2026-11-21T00:00:00.000Z"],
  ["1969-12-31T23:59:59.250Z", "UTC", "1969-12-31T23:59:59.250Z"],
])("wallClock at %s in %s shows %s", (at, timeZone, shown) => {
  expect(new Date(wallClock(new Date(at), timeZone)).toISOString()).toBe(shown);
});

test("wallClock follows the clocks of one zone from second to second", () => {
  const change = Date.parse("2026-03-29T01:00:00Z");
  const shown = [-1_000, -1, 0, 999, -1, 0].map((ms) => timeIn("Europe/Berlin", new Date(change + ms)).slice(11));
  expect(shown).toEqual(["01:59:59", "01:59:59", "03:00:00", "03:00:00", "01:59:59", "03:00:00"]);
});

test("wallClock refuses a Date without a time", () => {
  const refused = () => wallClock(new Date(NaN), "Asia/Colombo");
  expect(refused).toThrow(RangeError);
  expect(timeIn("Asia/Colombo", new Date("2026-11-20T09:41:07Z"))).toBe("2026-11-20 15:11:07");
  expect(refused).toThrow(RangeError);
});

describe("instantOf", () => {
  test.each([
    ["2026-11-20", "18:00", "Asia/Kolkata", "2026-11-20T12:30:00.000Z"],
    ["2026-11-20", "23:59:59", "Asia/Kolkata", "2026-11-20T18:29:59.000Z"],
    ["2026-11-20", "00:00:00.250", "America/New_York", "2026-11-20T05:00:00.250Z"],
    ["2026-07-01", "12:00", "Europe/Berlin", "2026-07-01T10:00:00.000Z"],
    ["2026-01-01", "00:30", "Pacific/Kiritimati", "2025-12-31T10:30:00.000Z"],
  ])("returns the moment of the local time %s %s in %s", (day, time, timeZone, instant) => {
    expect(instantOf(day, time, timeZone).toISOString()).toBe(instant);
  });

  test("returns the earlier moment if the local time occurs twice", () => {
    expect(instantOf("2026-11-01", "01:30", "America/New_York").toISOString()).toBe("2026-11-01T05:30:00.000Z");
    expect(instantOf("2026-10-25", "02:30", "Europe/Berlin").toISOString()).toBe("2026-10-25T00:30:00.000Z");
  });

  test("returns a moment one hour later for a local time that the clocks skip", () => {
    const skipped = instantOf("2026-03-29", "02:30", "Europe/Berlin");
    expect(skipped.toISOString()).toBe("2026-03-29T01:30:00.000Z");
    expect(timeIn("Europe/Berlin", skipped)).toBe("2026-03-29 03:30:00");
  });
});

test("dayIn and timeIn show the local day and time", () => {
  const at = new Date("2026-11-20T20:11:07.512Z");
  expect(dayIn("Asia/Kolkata", at)).toBe("2026-11-21");
  expect(timeIn("Asia/Kolkata", at)).toBe("2026-11-21 01:41:07");
  expect(dayIn("America/New_York", at)).toBe("2026-11-20");
  expect(timeIn("UTC", new Date("2026-11-20T00:00:00Z"))).toBe("2026-11-20 00:00:00");
});

test.each([
  ["a day in India", "2026-11-20", "Asia/Kolkata", "2026-11-19T18:30:00Z", "2026-11-20T18:30:00Z"],
  ["a day of 23 hours", "2026-03-29", "Europe/Berlin", "2026-03-28T23:00:00Z", "2026-03-29T22:00:00Z"],
  ["a day of 25 hours", "2026-10-25", "Europe/Berlin", "2026-10-24T22:00:00Z", "2026-10-25T23:00:00Z"],
  ["a day without midnight", "2026-04-24", "Africa/Cairo", "2026-04-23T22:00:00Z", "2026-04-24T21:00:00Z"],
  ["a day before a skipped midnight", "2026-04-23", "Africa/Cairo", "2026-04-22T22:00:00Z", "2026-04-23T22:00:00Z"],
  ["a skipped midnight in the west", "2026-03-08", "America/Havana", "2026-03-08T05:00:00Z", "2026-03-09T04:00:00Z"],
  ["a day with two midnights", "2026-11-01", "America/Havana", "2026-11-01T04:00:00Z", "2026-11-02T05:00:00Z"],
  ["a day near the date line", "2026-11-21", "Pacific/Kiritimati", "2026-11-20T10:00:00Z", "2026-11-21T10:00:00Z"],
  ["the last day of a year", "2026-12-31", "UTC", "2026-12-31T00:00:00Z", "2027-01-01T00:00:00Z"],
  ["a day after the end of its month", "2026-02-30", "UTC", "2026-03-02T00:00:00Z", "2026-03-03T00:00:00Z"],
])("spanOfDay returns the bounds of %s", (_, day, timeZone, from, to) => {
  expect(spanOfDay(day, timeZone)).toEqual({ from: new Date(from), to: new Date(to) });
});

test.each([
  ["an ordinary day", "2026-11-20", "Asia/Kathmandu", 24, "00:00 01:00 02:00 03:00"],
  ["a day of 23 hours", "2026-03-29", "Europe/Berlin", 23, "00:00 01:00 03:00 04:00"],
  ["a day of 25 hours", "2026-10-25", "Europe/Berlin", 25, "00:00 01:00 02:00 02:00"],
  ["a day of 23.5 hours", "2026-10-04", "Australia/Lord_Howe", 24, "00:00 01:00 02:30 03:00"],
  ["a day of 24.5 hours", "2026-04-05", "Australia/Lord_Howe", 25, "00:00 01:00 01:30 02:00"],
  ["a day without midnight", "2026-04-24", "Africa/Cairo", 23, "01:00 02:00 03:00 04:00"],
])("hoursOfDay returns each hour of %s", (_, day, timeZone, count, first) => {
  const hours = hoursOfDay(day, timeZone);
  const shown = hours.slice(0, 4).map((at) => timeIn(timeZone, at).slice(11, 16));
  expect([hours.length, shown.join(" ")]).toEqual([count, first]);
  expect(hours[0]).toEqual(spanOfDay(day, timeZone).from);
});

/**
 * Zones whose clocks skip midnight or show it twice, or change by half an hour or two hours. One zone skipped a whole
 * day.
 */
const ZONES = [
  ..."Asia/Kolkata Asia/Kathmandu Asia/Beirut Asia/Gaza Africa/Cairo Africa/Casablanca Europe/Berlin".split(" "),
  ..."Atlantic/Azores America/Havana America/Santiago America/Asuncion America/St_Johns America/Nuuk".split(" "),
  ..."Antarctica/Troll Australia/Lord_Howe Pacific/Apia Pacific/Kiritimati UTC".split(" "),
];

test.each([
  ["a month", "2026-11", "Asia/Kolkata", "2026-10-31T18:30:00Z", "2026-11-30T18:30:00Z"],
  ["December", "2026-12", "Asia/Kolkata", "2026-11-30T18:30:00Z", "2026-12-31T18:30:00Z"],
  ["a leap February", "2028-02", "UTC", "2028-02-01T00:00:00Z", "2028-03-01T00:00:00Z"],
  ["a month in which clocks change", "2026-03", "Europe/Berlin", "2026-02-28T23:00:00Z", "2026-03-31T22:00:00Z"],
])("spanOfMonth returns the bounds of %s", (_, month, timeZone, from, to) => {
  expect(spanOfMonth(month, timeZone)).toEqual({ from: new Date(from), to: new Date(to) });
});

test("for any moment in every zone, instantShowing returns a moment with the same local time", () => {
  const moment = fc.date({ min: new Date("2005-01-01"), max: new Date("2030-01-01"), noInvalidDate: true });
  fc.assert(
    fc.property(fc.constantFrom(...ZONES), moment, (timeZone, at) => {
      const shown = wallClock(at, timeZone);
      const found = instantShowing(shown, timeZone);
      expect(wallClock(found, timeZone)).toBe(shown);
      expect(found <= at).toBe(true);
      const calendar = new Intl.DateTimeFormat("sv-SE", { timeZone, dateStyle: "short", timeStyle: "medium" });
      expect(timeIn(timeZone, at)).toBe(calendar.format(at));
      const { from, to } = spanOfDay(dayIn(timeZone, at), timeZone);
      expect(from <= at && at < to).toBe(true);
    }),
    { numRuns: 400 },
  );
});
